package httpx_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

const token = "0123456789abcdef"

// TestTokenGuard: ten failures of an address are the most in a minute, whatever else is wrong. The right token and other
// addresses are not affected.
func TestTokenGuard(t *testing.T) {
	t.Parallel()
	now := time.Unix(6000, 0)
	g, err := httpx.NewTokenGuard(token, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	check := func(address string, private bool, sent string, want error) {
		t.Helper()
		if err := g.Check(address, private, sent); !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", address, err, want)
		}
	}
	check("a", true, token, nil)
	check("a", false, token, httpx.ErrTokenExposed)
	for range 9 {
		check("a", true, token+"x", httpx.ErrTokenWrong)
	}
	check("a", true, token+"x", httpx.ErrTokenFailures)
	check("a", false, token, httpx.ErrTokenFailures)
	check("a", true, token, nil)
	check("b", true, token+"x", httpx.ErrTokenWrong)
	now = now.Add(time.Minute)
	check("a", true, token+"x", httpx.ErrTokenWrong)
	for i := range 20_000 { // memory is bounded
		check(fmt.Sprint("c", i), true, "", httpx.ErrTokenWrong)
	}
	if _, err := httpx.NewTokenGuard(token[1:], nil); err == nil {
		t.Fatal("a short token was accepted")
	}
}

func TestTokenGuardOfRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   string
		tls    bool
		header string // that a proxy has added
		token  string
		status int
	}{
		{"127.0.0.1:1", false, "", token, 0},
		{"[::1]:1", false, "", token, 0},
		{"127.0.0.1:1", false, "X-Forwarded-Proto", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "X-Forwarded-For", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "Forwarded", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "Via", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "X-Real-Ip", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "True-Client-Ip", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "X-Envoy-External-Address", token, http.StatusForbidden},
		{"127.0.0.1:1", false, "X-Request-Id", token, 0},
		{"192.0.2.1:1", false, "", token, http.StatusForbidden},
		{"192.0.2.1:1", true, "", token, 0},
		{"192.0.2.1:1", true, "", "", http.StatusForbidden},
		{"192.0.2.1:1", true, "X-Forwarded-Proto", token, http.StatusForbidden},
		{"192.0.2.1:1", true, "X-Original-Forwarded-For", token, http.StatusForbidden},
		{"127.0.0.1:1", true, "Forwarded", token, http.StatusForbidden},
		{"@", true, "", token, http.StatusForbidden},
	} {
		g, err := httpx.NewTokenGuard(token, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if r.RemoteAddr = c.from; c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if c.header != "" {
			r.Header.Set(c.header, "https")
		}
		status := 0
		if e, ok := errors.AsType[*httpx.Error](g.CheckRequest(r, c.token)); ok {
			status = e.Status
		}
		if status != c.status {
			t.Errorf("%+v: %d", c, status)
		}
	}
}

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"Bearer a": "a", "bearer a b": "a b", "Basic a": "", "Bearer": "", "": ""} {
		if got := httpx.BearerToken(header); got != want {
			t.Errorf("%q: %q", header, got)
		}
	}
}

// TestOneTimeCodes: a code is valid once and for ten minutes, and their number is limited.
func TestOneTimeCodes(t *testing.T) {
	t.Parallel()
	var c httpx.OneTimeCodes
	now := time.Now()
	use := func(code, value string, at time.Time, want bool) {
		t.Helper()
		if got, ok := c.Use(code, at); ok != want || ok && got != value {
			t.Fatalf("%q, %v", got, ok)
		}
	}
	code := c.Issue("x", now)
	use("", "", now, false)
	use(code, "x", now, true)
	use(code, "x", now, false)
	use(c.Issue("x", now), "x", now.Add(10*time.Minute), false)
	first := c.Issue("first", now)
	for range 31 {
		c.Issue("", now)
	}
	last := c.Issue("last", now)
	use(first, "first", now, false)
	use(last, "last", now, true)
}
