package httpx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// BodyOptions configures [NewBody]. Nil means the defaults.
type BodyOptions struct {
	MaxBytes int64 // default: DefaultBodyLimit
	MaxDepth int   // of nested objects and arrays; default: 32
}

// Body decodes JSON request bodies into values of one type. Create it once: it caches what it
// derives from the type.
type Body[T any] struct {
	maxBytes int64
	maxDepth int
	shape    *shape
}

// NewBody returns a Body. It panics if JSON cannot be decoded into a T, for instance because it
// contains a channel. opts may be nil.
func NewBody[T any](opts *BodyOptions) *Body[T] {
	b := &Body[T]{maxBytes: DefaultBodyLimit, maxDepth: 32, shape: shapeOf(reflect.TypeFor[T]())}
	if opts != nil && opts.MaxBytes > 0 {
		b.maxBytes = opts.MaxBytes
	}
	if opts != nil && opts.MaxDepth > 0 {
		b.maxDepth = opts.MaxDepth
	}
	return b
}

// Read decodes the body of a request. The error is an [*Error]:
//
//	415  the content type is not application/json, or the body is encoded
//	413  the body is larger than MaxBytes
//	400  the body is not JSON; or a field is unknown, a duplicate, of a wrong type or nested
//	     too deeply; the message names field, line and column, and Fields has the first 20
//
// Field names are case-sensitive. null is accepted where T has a pointer, a map, a slice or an
// interface.
func (b *Body[T]) Read(r *http.Request) (T, error) {
	var v T
	if err := checkType(r.Header); err != nil {
		return v, err
	}
	data, err := readAll(r, b.maxBytes)
	if err != nil {
		return v, err
	}
	return v, b.decode(data, &v)
}

// Decode decodes data that is not a request body, with the same errors.
func (b *Body[T]) Decode(data []byte) (T, error) {
	var v T
	return v, b.decode(data, &v)
}

// ReadJSON calls [Body.Read] of a new Body.
func ReadJSON[T any](r *http.Request) (T, error) { return NewBody[T](nil).Read(r) }

func (b *Body[T]) decode(data []byte, v *T) error {
	doc := jsonpos.Parse(data, &jsonpos.Limits{Depth: b.maxDepth})
	if err := wellFormed(doc, b.maxDepth); err != nil {
		return err
	}
	if err := b.shape.check(doc); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &Error{
			Status: http.StatusBadRequest, Message: "Invalid JSON: " + strings.TrimPrefix(err.Error(), "json: "), Err: err,
		}
	}
	return nil
}

// checkType rejects content types and encodings other than plain JSON.
func checkType(h http.Header) error {
	content := h.Get("Content-Type")
	kind, parameters, err := mime.ParseMediaType(content)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		if content == "" {
			content = "missing"
		}
		return Errorf(http.StatusUnsupportedMediaType, "Content-Type is %s: send application/json", printable.Truncate(content, maxPrinted))
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return Errorf(http.StatusUnsupportedMediaType, "charset is %s: send UTF-8", printable.Truncate(charset, maxPrinted))
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return Errorf(http.StatusUnsupportedMediaType, "Content-Encoding is %s: send the body without encoding", printable.Truncate(encoding, maxPrinted))
	}
	return nil
}

// readAll reads a body of at most limit bytes.
func readAll(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(r.Body, max(limit+1, limit))) // max guards against overflow
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, asError(err)
	}
	switch {
	case err != nil:
		return nil, &Error{Status: http.StatusBadRequest, Message: "The request body could not be read", Err: err}
	case n > limit:
		return nil, tooLarge(limit)
	}
	return body.Bytes(), nil
}

// wellFormed reports the first syntax error of a document. Problems that encoding/json accepts are
// left to the check of the shape.
func wellFormed(doc *jsonpos.Document, maxDepth int) error {
	if strings.TrimSpace(doc.Text) == "" {
		return badBody("is empty: send a JSON document")
	}
	for _, p := range doc.Problems {
		at := position(doc.Text, p.Offset)
		switch p.Code {
		case jsonpos.DuplicateKey, jsonpos.Surrogate:
		case jsonpos.TooDeep:
			return invalidBody(fieldOf(p.Pointer), fmt.Sprintf("nested too deeply: use at most %d levels (%s)", maxDepth, at))
		case jsonpos.Encoding:
			return badBody("is not UTF-8 at " + at)
		case jsonpos.TrailingData:
			return badBody("has trailing data after the JSON document, at " + at)
		default:
			if p.Suggestion != "" {
				at += ": " + p.Message + "; " + p.Suggestion
			} else {
				at += ": " + p.Message
			}
			return badBody("is not JSON at " + at)
		}
	}
	return nil
}

func badBody(reason string) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Message: "The request body " + reason,
		Fields:  []FieldError{{Field: "body", Reason: reason}},
	}
}

func invalidBody(field, reason string) *Error {
	e := invalidField(field, reason)
	e.Message = "Invalid JSON: " + e.Message
	return e
}

// fieldOf returns a JSON pointer in the form of FieldError.Field.
func fieldOf(pointer string) string {
	var field strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if token = printable.Truncate(token, maxPrinted); strings.Trim(token, "0123456789") == "" {
			token = "[" + token + "]"
		} else if field.Len() > 0 {
			token = "." + token
		}
		if field.WriteString(token); field.Len() > maxLogged {
			break
		}
	}
	return field.String()
}

// position returns line and column of an offset, from 1, columns in characters.
func position(text string, offset int) string {
	line, column := jsonpos.Position(text, offset)
	return fmt.Sprintf("line %d, column %d", line, column)
}
