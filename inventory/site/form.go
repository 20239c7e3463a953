package site

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// The bounds of a form.
const (
	maxFields = 11_000   // a page may offer 10,000 choices
	maxField  = 4 << 10  // bytes of a field
	maxKept   = 2 << 20  // bytes of a file that travels with the form, compressed
	maxName   = 100      // characters of the name of a file
	maxSend   = 10 << 20 // bytes of all fields
)

// How long a form may take to arrive, and then a change of very many records to be made. The limits of the
// server are those of a usual request.
const (
	arrival = 5 * time.Minute
	work    = 15 * time.Minute
)

// Form holds the form of a request with a file.
type Form struct {
	url.Values
	Name string // of the file; empty if it was pasted
	Text []byte // of the file; nil for none
}

// ReadForm reads a form with a file of at most so many bytes: in the field file, pasted in the field text, or
// kept from the page before in the field kept. The first of these that is not empty counts.
func ReadForm(q *Request, most int64) (*Form, error) {
	control := http.NewResponseController(q.W)
	_ = control.SetReadDeadline(time.Now().Add(arrival)) // fails only where the writer has no connection
	parts, err := q.R.MultipartReader()
	if err != nil {
		return nil, httpx.Errorf(http.StatusBadRequest, "Invalid form: send it as multipart/form-data")
	}
	f := &Form{Values: url.Values{}}
	q.R.PostForm = f.Values
	var kept, pasted []byte
	sum := 0
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && n == maxFields {
			err = httpx.Errorf(http.StatusBadRequest, "Invalid form: it has more than %d fields", maxFields)
		}
		if err != nil {
			return nil, formError(err)
		}
		switch name := part.FormName(); name {
		case "file":
			if part.FileName() != "" { // else none was chosen
				f.Name = printable.Prefix(part.FileName(), maxName)
				f.Text, err = readPart(q, part, most)
			}
		case "text":
			pasted, err = readPart(q, part, most)
		case "kept":
			kept, err = readPart(q, part, maxKept)
		default:
			var value []byte
			value, err = readPart(q, part, maxField)
			if sum += len(name) + len(value); err == nil && sum > maxSend {
				err = httpx.Errorf(http.StatusBadRequest, "Invalid form: it is too large")
			}
			f.Add(name, string(value))
		}
		if err != nil {
			return nil, formError(err)
		}
	}
	deadline := time.Now().Add(work)
	_, _ = control.SetReadDeadline(deadline), control.SetWriteDeadline(deadline) // as above
	switch {
	case f.Text != nil:
	case len(bytes.TrimSpace(pasted)) > 0:
		f.Text = bytes.ReplaceAll(pasted, []byte("\r\n"), []byte("\n")) // browsers send each line break as CR LF
	case len(kept) > 0:
		f.Text, err = unpack(q, kept, most)
		f.Name = printable.Prefix(f.Get("name"), maxName)
	}
	return f, err
}

// readPart reads a field of at most so many bytes.
func readPart(q *Request, part io.Reader, most int64) ([]byte, error) {
	all := bytes.NewBuffer([]byte{}) // whose bytes are not nil
	for int64(all.Len()) <= most {
		n, err := io.CopyN(all, part, min(1<<20, most+1))
		if n > maxField {
			if err := httpx.ReserveBody(q.R.Context(), n); err != nil {
				return nil, err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(all.Len()) > most {
		return nil, httpx.Errorf(http.StatusRequestEntityTooLarge, "A file or a field of the form has more than %d bytes: send it in parts", most)
	}
	return all.Bytes(), nil
}

// formError returns the response to a form that cannot be read.
func formError(err error) error {
	_, own := errors.AsType[*httpx.Error](err)
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case own, large:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return httpx.Errorf(http.StatusRequestTimeout, "The form did not arrive in time")
	}
	return httpx.Errorf(http.StatusBadRequest, "Invalid form: it ends early, or is broken: send it again")
}

// Pack returns a file as the value of a field that ReadForm reads in the field kept: browsers change line breaks and bytes that
// are not UTF-8 in other fields. It is empty if the file is too large to travel with the form.
func Pack(text []byte) string {
	var b bytes.Buffer
	to := base64.NewEncoder(base64.RawURLEncoding, &b)
	z := gzip.NewWriter(to)
	_, _ = z.Write(text) // a buffer does not fail, here and below
	_ = z.Close()
	_ = to.Close()
	if b.Len() > maxKept {
		return ""
	}
	return b.String()
}

// unpack returns the file that Pack has packed, of at most so many bytes.
func unpack(q *Request, packed []byte, most int64) ([]byte, error) {
	broken := httpx.Errorf(http.StatusBadRequest, "Invalid form: the file in it is broken: choose the file again")
	z, err := gzip.NewReader(base64.NewDecoder(base64.RawURLEncoding, bytes.NewReader(packed)))
	if err != nil {
		return nil, broken
	}
	text, err := readPart(q, z, most)
	if _, own := errors.AsType[*httpx.Error](err); err != nil && !own {
		return nil, broken
	}
	return text, err
}

// Steps has what pages with several steps have in common. Nothing is kept between the steps: the file travels
// with the form.
type Steps struct {
	Step     string
	Fault    string // why the step failed
	Problems []string
	Pasted   string // the text of the form, after a fault
	Kept     string // the file, packed; empty if it must be chosen again
}

// Fail goes to a step with what the API says about the file. It reports whether that is a refusal.
func (s *Steps) Fail(step string, err error) (*Fault, bool) {
	fault, ok := Refused(err)
	if !ok {
		return nil, false
	}
	s.Step, s.Fault, s.Problems = step, fault.Message, nil
	for _, field := range fault.Fields {
		s.Problems = append(s.Problems, humanize(strings.TrimSuffix(field.Field, "_id"))+": "+field.Reason)
	}
	return fault, true
}
