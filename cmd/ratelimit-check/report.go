package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func (r *report) write(w io.Writer, format string) error {
	var b bytes.Buffer
	if format == "json" {
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			return err
		}
	} else if err := r.text(&b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// text writes the report as text, with the lines of the reference service.
func (r *report) text(b *bytes.Buffer) error {
	fmt.Fprintln(b, "checking rate limit configs...")
	for _, d := range r.directories {
		fmt.Fprintln(b, "loading config directory:", cli.Printable(d))
	}
	for _, f := range r.Files {
		fmt.Fprintln(b, "opening config file:", cli.Printable(f))
	}
	for _, f := range r.Ignored {
		fmt.Fprintln(b, "ignoring file, because its name ends in neither .yaml nor .yml:", cli.Printable(f))
	}
	r.list(b, r.Errors, "error", "31")
	r.list(b, r.Warnings, "warning", "33")
	fmt.Fprintln(b, r.summary())
	shade := "32"
	if !r.OK {
		shade = "31"
	}
	fmt.Fprintln(b, cli.Paint(r.color, shade, r.verdict()))
	for _, x := range r.Explanations {
		fmt.Fprintf(b, "\n%v", x)
	}
	if len(r.Errors) > 0 && r.explains > 0 {
		fmt.Fprintln(b, "explanations skipped: fix the errors first")
	}
	if r.Replay == nil {
		return nil
	}
	fmt.Fprintln(b)
	return r.Replay.WriteText(b, r.color)
}

func (r *report) list(b *bytes.Buffer, findings []finding, severity, shade string) {
	for i := range findings {
		if i == maxShown {
			fmt.Fprintf(b, "%s not shown: use -format=json for all\n", cli.Count(len(findings)-i, "more "+severity))
			return
		}
		f := &findings[i]
		fmt.Fprintf(b, "%s: %s: %s\n%s", cli.Paint(r.color, "1", f.position()), cli.Paint(r.color, shade, severity), cli.Printable(f.Reason), r.paintCaret(f.Excerpt, shade))
	}
}

// paintCaret colors the caret at the end of an excerpt.
func (r *report) paintCaret(excerpt, shade string) string {
	at := strings.LastIndexByte(excerpt, ' ') + 1
	if at == 0 {
		return excerpt
	}
	return excerpt[:at] + cli.Paint(r.color, shade, strings.TrimSuffix(excerpt[at:], "\n")) + "\n"
}

// position returns file:line:column.
func (f *finding) position() string {
	if f.Line == 0 {
		return cli.Printable(f.File)
	}
	return fmt.Sprintf("%s:%d:%d", cli.Printable(f.File), f.Line, f.Column)
}

func (r *report) summary() string {
	parts := []string{cli.Count(len(r.Files), "file")}
	if len(r.Errors) > 0 {
		parts = append(parts, cli.Count(len(r.Errors), "error"))
	} else {
		parts = append(parts, cli.Count(r.Domains, "domain"), cli.Count(r.Rules, "rule"), cli.Count(len(r.Warnings), "warning"))
	}
	return strings.Join(parts, ", ")
}

// verdict returns the last line of the report, for scripts.
func (r *report) verdict() string {
	const bad = "error loading rate limit configs: "
	switch n := len(r.Errors); {
	case n > 1:
		return fmt.Sprintf("%s%s: %s (and %d more)", bad, r.Errors[0].position(), cli.Printable(r.Errors[0].Reason), n-1)
	case n == 1:
		return fmt.Sprintf("%s%s: %s", bad, r.Errors[0].position(), cli.Printable(r.Errors[0].Reason))
	case !r.OK:
		return bad + cli.Count(len(r.Warnings), "warning") + ": -strict treats warnings as errors"
	}
	return "all rate limit configs ok"
}
