package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
)

// checked is a manifest with its report.
type checked struct {
	source
	report *manifest.Report
}

func defineValidate(c *call) runner {
	c.fromFlag()
	c.profile()
	c.limits()
	format := c.choice("format", "the output `format`", "text", "json", "sarif", "github")
	var color cli.Color
	color.Define(c.flags)
	strict := c.flags.Bool("strict", false, "treat warnings as errors")
	c.flags.IntVar(&c.options.MaxProblems, "max-problems", 0, "list at most `n` problems of a file (default 100)")
	return func(ctx context.Context) error {
		all, err := c.sources(ctx)
		if err != nil {
			return err
		}
		failed := false
		results := make([]checked, len(all))
		for i, s := range all {
			results[i] = checked{s, manifest.Validate(s.data, &c.options)}
			failed = failed || !results[i].report.Valid() || *strict && results[i].report.Warnings > 0
		}
		switch *format {
		case "json":
			err = writeJSON(c.Stdout, results)
		case "sarif":
			err = writeSARIF(c.Stdout, results)
		case "github":
			err = writeGitHub(c.Stdout, results)
		default:
			err = c.writeText(c.Stdout, results, color.On(c.Env))
		}
		if err == nil && failed {
			return errReported
		}
		return err
	}
}

// writeText writes problems for people: file:line:column, the line, and a marker below it.
func (c *call) writeText(w io.Writer, results []checked, color bool) error {
	var b bytes.Buffer
	nErrors, nWarnings := 0, 0
	for i := range results {
		r := &results[i]
		nErrors, nWarnings = nErrors+r.report.Errors, nWarnings+r.report.Warnings
		shown := c.masked(r.data)
		for j := range r.report.Problems {
			writeProblem(&b, r.name(), shown, &r.report.Problems[j], color)
		}
		if n := r.report.Omitted(); n > 0 {
			fmt.Fprintf(&b, "%s: %s not listed; -max-problems lists more\n", r.name(), cli.Count(n, "more problem"))
		}
	}
	fmt.Fprintf(&b, "%s: %s, %s\n", cli.Count(len(results), "manifest"), cli.Count(nErrors, "error"), cli.Count(nWarnings, "warning"))
	_, err := w.Write(b.Bytes())
	return err
}

func writeProblem(b *bytes.Buffer, name string, data []byte, p *manifest.Problem, color bool) {
	shade := "31"
	if p.Severity != manifest.Error {
		shade = "33"
	}
	position := fmt.Sprintf("%s:%d:%d:", name, p.Line, p.Column)
	fmt.Fprintf(b, "%s %s: %s [%s]\n", cli.Paint(color, "1", position), cli.Paint(color, shade, string(p.Severity)), cli.Printable(p.Message), p.Rule)
	if line, marker := excerpt(data, p.Line, p.Offset, p.End); line != "" {
		fmt.Fprintf(b, "%s%s\n", line, cli.Paint(color, shade, marker))
	}
	if p.Suggestion != "" {
		fmt.Fprintf(b, "      %s %s\n", cli.Paint(color, "36", "="), cli.Printable(p.Suggestion))
	}
}

// maxLine is the number of bytes of a line that are read before and after a position: more than are
// shown, because a manifest may be a single line.
const maxLine = 1 << 10

// excerpt returns a line with its number and, for the line below, the marker under the value
// at fault. Both are empty if the text must not be shown.
func excerpt(data []byte, line, offset, end int) (shown, marker string) {
	if offset > len(data) || len(data) == 0 {
		return "", ""
	}
	start, stop := max(0, offset-maxLine), min(len(data), offset+maxLine)
	for start < offset && !utf8.RuneStart(data[start]) {
		start++
	}
	for stop > offset && stop < len(data) && !utf8.RuneStart(data[stop]) {
		stop--
	}
	before, after := data[start:offset], data[offset:stop]
	before = before[bytes.LastIndexAny(before, "\r\n")+1:]
	if i := bytes.IndexAny(after, "\r\n"); i >= 0 {
		after = after[:i]
	}
	width := utf8.RuneCount(data[offset:min(max(end, offset+1), len(data))])
	return cli.Excerpt(line, string(before), string(after), width)
}

// masked returns a manifest for display: every byte of the values of a secret input is an
// asterisk, so that offsets stay right. It returns nil for text that is not JSON and may
// have secrets.
func (c *call) masked(data []byte) []byte {
	doc, _ := manifest.Parse(data, &c.options)
	if doc.Root() == nil {
		if bytes.Contains(bytes.ToLower(data), []byte("secret")) {
			return nil
		}
		return data
	}
	data = bytes.Clone(data)
	maskSecrets(data, doc.Root())
	return data
}

// maskSecrets masks the objects that have a isSecret member, wherever they are.
func maskSecrets(data []byte, n *manifest.Node) {
	secret := slices.ContainsFunc(n.Members, marksSecret)
	for i := range n.Members {
		m := &n.Members[i]
		if secret && slices.Contains([]string{"value", "default", "choices", "placeholder"}, strings.ToLower(m.Key)) {
			mask(data, &m.Value)
		}
		maskSecrets(data, &m.Value)
	}
	for i := range n.Elements {
		maskSecrets(data, &n.Elements[i])
	}
}

// marksSecret also accepts wrong members, because the member itself may be the fault:
// "IsSecret": true, "isSecret": "true" or a duplicate.
func marksSecret(m manifest.Member) bool {
	return strings.EqualFold(strings.ReplaceAll(m.Key, "_", ""), "isSecret") && m.Value.Text != "false"
}

// mask masks strings and numbers, without quotes and brackets.
func mask(data []byte, n *manifest.Node) {
	for i := range n.Elements {
		mask(data, &n.Elements[i])
	}
	for i := range n.Members {
		mask(data, &n.Members[i].Value)
	}
	start, end := n.Start, n.End
	switch n.Kind {
	case manifest.KindString:
		start, end = start+1, end-1
	case manifest.KindNumber:
	default:
		return
	}
	copy(data[start:end], bytes.Repeat([]byte{'*'}, end-start))
}
