package sanitize

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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
		if err := d.value(false); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// maxDepth is the limit of encoding/json.
const maxDepth = 10_000

// document is the state of a check.
type document struct {
	policy  *Policy
	decoder *json.Decoder
	path    []step // to the next value
}

// step is a field of an object or an element of an array.
type step struct {
	name  string
	index int
	array bool
}

// token returns the next token, or io.EOF at the end and at a syntax error, which the handler reports.
func (d *document) token() (json.Token, error) {
	token, err := d.decoder.Token()
	if err != nil {
		err = io.EOF
	}
	return token, err
}

// value checks the strings in the next value, or only the names of its fields if skip is set.
func (d *document) value(skip bool) error {
	token, err := d.token()
	if err != nil {
		return err
	}
	if text, ok := token.(string); ok && !skip && !d.policy.Clean(text) {
		return markup("field", d.field())
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if len(d.path) == maxDepth {
		return httpx.Errorf(http.StatusBadRequest, "JSON nested too deeply: use at most %d levels", maxDepth)
	}
	for i := 0; d.decoder.More(); i++ {
		next, skipped := step{index: i, array: open == '['}, skip
		if !next.array {
			key, err := d.token()
			if err != nil {
				return err
			}
			next.name, _ = key.(string)
			if err := d.policy.field("field", next.name); err != nil {
				return err
			}
			skipped = skip || d.policy.skips(next.name)
		}
		d.path = append(d.path, next)
		if err := d.value(skipped); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	_, err = d.token() // the bracket
	return err
}

// maxPath is the maximum number of levels of a path in a message.
const maxPath = 32

// field returns the path as text. Its names have been checked.
func (d *document) field() string {
	var path strings.Builder
	for _, s := range d.path[:min(len(d.path), maxPath)] {
		switch {
		case s.array:
			path.WriteString("[" + strconv.Itoa(s.index) + "]")
		case path.Len() > 0:
			path.WriteString("." + s.name)
		default:
			path.WriteString(s.name)
		}
	}
	return cmp.Or(path.String(), "body")
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
