package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// configurationPage is the page about the configuration.
type configurationPage struct {
	Load
	Rules    int
	Faults   []problem // why the last one is not active
	Warnings []problem // of the active one
	Files    []fileView
	HasFiles bool
	MayAdd   bool   // whether a file can be created
	Unread   string // why the files can't be read
}

// problem is a fault or a warning.
type problem struct {
	File, Place  string // Place is empty, or line and column
	Line, Column int
	Reason       string
	Warning      bool
}

// fileView is a file with its problems.
type fileView struct {
	Name     string
	Size     int
	Problems []problem // those without a line
	Lines    []lineView
	Shown    bool // whether its lines are shown: it has problems, or was asked for
}

// lineView is a line of a file. Gap says that lines before it are left out.
type lineView struct {
	Number   int
	Text     string
	Gap      bool
	Problems []problem
}

const (
	// maxProblems is how many faults, and how many warnings, a page shows.
	maxProblems = 100
	// maxLines is how many lines of a file a page shows whole; of longer ones, those around faults.
	maxLines = 600
	around   = 4
	maxLine  = 500 // bytes that are shown of a line
)

// problems returns the faults of an error, or warnings.
func problems(faults []*config.Fault, warning bool) []problem {
	var out []problem
	for _, f := range faults[:min(len(faults), maxProblems)] {
		p := problem{File: f.File, Line: f.Line, Column: f.Column, Reason: f.Reason, Warning: warning}
		if f.Line > 0 {
			p.Place = fmt.Sprintf("line %d, column %d", f.Line, f.Column)
		} else if f.Path != "" {
			p.Place = f.Path
		}
		out = append(out, p)
	}
	return out
}

// problemsOf returns the problems of an error of loading.
func problemsOf(err error) []problem {
	if err == nil {
		return nil
	}
	if all, ok := errors.AsType[config.Faults](err); ok {
		return problems(all, false)
	}
	return []problem{{Reason: err.Error()}}
}

// configuration shows where the rules come from, how the last load ended, and the files.
func (c *Console) configuration(w http.ResponseWriter, r *http.Request) error {
	load := c.load()
	page := &configurationPage{Load: load, Faults: problemsOf(load.Err), Warnings: problems(load.Warnings, true), HasFiles: c.opts.Files != nil, MayAdd: c.mayCreate()}
	for _, d := range c.current().domains {
		page.Rules += d.Limits
	}
	if c.opts.Files != nil {
		files := c.opts.Files.Read()
		page.files(files, append(problemsOf(files.Err), page.Warnings...), r.URL.Query().Get("file"))
	}
	return c.page(w, r, http.StatusOK, "configuration.html", "Configuration", page)
}

// files sets the files with the problems that belong to them.
func (p *configurationPage) files(s *Snapshot, all []problem, asked string) {
	if len(s.Files) == 0 && s.Err != nil {
		p.Unread = s.Err.Error()
	}
	for _, f := range s.Files[:min(len(s.Files), maxRows)] {
		var own []problem
		faulty := false
		for _, problem := range all {
			if problem.File == f.Name {
				own = append(own, problem)
				faulty = faulty || !problem.Warning
			}
		}
		view := fileView{Name: f.Name, Size: len(f.Data), Shown: faulty || f.Name == asked}
		if view.Shown {
			view.Problems, view.Lines = linesOf(f.Data, own)
		}
		p.Files = append(p.Files, view)
	}
}

// linesOf returns the lines of a file with their problems, and the problems without a line. A long file is
// shown around its problems, or from its start.
func linesOf(data []byte, own []problem) (whole []problem, lines []lineView) {
	texts := strings.Split(breaks.Replace(strings.TrimPrefix(string(data), "\ufeff")), "\n")
	if n := len(texts); n > 1 && texts[n-1] == "" {
		texts = texts[:n-1]
	}
	at := map[int][]problem{}
	for _, p := range own {
		if p.Line < 1 {
			whole = append(whole, p)
			continue
		}
		line := min(p.Line, len(texts))
		at[line] = append(at[line], p)
	}
	near := func(line int) bool {
		if len(texts) <= maxLines || len(at) == 0 && line <= maxLines {
			return true
		}
		for l := line - around; l <= line+around; l++ {
			if len(at[l]) > 0 {
				return true
			}
		}
		return false
	}
	last := 0
	for i, text := range texts {
		if line := i + 1; near(line) && len(lines) < 2*maxLines {
			lines = append(lines, lineView{Number: line, Text: strings.ToValidUTF8(text[:min(len(text), maxLine)], "\ufffd"), Gap: line != last+1, Problems: at[line]})
			last = line
		}
	}
	return whole, lines
}

// breaks makes all line breaks of YAML the same.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
