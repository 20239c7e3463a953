package sanitize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

func (p *Policy) skips(name string) bool { return p.skip[strings.ToLower(name)] }

// looksLikeJSON reports whether a body begins as an object, an array or a string.
func looksLikeJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	return len(body) > 0 && strings.IndexByte(`{["`, body[0]) >= 0
}

// json checks all strings up to the end or the first syntax error. Further documents may
// follow the first.
func (p *Policy) json(body []byte) error {
	if !bytes.ContainsAny(body, `<\`) {
		return nil // neither a tag nor an escape that may hide one
	}
	d := document{policy: p, decoder: json.NewDecoder(bytes.NewReader(bytes.TrimLeft(body, "\ufeff")))}
	d.decoder.UseNumber()
	for {
		token, err := d.decoder.Token()
		if err != nil {
			return nil // the end, or a syntax error that the handler reports
		}
		if err := d.token(token); err != nil {
			return err
		}
		if len(d.open) > maxDepth {
			return &httpx.Error{
				Status:  http.StatusBadRequest,
				Message: fmt.Sprintf("JSON nested too deeply: use at most %d levels", maxDepth),
			}
		}
	}
}

// maxDepth is the limit of encoding/json.
const maxDepth = 10_000

// document is the state of a check.
type document struct {
	policy  *Policy
	decoder *json.Decoder
	open    []level
}

// level is an open object or array.
type level struct {
	array bool
	index int    // of the next element
	key   string // of the next value
	value bool   // the next token is a value, not a key
	skip  bool   // part of a skipped value
}

// token checks the next token.
func (d *document) token(token json.Token) error {
	switch t := token.(type) {
	case json.Delim:
		d.delimiter(t)
		return nil
	case string:
		if top := d.top(); top != nil && !top.array && !top.value {
			top.key, top.value = t, true
			return d.policy.field("field", t)
		}
		if !d.skipped() && !d.policy.Clean(t) {
			return markup("field", d.path())
		}
	}
	d.next()
	return nil
}

func (d *document) delimiter(t json.Delim) {
	switch t {
	case '{', '[':
		d.open = append(d.open, level{array: t == '[', skip: d.skipped()})
	default:
		d.open = d.open[:len(d.open)-1]
		d.next()
	}
}

// next moves past a value.
func (d *document) next() {
	if top := d.top(); top != nil {
		top.index++
		top.value = false
	}
}

func (d *document) top() *level {
	if len(d.open) == 0 {
		return nil
	}
	return &d.open[len(d.open)-1]
}

// skipped reports whether the next value is not checked.
func (d *document) skipped() bool {
	top := d.top()
	return top != nil && (top.skip || !top.array && d.policy.skips(top.key))
}

// maxPath is the maximum number of levels of a path in a message.
const maxPath = 32

// path returns the path of the next value. Its names have been checked.
func (d *document) path() string {
	var path strings.Builder
	for _, l := range d.open[:min(len(d.open), maxPath)] {
		switch {
		case l.array:
			path.WriteString("[" + strconv.Itoa(l.index) + "]")
		case path.Len() > 0:
			path.WriteString("." + l.key)
		default:
			path.WriteString(l.key)
		}
	}
	if path.Len() == 0 {
		return "body"
	}
	return path.String()
}

// multipart checks the fields of a form and the names of its files, not their contents.
func (p *Policy) multipart(body []byte, boundary string) error {
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextPart()
		if err != nil {
			return nil // the end, or an error that the handler reports
		}
		value := part.FileName()
		if value == "" {
			text, err := io.ReadAll(part)
			if err != nil {
				return nil // as above
			}
			value = string(text)
		}
		if err := p.field("form field", part.FormName(), value); err != nil {
			return err
		}
	}
}
