package httpx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// BodyOptions configures [NewBody]. Nil means the defaults.
type BodyOptions struct {
	MaxBytes  int64 // default: DefaultBodyLimit
	MaxDepth  int   // of nested objects and arrays; default: 32
	MaxValues int   // of the document, those inside of others included; default: 50,000
}

// Validator is implemented by types of bodies with rules of their own. [Body] calls Validate of the
// decoded value, not of values in it, and responds with 400 if it returns invalid fields.
type Validator interface{ Validate() []FieldError }

// Body decodes JSON request bodies into values of one type. Create it once: it caches what it
// derives from the type.
type Body[T any] struct {
	maxBytes int64
	limits   jsonpos.Limits
	shape    *shape
}

// NewBody returns a Body. It panics if JSON cannot be decoded into a T, for instance because it
// contains a channel. opts may be nil.
func NewBody[T any](opts *BodyOptions) *Body[T] {
	o := *cmp.Or(opts, &BodyOptions{})
	return &Body[T]{
		maxBytes: cmp.Or(max(0, o.MaxBytes), DefaultBodyLimit),
		limits:   jsonpos.Limits{Depth: cmp.Or(max(0, o.MaxDepth), 32), Values: cmp.Or(max(0, o.MaxValues), 50_000)},
		shape:    shapes{}.of(reflect.TypeFor[T]()),
	}
}

// Read decodes the body of a request. The error is an [*Error]:
//
//	415  the content type is not application/json, or the body is encoded
//	413  the body is larger than MaxBytes
//	408  the body did not arrive in time
//	503  the Budget of the chain is used up
//	400  the body is not JSON or has an unpaired surrogate; or a field is unknown, a duplicate,
//	     of a wrong type or nested too deeply; the message names field, line and column, and
//	     Fields has the first 20; or the Validate method of *T returns invalid fields ([Validator])
//
// Field names are case-sensitive. null is accepted where T has a pointer, a map, a slice or an
// interface.
func (b *Body[T]) Read(r *http.Request) (T, error) {
	var v T
	if err := checkType(r.Header); err != nil {
		return v, err
	}
	data, err := ReadBody(r, b.maxBytes)
	if err != nil {
		return v, err
	}
	reserved, cost := reservationOf(r.Context()), b.decodeCost(data)
	if err := reserved.add(cost); err != nil {
		return v, err
	}
	err = b.decode(data, &v)
	reserved.drop(cost / 2) // the tree is garbage now, the value is in use
	return v, err
}

// Decode decodes data that is not a request body, with the same errors.
func (b *Body[T]) Decode(data []byte) (T, error) {
	var v T
	return v, b.decode(data, &v)
}

// ReadJSON calls [Body.Read] of a new Body.
func ReadJSON[T any](r *http.Request) (T, error) { return NewBody[T](nil).Read(r) }

