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
)

// BodyOptions are the choices of [NewBody]. Nil means the defaults.
type BodyOptions struct {
	MaxBytes int64 // default, when 0: DefaultBodyLimit
	MaxDepth int   // of objects and arrays within each other; default, when 0: 32
}

// Body reads the JSON bodies of requests into values of one type. Make it once, as it
// keeps what it knows about the type.
type Body[T any] struct {
	maxBytes int64
	maxDepth int
	shape    *shape
}

// NewBody makes a Body. It panics if JSON can't be decoded into a T: one with a channel
// or a function in it. opts may be nil.
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
//	400  it is no JSON, or a field is unknown, there twice, or of a wrong type, or
//	     nested too deep; the message names the field, the line and the column, and
//	     Fields has all that was found, up to 20
//
// Names of fields are compared as they are: "Title" is not "title". null is taken
// where T has a pointer, a map, a slice or an interface.
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

// Decode is Read for data from elsewhere.
func (b *Body[T]) Decode(data []byte) (T, error) {
	var v T
	return v, b.decode(data, &v)
}

// ReadJSON is [Body.Read] with a Body made for one use.
func ReadJSON[T any](r *http.Request) (T, error) { return NewBody[T](nil).Read(r) }

func (b *Body[T]) decode(data []byte, v *T) error {
	if err := wellFormed(data); err != nil {
		return err
	}
	if err := b.shape.check(data, b.maxDepth); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &Error{
			Status: http.StatusBadRequest, Message: "Invalid JSON: " + strings.TrimPrefix(err.Error(), "json: "), Err: err,
		}
	}
	return nil
}

// checkType refuses what is not plain JSON.
func checkType(h http.Header) error {
	content := h.Get("Content-Type")
	kind, parameters, err := mime.ParseMediaType(content)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		if content == "" {
			content = "missing"
		}
		return Errorf(http.StatusUnsupportedMediaType, "Content-Type is %s: send application/json", show(content))
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return Errorf(http.StatusUnsupportedMediaType, "charset is %s: send UTF-8", show(charset))
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return Errorf(http.StatusUnsupportedMediaType, "Content-Encoding is %s: send the body as it is", show(encoding))
	}
	return nil
}

// readAll reads a body of a bounded size.
func readAll(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(r.Body, max(limit+1, limit))) // beyond the largest limit there is no more
	switch {
	case err != nil:
		return nil, unreadable(err)
	case n > limit:
		return nil, tooLarge(limit)
	}
	return body.Bytes(), nil
}

// unreadable is the answer where a body ends before it should.
func unreadable(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return asError(err)
	}
	return &Error{Status: http.StatusBadRequest, Message: "The request body could not be read", Err: err}
}

// wellFormed checks that data is one JSON document in UTF-8.
func wellFormed(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return badBody("is empty: send a JSON document")
	}
	if i := invalidUTF8(data); i >= 0 {
		return badBody(fmt.Sprintf("is not UTF-8 at %s", placeOf(data, i)))
	}
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return badBody(err.Error())
	case strings.Contains(syntax.Error(), "after top-level value"):
		return badBody("has more behind the JSON document, at " + placeOf(data, int(syntax.Offset)-1))
	case strings.HasPrefix(syntax.Error(), "unexpected end"):
		return badBody("is no complete JSON document: it ends at " + placeOf(data, len(data)))
	}
	return badBody(fmt.Sprintf("is no JSON at %s: %v", placeOf(data, int(syntax.Offset)-1), syntax))
}

func badBody(reason string) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Message: "The request body " + reason,
		Fields:  []FieldError{{Field: "body", Reason: reason}},
	}
}
