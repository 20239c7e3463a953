package lsp

import (
	"encoding/json"
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/manifest"
)

// document is an open document.
type document struct {
	text   string
	lines  []int // the offsets at which lines begin
	report *manifest.Report
}

// position is a place in UTF-16.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// span is a range of a document.
type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

func newDocument(text string) *document {
	d := &document{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// position returns the place of an offset.
func (d *document) position(offset int) position {
	offset = min(max(offset, 0), len(d.text))
	line := sort.SearchInts(d.lines, offset+1) - 1
	p := position{Line: line}
	for _, c := range d.text[d.lines[line]:offset] {
		p.Character += units(c)
	}
	return p
}

// offset returns the offset of a place. Places outside of the document are its nearest ones.
func (d *document) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(d.lines) {
		return len(d.text)
	}
	at := d.lines[p.Line]
	for left := p.Character; left > 0 && at < len(d.text) && d.text[at] != '\n'; {
		c, size := utf8.DecodeRuneInString(d.text[at:])
		left -= units(c)
		at += size
	}
	return at
}

// units returns how many units of UTF-16 a character has.
func units(c rune) int {
	if c > 0xffff {
		return 2
	}
	return 1
}

func (d *document) span(from, to int) span { return span{d.position(from), d.position(to)} }

type documentParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Text    string `json:"text"`
		Version *int   `json:"version"`
	} `json:"textDocument"`
	Position       position `json:"position"`
	Range          span     `json:"range"`
	ContentChanges []struct {
		Text string `json:"text"`
	} `json:"contentChanges"`
}

func (s *server) open(raw json.RawMessage) error {
	p, err := params[documentParams](raw)
	if err != nil {
		return err
	}
	if len(s.documents) >= maxDocuments {
		return s.notify("window/showMessage", object{"type": 1, "message": fmt.Sprintf("more than %d manifests are open: close some", maxDocuments)})
	}
	return s.validate(p.TextDocument.URI, p.TextDocument.Text, p.TextDocument.Version)
}

func (s *server) change(raw json.RawMessage) error {
	p, err := params[documentParams](raw)
	if err != nil || len(p.ContentChanges) == 0 || s.documents[p.TextDocument.URI] == nil {
		return err
	}
	return s.validate(p.TextDocument.URI, p.ContentChanges[len(p.ContentChanges)-1].Text, p.TextDocument.Version)
}

func (s *server) close(raw json.RawMessage) error {
	p, err := params[documentParams](raw)
	if err != nil {
		return err
	}
	delete(s.documents, p.TextDocument.URI)
	return s.notify("textDocument/publishDiagnostics", object{"uri": p.TextDocument.URI, "diagnostics": []any{}})
}

// document returns an open document with the parameters of a request for it.
func (s *server) document(raw json.RawMessage) (*document, documentParams, error) {
	p, err := params[documentParams](raw)
	if err != nil {
		return nil, p, err
	}
	d := s.documents[p.TextDocument.URI]
	if d == nil {
		return nil, p, &responseError{invalidParams, "the document is not open"}
	}
	return d, p, nil
}

// validate sends the problems of a text.
func (s *server) validate(uri, text string, version *int) error {
	d := newDocument(text)
	d.report = manifest.Validate([]byte(text), &manifest.Options{Profile: s.opts.Profile})
	s.documents[uri] = d
	list := make([]object, len(d.report.Problems))
	for i := range d.report.Problems {
		list[i] = d.diagnostic(&d.report.Problems[i])
	}
	p := object{"uri": uri, "diagnostics": list}
	if version != nil {
		p["version"] = *version
	}
	return s.notify("textDocument/publishDiagnostics", p)
}

// diagnostic returns a problem.
func (d *document) diagnostic(p *manifest.Problem) object {
	severity := 1
	if p.Severity == manifest.Warning {
		severity = 2
	}
	message := p.Message
	if p.Suggestion != "" {
		message += " (" + p.Suggestion + ")"
	}
	return object{"range": d.span(p.Offset, p.End), "severity": severity, "code": p.Rule, "source": "manifest", "message": message}
}

// codeAction returns the fixes of the problems in a range.
func (s *server) codeAction(raw json.RawMessage) (any, error) {
	d, p, err := s.document(raw)
	if err != nil {
		return nil, err
	}
	from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
	actions := []object{}
	for i := range d.report.Problems {
		problem := &d.report.Problems[i]
		if problem.Fix == nil || problem.End < from || problem.Offset > to {
			continue
		}
		title := problem.Suggestion
		if title == "" {
			title = "fix: " + problem.Message
		}
		edit := object{"range": d.span(problem.Fix.Offset, problem.Fix.End), "newText": problem.Fix.Text}
		actions = append(actions, object{
			"title": title, "kind": "quickfix", "isPreferred": true, "diagnostics": []object{d.diagnostic(problem)},
			"edit": object{"changes": object{p.TextDocument.URI: []object{edit}}},
		})
	}
	return actions, nil
}

// formatting returns the edit that formats a document, none if it is not JSON.
func (s *server) formatting(raw json.RawMessage) (any, error) {
	d, _, err := s.document(raw)
	if err != nil {
		return nil, err
	}
	if s.opts.Format == nil {
		return []object{}, nil
	}
	text, err := s.opts.Format([]byte(d.text))
	if err != nil || string(text) == d.text {
		return []object{}, nil
	}
	return []object{{"range": d.span(0, len(d.text)), "newText": string(text)}}, nil
}
