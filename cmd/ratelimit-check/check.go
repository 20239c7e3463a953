package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
	"github.com/ashlar-go/ashlar/ratelimit/replay"
)

// report is the outcome of a check.
type report struct {
	// OK reports whether the exit code is 0.
	OK       bool      `json:"ok"`
	Files    []string  `json:"files"`
	Ignored  []string  `json:"ignored,omitempty"` // files whose names end in neither .yaml nor .yml
	Errors   []finding `json:"errors"`
	Warnings []finding `json:"warnings"`
	// Domains and Rules are counted, and Explanations given, if there are no errors.
	Domains      int                    `json:"domains"`
	Rules        int                    `json:"rules"`
	Explanations []*explain.Explanation `json:"explanations,omitempty"`
	// Replay is the result of -replay.
	Replay *replay.Report `json:"replay,omitempty"`

	directories []string
	explains    int
	color       bool
	config      *config.Config // nil if there are errors
}

// finding is an error or a warning.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // 0 for the file as a whole
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	// Excerpt is the line with a caret below the column, if it is known.
	Excerpt string `json:"excerpt,omitempty"`
}

// maxShown bounds the errors, and the warnings, that come with their line and are printed
// as text.
const maxShown = 1000

func (s *settings) reads(path string) bool { return slices.Contains(s.paths, path) }

func check(s *settings, stdin []byte) (*report, error) {
	src := newSources(s.paths, stdin)
	c, err := config.Load(src, &config.Options{MergeDomains: s.merge, IgnoreDotFiles: s.ignoreDotFiles})
	r := &report{Files: []string{}, Errors: []finding{}, Warnings: []finding{}, explains: len(s.explains)}
	for _, f := range src.files {
		r.Files = append(r.Files, f.path)
	}
	for _, p := range s.paths {
		if p != standardInput && !isFile(p) {
			r.directories = append(r.directories, p)
		}
	}
	if err != nil {
		return r, r.fail(src, err)
	}
	for _, name := range c.Ignored {
		r.Ignored = append(r.Ignored, src.path(name))
	}
	r.Warnings = append(r.Warnings, findings(src, c.Warnings)...)
	if len(r.Files) == 0 {
		r.Warnings = append(r.Warnings, finding{File: s.paths[0], Message: "no configuration files found: nothing is limited"})
	}
	r.config = c
	r.OK = !s.strict || len(r.Warnings) == 0
	r.Domains = c.Ruleset.Len()
	for i := range c.Domains {
		r.Rules += countRules(c.Domains[i].Rules)
	}
	r.Explanations, err = explainAll(s, c, src)
	return r, err
}

// fail records configuration faults as errors and returns any other error unchanged.
func (r *report) fail(src *sources, err error) error {
	faults, ok := errors.AsType[config.Faults](err)
	if !ok {
		return err
	}
	r.Errors = append(r.Errors, findings(src, faults)...)
	return nil
}

func countRules(rules []ratelimit.Rule) int {
	n := len(rules)
	for i := range rules {
		n += countRules(rules[i].Rules)
	}
	return n
}

func findings(src *sources, faults []*config.Fault) []finding {
	var out []finding
	for _, f := range faults {
		path, file := src.find(f.File)
		n := finding{File: path, Line: f.Line, Column: f.Column, Message: userPaths(src, f.Reason)}
		if file != nil && len(out) < maxShown {
			n.Excerpt = file.excerpt(f.Line, f.Column)
		}
		out = append(out, n)
	}
	return out
}

// userPaths replaces the configuration name of a file that a reason refers to
// with its path.
func userPaths(src *sources, reason string) string {
	const before = "(the other is at "
	at := strings.LastIndex(reason, before)
	if at < 0 {
		return reason
	}
	at += len(before)
	name, rest := cutPosition(reason[at:])
	if f := src.named[name]; f != nil {
		return reason[:at] + f.path + rest
	}
	return reason
}

// cutPosition cuts "name:line:column)" after the name.
func cutPosition(s string) (name, rest string) {
	end := len(s)
	for range 2 {
		end = max(strings.LastIndexByte(s[:end], ':'), 0)
	}
	return s[:end], s[end:]
}
