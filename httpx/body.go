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
	"unicode/utf8"
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

// checkType rejects content types and encodings other than plain JSON.
func checkType(h http.Header) error {
	content := h.Get("Content-Type")
	kind, parameters, err := mime.ParseMediaType(content)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		if content == "" {
			content = "missing"
		}
		return Errorf(http.StatusUnsupportedMediaType, "Content-Type is %s: send application/json", printable(content))
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return Errorf(http.StatusUnsupportedMediaType, "charset is %s: send UTF-8", printable(charset))
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return Errorf(http.StatusUnsupportedMediaType, "Content-Encoding is %s: send the body without encoding", printable(encoding))
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

// wellFormed checks that data is one JSON document in UTF-8.
func wellFormed(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return badBody("is empty: send a JSON document")
	}
	if i := invalidUTF8(data); i >= 0 {
		return badBody(fmt.Sprintf("is not UTF-8 at %s", position(data, i)))
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
		return badBody("has trailing data after the JSON document, at " + position(data, int(syntax.Offset)-1))
	case strings.HasPrefix(syntax.Error(), "unexpected end"):
		return badBody("is an incomplete JSON document: it ends at " + position(data, len(data)))
	}
	return badBody(fmt.Sprintf("is not JSON at %s: %v", position(data, int(syntax.Offset)-1), syntax))
}

func badBody(reason string) *Error {
	return &Error{
		Status:  http.StatusBadRequest,
		Message: "The request body " + reason,
		Fields:  []FieldError{{Field: "body", Reason: reason}},
	}
}

// position returns line and column of an offset, from 1, columns in characters.
func position(data []byte, offset int) string {
	before := data[:min(max(offset, 0), len(data))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	start := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d", line, 1+utf8.RuneCount(before[start:]))
}

// invalidUTF8 returns the offset of the first invalid byte, or -1.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
