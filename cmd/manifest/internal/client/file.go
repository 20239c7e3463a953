package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Limits of a configuration file.
const (
	maxFile  = 16 << 20
	maxDepth = 500
)

// member is a key with a value: string, bool, int, []string, []member or [][]member.
type member struct {
	key   string
	value any
}

// members returns the entry as the program has it.
func (p *Program) members(e *Entry) []member {
	var all []member
	add := func(key string, value any, present bool) {
		if key != "" && present {
			all = append(all, member{key, value})
		}
	}
	add("type", p.types[e.Type], p.types[e.Type] != "")
	add("name", e.Name, p.namedEntry)
	if e.URL == "" {
		add(cmp.Or(p.command, "command"), e.Command, true)
		add("args", e.Args, len(e.Args) > 0 || p.Format == YAML)
		add(cmp.Or(p.env, "env"), membersOf(e.Env), len(e.Env) > 0)
	} else {
		add(p.links[e.Type], e.URL, true)
		add(cmp.Or(p.headers, "headers"), membersOf(e.Headers), len(e.Headers) > 0)
		add(p.bearer, e.BearerVariable, e.BearerVariable != "")
		add(p.variables, membersOf(e.HeaderVariables), len(e.HeaderVariables) > 0)
	}
	add(p.named, e.Passed, len(e.Passed) > 0)
	return append(all, p.constants...)
}

func membersOf(pairs []Pair) []member {
	all := make([]member, len(pairs))
	for i, p := range pairs {
		all[i] = member{p.Name, p.Value}
	}
	return all
}

// Add returns a file of the program with an entry, which replaces one of the same name. Every
// other byte stays. An empty file is a new one. The file has at most 16 MiB.
func (p *Program) Add(file []byte, e *Entry) ([]byte, error) {
	return p.edit(file, func(f *text) error {
		switch p.Format {
		case TOML:
			return f.addTOML(p.key, e.Name, p.members(e))
		case YAML:
			return f.addYAML(p.key, e.Name, p.members(e))
		}
		return f.addJSON(p, e)
	})
}

// Remove returns a file of the program without the entry of a name. The file is unchanged if it
// has none. Inputs that the entry alone used go with it.
func (p *Program) Remove(file []byte, name string) ([]byte, error) {
	return p.edit(file, func(f *text) error {
		switch p.Format {
		case TOML:
			return f.removeTOML(p.key, name)
		case YAML:
			return f.removeYAML(p.key, name)
		}
		return f.removeJSON(p, name)
	})
}

// Unreadable is what a program does not read in its file, at the first place.
type Unreadable struct {
	Line, Column int // from 1, columns in characters
	What         string
}

// Mend returns a file without what the program does not read in JSON (comments, commas before a closing bracket, a byte order
// mark), and where that begins, nil if there is none.
func (p *Program) Mend(file []byte) ([]byte, *Unreadable) {
	body, marked := bytes.CutPrefix(file, byteOrderMark)
	blank, err := hujson.Standardize(bytes.Clone(body)) // spaces in place of comments and commas
	if p.Format != JSON || depth(body) > maxDepth || err != nil {
		return file, nil // Add reports what is wrong
	}
	var found *Unreadable
	refused := func(kind syntax, at int, what string) bool {
		if p.refuses&kind != 0 && found == nil {
			line := body[bytes.LastIndexByte(body[:at], '\n')+1 : at]
			found = &Unreadable{bytes.Count(body[:at], []byte("\n")) + 1, utf8.RuneCount(line) + 1, what}
		}
		return p.refuses&kind != 0
	}
	mended := bytes.Clone(body)
	if marked && !refused(mark, 0, "a byte order mark") {
		mended = bytes.Clone(file)
	}
	shift := len(mended) - len(body)
	for at, end := 0, 0; at < len(body); at = max(at+1, end) {
		if body[at] == blank[at] {
			continue
		}
		kind, what := commas, "a comma before a closing bracket"
		if end = at + 1; body[at] == '/' {
			kind, what = comments, "a comment"
			end = at + len(comment.Find(body[at:]))
		}
		if refused(kind, at, what) {
			for i := at; i < end; i++ {
				if body[i] != '\n' && body[i] != '\r' {
					mended[i+shift] = 0 // which JSON has nowhere
				}
			}
		}
	}
	mended = removedLine.ReplaceAll(mended, nil)
	return removed.ReplaceAll(mended, []byte("$1")), found
}

var (
	comment     = regexp.MustCompile(`^(//[^\n]*|(?s:/\*.*?\*/))`)
	removedLine = regexp.MustCompile(`(?m)^[ \t]*\x00[ \t\x00]*\r?\n`)
	removed     = regexp.MustCompile(`(?m)[ \t]*\x00[ \t\x00]*(\r?$)|\x00`)
)

// text is a file that is edited.
type text struct {
	data    []byte
	newline string
}

var byteOrderMark = []byte("\ufeff")

func (p *Program) edit(file []byte, change func(*text) error) ([]byte, error) {
	if len(file) > maxFile {
		return nil, fmt.Errorf("the file has more than %d MiB", maxFile>>20)
	}
	body, marked := bytes.CutPrefix(file, byteOrderMark)
	f := &text{data: bytes.Clone(body), newline: "\n"}
	if bytes.Contains(body, []byte("\r\n")) {
		f.newline = "\r\n"
	}
	if err := change(f); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Title, err)
	}
	if marked {
		return append(bytes.Clone(byteOrderMark), f.data...), nil
	}
	return f.data, nil
}

// replace replaces a range of bytes.
func (f *text) replace(from, to int, by string) {
	f.data = append(append(bytes.Clone(f.data[:from]), by...), f.data[to:]...)
}

// lineStart returns the offset of the line with an offset.
func (f *text) lineStart(at int) int { return bytes.LastIndexByte(f.data[:at], '\n') + 1 }

// lineEnd returns the offset after the line with an offset, its line break included.
func (f *text) lineEnd(at int) int {
	if i := bytes.IndexByte(f.data[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(f.data)
}

// indentation returns the white space before an offset if its line has nothing else there.
func (f *text) indentation(at int) string {
	line := f.data[f.lineStart(at):at]
	if len(bytes.TrimLeft(line, " \t")) > 0 {
		return f.lineIndentation(at)
	}
	return string(line)
}

// lineIndentation returns the white space at the beginning of the line with an offset.
func (f *text) lineIndentation(at int) string {
	line := f.data[f.lineStart(at):f.lineEnd(at)]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// endLine makes the file end with a line break, unless it is empty.
func (f *text) endLine() {
	if n := len(f.data); n > 0 && f.data[n-1] != '\n' {
		f.data = append(f.data, f.newline...)
	}
}

// errForm is the error for files whose servers are not written line by line.
var errForm = errors.New("its servers are written in a form that can't be changed line by line: change it by hand")
