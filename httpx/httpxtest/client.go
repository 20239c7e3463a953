package httpxtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// Client sends requests to a handler.
type Client struct {
	t       testing.TB
	handler http.Handler
	// Header is sent with every request; Send can override it.
	Header http.Header
}

// New returns a client for a test.
func New(t testing.TB, h http.Handler) *Client {
	return &Client{t: t, handler: h, Header: http.Header{}}
}

// Send sends one request. A body that is a string is sent unchanged, nil means no body, and
// anything else is sent as JSON. The Content-Type of a body is JSON. headers are alternating
// names and values; an empty value removes the header.
func (c *Client) Send(method, target string, body any, headers ...string) *Response {
	c.t.Helper()
	r := httptest.NewRequest(method, target, c.reader(body))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range c.Header {
		r.Header[name] = values
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return &Response{ResponseRecorder: w, t: c.t, request: method + " " + target}
}

func (c *Client) reader(body any) io.Reader {
	c.t.Helper()
	switch body := body.(type) {
	case nil:
		return nil
	case string:
		return strings.NewReader(body)
	}
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatalf("the body of a request: %v", err)
	}
	return strings.NewReader(string(data))
}

// Response is a recorded response.
type Response struct {
	*httptest.ResponseRecorder
	t       testing.TB
	request string
}

// Want ends the test if the status differs.
func (a *Response) Want(status int) *Response {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("%s: %d %s, want %d", a.request, a.Code, a.Body, status)
	}
	return a
}

// WantHeader fails the test if the header differs; "" means that it must be absent.
func (a *Response) WantHeader(name, value string) *Response {
	a.t.Helper()
	if got := strings.Join(a.Header().Values(name), ", "); got != value {
		a.t.Errorf("%s: %s is %q, want %q", a.request, name, got, value)
	}
	return a
}

// JSON decodes the body into v. It ends the test if the body is not JSON or has an unknown field.
func (a *Response) JSON(v any) *Response {
	a.t.Helper()
	decoder := json.NewDecoder(strings.NewReader(a.Body.String()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		a.t.Fatalf("%s: body %q: %v", a.request, a.Body, err)
	}
	return a
}

// WantError ends the test unless the response is an error in the one form that errors have, with this
// status and each of the words, which spaces separate: codes, fields and words of the message.
func (a *Response) WantError(status int, words string) httpx.ErrorBody {
	a.t.Helper()
	var body httpx.ErrorBody
	a.Want(status).JSON(&body)
	uncoded := slices.ContainsFunc(body.Errors, func(f httpx.FieldError) bool { return f.Code == "" })
	if body.Status != "error" || body.Code == "" || uncoded || !errtest.Names(fmt.Sprint(body), words) {
		a.t.Errorf("%s: %s, want an error with the words %q", a.request, a.Body, words)
	}
	return body
}
