package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
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
	Unread   string // why the files can't be read
}

// problem is a fault or a warning.
type problem struct {
	*config.Fault
	Warning bool
}

// Location returns line and column, a path in the file, or nothing.
func (p problem) Location() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d, column %d", p.Line, p.Column)
	}
	return p.Path
}

// fileView is a file with its problems.
type fileView struct {
	Name     string
	Size     int
	Problems []problem // those without a line
	Lines    []lineView
	Shown    bool // whether its lines are shown: it has faults, or is selected
}

// lineView is a line of a file. Gap says that lines before it are left out.
type lineView struct {
	Number   int
	Text     string
	Gap      bool
	Problems []problem
}

const (
	// maxProblems bounds the faults, and the warnings, of a page.
	maxProblems = 100
	// maxLines is the length of the longest file that a page shows whole; of longer ones it shows the lines around
	// faults.
	maxLines = 600
	around   = 4
	maxLine  = 500 // bytes that are shown of a line
)

// problems returns faults or warnings for a page.
func problems(faults []*config.Fault, warning bool) []problem {
	var out []problem
	for _, f := range faults[:min(len(faults), maxProblems)] {
		out = append(out, problem{f, warning})
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
	return []problem{{Fault: &config.Fault{Reason: err.Error()}}}
}

// configuration shows where the rules come from, how the last load ended, and the files.
func (c *Console) configuration(w http.ResponseWriter, r *http.Request) error {
	load := c.opts.Load()
	page := &configurationPage{
		Load: load, Rules: c.current().limits, Faults: problemsOf(load.Err), Warnings: problems(load.Warnings, true), HasFiles: c.opts.Files != nil,
	}
	if page.HasFiles {
		files, err := c.opts.Files()
		if len(files) == 0 && err != nil {
			page.Unread = err.Error()
		}
		slices.SortStableFunc(files, func(a, b config.File) int { return strings.Compare(a.Name, b.Name) })
		all := append(problemsOf(err), page.Warnings...)
		for _, f := range files[:min(len(files), maxRows)] {
			page.Files = append(page.Files, newFileView(f, all, f.Name == r.URL.Query().Get("file")))
		}
	}
	return c.page(w, r, http.StatusOK, "configuration.html", "Configuration", page)
}

// newFileView returns a file with those of the problems that belong to it.
func newFileView(f config.File, all []problem, selected bool) fileView {
	view := fileView{Name: f.Name, Size: len(f.Data), Shown: selected}
	var own []problem
	for _, p := range all {
		if p.File == f.Name {
			own = append(own, p)
			view.Shown = view.Shown || !p.Warning
		}
	}
	if view.Shown {
		view.setLines(f.Data, own)
	}
	return view
}

// setLines sets the lines of a file with their problems. A long file is shown around its problems, or from its start.
func (v *fileView) setLines(data []byte, own []problem) {
	texts := strings.Split(breaks.Replace(strings.TrimPrefix(string(data), "\ufeff")), "\n")
	if n := len(texts); n > 1 && texts[n-1] == "" {
		texts = texts[:n-1]
	}
	at := map[int][]problem{}
	near := map[int]bool{}
	for _, p := range own {
		if p.Line < 1 {
			v.Problems = append(v.Problems, p)
			continue
		}
		line := min(p.Line, len(texts))
		at[line] = append(at[line], p)
		for l := line - around; l <= line+around; l++ {
			near[l] = true
		}
	}
	last := 0
	for i, text := range texts {
		line := i + 1
		shown := len(texts) <= maxLines || near[line] || len(at) == 0 && line <= maxLines
		if shown && len(v.Lines) < 2*maxLines {
			text = strings.ToValidUTF8(text[:min(len(text), maxLine)], "\ufffd")
			v.Lines = append(v.Lines, lineView{Number: line, Text: text, Gap: line != last+1, Problems: at[line]})
			last = line
		}
	}
}

// breaks makes all line breaks of YAML the same.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
