package main

import (
	"context"
	"io"
	"os"

	"github.com/ashlar-go/ashlar/manifest"
)

// checked is a manifest with its report.
type checked struct {
	source
	report *manifest.Report
}

func runValidate(ctx context.Context, c *call) error {
	var profile, format, color string
	c.choice(&profile, "profile", []string{"neutral", "2025-09-29", "2025-10-17", "2025-12-11", "registry"}, "the rules; neutral is the specification, registry what a public registry adds")
	c.choice(&format, "format", []string{"text", "json", "sarif", "github"}, "how problems are written")
	c.choice(&color, "color", []string{"auto", "always", "never"}, "colours in text; auto is on a terminal, unless NO_COLOR is set")
	strict := c.flags.Bool("strict", false, "let warnings fail the check")
	most := c.flags.Int("max-problems", 0, "list no more than `n` problems of a file; by default 100")
	if err := c.parse(); err != nil {
		return err
	}
	all, err := c.sources(ctx)
	if err != nil {
		return err
	}
	p, err := manifest.ParseProfile(profile)
	if err != nil {
		return err
	}
	bad := false
	results := make([]checked, len(all))
	for i, s := range all {
		results[i] = checked{s, manifest.Validate(s.data, &manifest.Options{Profile: p, MaxProblems: *most})}
		bad = bad || !results[i].report.Valid() || *strict && results[i].report.Warnings > 0
	}
	if err := write(c.Stdout, results, format, c.paint(color)); err != nil {
		return err
	}
	if bad {
		return errSilent
	}
	return nil
}

func write(w io.Writer, results []checked, format string, p paint) error {
	switch format {
	case "json":
		return writeJSON(w, results)
	case "sarif":
		return writeSARIF(w, results)
	case "github":
		return writeGitHub(w, results)
	}
	return writeText(w, results, p)
}

// paint says whether text is coloured.
type paint bool

func (c *call) paint(when string) paint {
	switch when {
	case "always":
		return true
	case "never":
		return false
	}
	f, ok := c.Stdout.(*os.File)
	if !ok || c.Environ["NO_COLOR"] != "" || c.Environ["TERM"] == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// in colours a text: 31 is red, 33 yellow, 36 cyan, 1 bold.
func (p paint) in(color, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func runSchema(_ context.Context, c *call) error {
	if err := c.parse(); err != nil {
		return err
	}
	_, err := c.Stdout.Write(manifest.Schema())
	return err
}
