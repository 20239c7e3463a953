package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

//go:embed report.txt.tmpl
var reportText string

// reportTemplate writes the report as text, with the lines of the reference service.
var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"line": cli.Printable, "count": cli.Count}).Parse(reportText))

func (r *report) write(w io.Writer, format string) error {
	var b bytes.Buffer
	if format == "json" {
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			return err
		}
	} else if err := reportTemplate.Execute(&b, r); err != nil {
		return err
	} else if r.Replay != nil {
		b.WriteByte('\n')
		if err := r.Replay.WriteText(&b, r.color); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Paint returns text in a color of the terminal.
func (r *report) Paint(shade, text string) string { return cli.Paint(r.color, shade, text) }

// Shown returns the findings that are printed, and Hidden the number of the others.
func (*report) Shown(all []finding) []finding { return all[:min(len(all), maxShown)] }
func (*report) Hidden(all []finding) int      { return max(0, len(all)-maxShown) }

// Caret colors the caret at the end of an excerpt.
func (r *report) Caret(excerpt, shade string) string {
	at := strings.LastIndexByte(excerpt, ' ') + 1
	if at == 0 {
		return excerpt
	}
	return excerpt[:at] + r.Paint(shade, strings.TrimSuffix(excerpt[at:], "\n")) + "\n"
}

// Position returns file:line:column.
func (f finding) Position() string {
	if f.Line == 0 {
		return cli.Printable(f.File)
	}
	return fmt.Sprintf("%s:%d:%d", cli.Printable(f.File), f.Line, f.Column)
}

// Verdict returns the last line of a report that is not OK, for scripts.
func (r *report) Verdict() string {
	const bad = "error loading rate limit configs: "
	if len(r.Errors) == 0 {
		return bad + cli.Count(len(r.Warnings), "warning") + ": -strict treats warnings as errors"
	}
	text := bad + r.Errors[0].Position() + ": " + cli.Printable(r.Errors[0].Reason)
	if more := len(r.Errors) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}
