package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/errcode"
)

// TestCodes checks the code of each status.
func TestCodes(t *testing.T) {
	statuses := errcode.Statuses()
	statuses[418], statuses[502] = "invalid", "internal"
	for status, want := range statuses {
		if body := errorOf(t, serve(failing(httpx.Errorf(status, "no")), request("GET", "/", "")), status); body.Code != want {
			t.Errorf("the code of %d is %q, want %q", status, body.Code, want)
		}
	}
	named := &httpx.Error{Status: 409, Code: "in_use", Message: "no"}
	if body := errorOf(t, serve(failing(named), request("GET", "/", "")), 409); body.Code != "in_use" {
		t.Errorf("the code is %q, want that of the error", body.Code)
	}
}

func TestWriteError(t *testing.T) {
	t.Parallel()
	fields := []httpx.FieldError{{Field: "author.lastname", Reason: "must not be empty"}}
	for _, tc := range []struct {
		why    string
		err    error
		status int
		body   string
	}{
		{
			"an Error is shown", &httpx.Error{Status: 409, Message: "taken", Err: errors.New("secret")},
			409, `{"status":"error","code":"conflict","message":"taken"}`,
		},
		{
			"one that is wrapped as well", fmt.Errorf("secret: %w", httpx.Errorf(404, "Book %s not found", "x")),
			404, `{"status":"error","code":"not_found","message":"Book x not found"}`,
		},
		{
			"fields are listed", &httpx.Error{Status: 400, Message: "no", Fields: fields},
			400, `{"status":"error","code":"invalid","message":"no","errors":[{"field":"author.lastname","code":"invalid","reason":"must not be empty"}]}`,
		},
		{
			"nothing else is shown", errors.New("secret of the database"),
			500, `{"status":"error","code":"internal","message":"Internal Server Error"}`,
		},
		{
			"a body over its limit", fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 7}),
			413, `{"status":"error","code":"too_large","message":"Request body too large: send at most 7 bytes"}`,
		},
		{
			"a client that has gone", fmt.Errorf("query: %w", context.Canceled),
			499, `{"status":"error","code":"invalid","message":"Client Closed Request"}`,
		},
		{
			"text is not escaped for HTML", httpx.Errorf(400, "AT&T <b>"),
			400, `{"status":"error","code":"invalid","message":"AT&T <b>"}`,
		},
	} {
		w := serve(failing(tc.err), request("GET", "/", ""))
		errorOf(t, w, tc.status)
		if got := strings.TrimSuffix(w.Body.String(), "\n"); got != tc.body {
			t.Errorf("%s: %s, want %s", tc.why, got, tc.body)
		}
		want(t, w.Header(), "Cache-Control", "no-store")
	}
}

func TestWriteErrorHeaders(t *testing.T) {
	t.Parallel()
	h := httpx.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		httpx.SetTag(w, `"1"`)
		w.Header().Set("Location", "/x")
		return &httpx.Error{Status: 503, Message: "later", Header: http.Header{"Retry-After": {"7"}}}
	})
	w := serve(h, request("GET", "/", ""))
	want(t, w.Header(), "Retry-After", "7")
	want(t, w.Header(), "Etag", "")
	want(t, w.Header(), "Location", "")
	want(t, w.Header(), "Vary", "Accept")
}

func TestProblem(t *testing.T) {
	t.Parallel()
	h := httpx.RequestID(nil)(failing(&httpx.Error{
		Status: 400, Message: "no", Fields: []httpx.FieldError{{Field: "isbn", Reason: "is wrong"}},
	}))
	const problem = `{"type":"about:blank","title":"Bad Request","status":400,"detail":"no","code":"invalid",` +
		`"request_id":"id-1","errors":[{"field":"isbn","code":"invalid","reason":"is wrong"}]}`
	for accept, asks := range map[string]bool{
		"":         false,
		"*/*":      false,
		"text/*":   false,
		"nonsense": false,
		"application/json, application/problem+json;q=0.5": false,
		"application/problem+json;q=0":                     false,
		"application/problem+json":                         true,
		"text/html, Application/Problem+JSON; q=0.2":       true,
		"application/json, application/problem+json":       true,
		"application/problem+json;q=oops":                  true,
	} {
		r := request("GET", "/", "", "X-Request-ID", "id-1")
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		w := serve(h, r)
		if got := w.Header().Get("Content-Type") == "application/problem+json"; got != asks {
			t.Errorf("Accept: %s gives %s", accept, w.Header().Get("Content-Type"))
		}
		if asks && strings.TrimSpace(w.Body.String()) != problem {
			t.Errorf("problem is %s, want %s", w.Body, problem)
		}
	}
}

func TestProblemOfUnknownStatus(t *testing.T) {
	t.Parallel()
	w := serve(failing(context.Canceled), request("GET", "/", "", "Accept", "application/problem+json"))
	if !strings.Contains(w.Body.String(), `"title":"Status 499"`) {
		t.Errorf("%s, want a title for a status without a name", w.Body)
	}
}

func TestWriteJSONFails(t *testing.T) {
	t.Parallel()
	h := httpx.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		return httpx.WriteJSON(w, 200, make(chan int))
	})
	errorOf(t, serve(h, request("GET", "/", "")), 500)
}

func TestErrorf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := httpx.Errorf(400, "shown: %w", cause)
	if !errors.Is(err, cause) || err.Message != "shown: cause" || httpx.Errorf(400, "x").Error() != "x" {
		t.Errorf("Errorf made %#v", err)
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	h := httpx.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		return httpx.WriteJSON(w, 200, httpx.Confirm("Book deleted"))
	})
	w := serve(h, request("GET", "/", ""))
	if got := w.Body.String(); got != `{"status":"success","message":"Book deleted"}`+"\n" {
		t.Errorf("confirmation is %s", got)
	}
}
