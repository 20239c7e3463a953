package httpxtest_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

type book struct {
	Title string `json:"title"`
}

var echo = httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
	b, err := httpx.ReadJSON[book](r)
	if err != nil {
		return err
	}
	w.Header().Set("X-Seen", r.Header.Get("X-Sent"))
	return httpx.WriteJSON(w, 201, b)
})

func TestClient(t *testing.T) {
	t.Parallel()
	client := httpxtest.New(t, echo)
	client.Header.Set("X-Sent", "a")
	var got book
	client.Send("POST", "/", book{"Emma"}).Want(201).WantHeader("X-Seen", "a").JSON(&got)
	if got.Title != "Emma" {
		t.Errorf("got %+v", got)
	}
	client.Send("POST", "/", `{"title":"Emma"}`, "X-Sent", "b").Want(201).WantHeader("X-Seen", "b")
	client.Send("POST", "/", `{`, "X-Sent", "").WantError(400, "not JSON at")
	client.Send("POST", "/", nil).WantError(415, "Content-Type is missing")
}

// failures is a testing.TB that records failures.
type failures struct {
	testing.TB
	text []string
}

var errEnd = errors.New("the test has ended")

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, a ...any) {
	f.text = append(f.text, fmt.Sprintf(format, a...))
}
func (f *failures) Fatalf(format string, a ...any) { f.Errorf(format, a...); panic(errEnd) }

// TestClientFails checks that each method can fail.
func TestClientFails(t *testing.T) {
	t.Parallel()
	for why, demand := range map[string]func(*httpxtest.Client){
		"POST /x: 201":   func(c *httpxtest.Client) { c.Send("POST", "/x", `{"title":"a"}`).Want(200) },
		"X-Seen is \"\"": func(c *httpxtest.Client) { c.Send("POST", "/x", `{"title":"a"}`).WantHeader("X-Seen", "y") },
		"unknown field":  func(c *httpxtest.Client) { c.Send("POST", "/x", `{"title":"a"}`).JSON(&struct{}{}) },
		"want an error":  func(c *httpxtest.Client) { c.Send("POST", "/x", `{`).WantError(400, "something else") },
		"the body of a":  func(c *httpxtest.Client) { c.Send("POST", "/x", make(chan int)) },
		"want 400":       func(c *httpxtest.Client) { c.Send("POST", "/x", `{"title":"a"}`).WantError(400, "") },
	} {
		f := &failures{TB: t}
		func() {
			defer func() {
				if v := recover(); v != nil && v != errEnd {
					panic(v)
				}
			}()
			demand(httpxtest.New(f, echo))
		}()
		if got := strings.Join(f.text, "\n"); !strings.Contains(got, why) {
			t.Errorf("failed with %q, want %q", got, why)
		}
	}
}