func (b *Body[T]) decode(data []byte, v *T) error {
	doc := jsonpos.Parse(data, &b.limits)
	if err := wellFormed(doc, &b.limits); err != nil {
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
	if own, ok := any(v).(Validator); ok {
		if invalid := own.Validate(); len(invalid) > 0 {
			return invalidFields(invalid)
		}
	}
	return nil
}

// checkType rejects content types and encodings other than plain JSON.
func checkType(h http.Header) error {
	content := h.Get("Content-Type")
	kind, parameters, err := mime.ParseMediaType(content)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		content = cmp.Or(content, "missing")
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

// ReadBody reads the body of a request, of at most limit bytes; 0 means [DefaultBodyLimit]. The
// bytes are counted against the [Budget] of the chain as they arrive. The error is an [*Error]:
// 413 for a larger body, 408 for one that did not arrive in time, 503 when the budget is used up,
// and 400 for one that could not be read.
//
// r.Body is then an unread copy, so that other handlers can read the body again; ReadBody does so
// without further memory. The caller must not modify the bytes.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	limit = cmp.Or(limit, DefaultBodyLimit)
	if known, ok := r.Body.(*bufferedBody); ok && known.Size() == int64(known.Len()) {
		if known.Size() > limit {
			return nil, tooLarge(limit)
		}
		return known.data, nil
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	reserved := reservationOf(r.Context())
	data, err := fill(r.Body, limit, r.ContentLength, reserved)
	if err != nil {
		return nil, bodyError(r, reserved, err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	r.Body = &bufferedBody{bytes.NewReader(data), data}
	return data, nil
}

// bufferedBody is a body that was read.
type bufferedBody struct {
	*bytes.Reader
	data []byte
}

// Close implements io.Closer.
func (*bufferedBody) Close() error { return nil }

// firstBuffer is the size of a buffer for a body of which nothing has arrived.
const firstBuffer = 4 << 10

// fill reads up to limit bytes, and one more if there are more. It allocates memory as bytes arrive,
// whatever length the client has declared: up to 64 KiB in one piece, then in chunks that are used
// again.
func fill(body io.Reader, limit, declared int64, reserved *reservation) ([]byte, error) {
	defer reserved.wait(false)()
	most := max(limit+1, limit) // guards against overflow
	var data []byte
	for _, size := range [...]int64{firstBuffer, chunkSize} {
		if size = min(size, most); declared >= int64(len(data)) && declared < size {
			size = declared + 1 // with room to see the end
		}
		if err := reserved.add(size); err != nil {
			return nil, err
		}
		old := cap(data)
		data = append(make([]byte, 0, size), data...)
		reserved.drop(int64(old))
		n, err := readFull(body, data[len(data):size])
		if data = data[:len(data)+n]; err != nil || int64(len(data)) == most {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return data, err
		}
	}
	var chunks [][]byte
	defer func() { reserved.recycle(chunks) }()
	total := int64(len(data))
	var n int
	for err := error(nil); err == nil && total < most; total += int64(n) {
		if err := reserved.add(chunkSize); err != nil {
			return nil, err
		}
		chunk := reserved.chunk()
		chunks = append(chunks, chunk)
		n, err = readFull(body, chunk[:min(chunkSize, most-total)])
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if err := reserved.add(total); err != nil {
		return nil, err
	}
	whole := append(make([]byte, 0, total), data...)
	for _, chunk := range chunks {
		whole = append(whole, chunk[:min(chunkSize, total-int64(len(whole)))]...)
	}
	reserved.drop(int64(cap(data)) + int64(len(chunks))*chunkSize)
	return whole, nil
}

// readFull reads until p is full or there is an error, which is io.EOF at the end.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// bodyError returns the response for a body that could not be read.
func bodyError(r *http.Request, reserved *reservation, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return asError(err)
	}
	if reserved.lost() {
		return unavailable()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{
			Status: http.StatusRequestTimeout, Message: "The request body did not arrive in time", Err: err,
			Header: http.Header{"Connection": {"close"}},
		}
	}
	return &Error{Status: http.StatusBadRequest, Message: "The request body could not be read", Err: err}
}

// decodeCost estimates the memory to decode a document of JSON: the text twice, and for each value
// a node of the tree and the value itself.
func (b *Body[T]) decodeCost(data []byte) int64 {
	values := 1
	for _, separator := range []byte("[{,") {
		values += bytes.Count(data, []byte{separator}) // also in strings
	}
	return int64(2*len(data)) + int64(min(values, b.limits.Values))*valueCost
}

// valueCost is the memory in bytes that a value of a document takes while it is decoded, at most;
// half of it is the value itself (TestDecodeCost).
const valueCost = 384

// wellFormed reports the first syntax error of a document. Problems that encoding/json accepts are
// left to the check of the shape.
func wellFormed(doc *jsonpos.Document, limits *jsonpos.Limits) error {
	if strings.TrimSpace(doc.Text) == "" {
		return badBody("is empty: send a JSON document")
	}
	for _, p := range doc.Problems {
		at := position(doc.Text, p.Offset)
		switch p.Code {
		case jsonpos.DuplicateKey:
		case jsonpos.Surrogate:
			return invalidBody(FieldError{fieldOf(p.Pointer), "invalid_json", p.Message + "; " + p.Suggestion + " (" + at + ")"})
		case jsonpos.TooDeep:
			return invalidBody(FieldError{fieldOf(p.Pointer), "invalid_json", fmt.Sprintf("nested too deeply: use at most %d levels (%s)", limits.Depth, at)})
		case jsonpos.TooMany:
			return badBody(fmt.Sprintf("has too many values: send at most %d", limits.Values))
		case jsonpos.Encoding:
			return badBody("is not UTF-8 at " + at)
		case jsonpos.TrailingData:
			return badBody("has trailing data after the JSON document, at " + at)
		default:
			reason := "is not JSON at " + at + ": " + p.Message
			if p.Suggestion != "" {
				reason += "; " + p.Suggestion
			}
			return badBody(reason)
		}
	}
	return nil
}

func badBody(reason string) *Error {
	e := invalidField("body", "invalid_json", reason)
	e.Message = "The request body " + reason
	return e
}

func invalidBody(fields ...FieldError) *Error {
	e := invalidFields(fields)
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
