package main

import (
	"errors"
	"slices"

	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
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

	Directories []string `json:"-"`
	Explains    int      `json:"-"`
	color       bool
	config      *config.Config // nil if there are errors
}

// finding is an error or a warning.
type finding struct {
	*config.Fault
	// Excerpt is the line with a caret below the column, if it is known.
	Excerpt string `json:"excerpt,omitempty"`
}

// maxShown bounds the errors, and the warnings, that come with their line and are printed
// as text.
const maxShown = 1000

func (s *settings) reads(path string) bool { return slices.Contains(s.paths, path) }

func check(s *settings, stdin []byte) (*report, error) {
	opts := &config.Options{MergeDomains: s.merge, IgnoreDotFiles: s.ignoreDotFiles, CalendarMonths: s.calendarMonths}
	r := &report{Files: []string{}, Errors: []finding{}, Warnings: []finding{}, Explains: len(s.explains)}
	files := r.read(s.paths, stdin, opts)
	c, err := config.Parse(files, opts)
	lines := sourceLines(files)
	if faults, ok := errors.AsType[config.Faults](err); ok {
		r.Errors = append(r.Errors, findings(lines, faults)...)
		return r, nil
	} else if err != nil {
		return r, err
	}
	r.Warnings = append(r.Warnings, findings(lines, c.Warnings)...)
	if len(r.Files) == 0 {
		r.Warnings = append(r.Warnings, finding{Fault: &config.Fault{File: s.paths[0], Reason: "no configuration files found: nothing is limited"}})
	}
	r.config = c
	r.OK = !s.strict || len(r.Warnings) == 0
	r.Domains = c.Ruleset.Len()
	for i := range c.Domains {
		r.Rules += countRules(c.Domains[i].Rules)
	}
	r.Explanations, err = explainAll(s, c)
	return r, err
}

func countRules(rules []ratelimit.Rule) int {
	n := len(rules)
	for i := range rules {
		n += countRules(rules[i].Rules)
	}
	return n
}

func findings(lines func(path string) []string, faults []*config.Fault) []finding {
	var out []finding
	for _, f := range faults {
		n := finding{Fault: f}
		if len(out) < maxShown {
			n.Excerpt = excerpt(lines(f.File), f.Line, f.Column)
		}
		out = append(out, n)
	}
	return out
}
