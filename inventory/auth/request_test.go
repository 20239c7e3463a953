package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestSetCookie(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	auth.Cookie{}.Set(w, "a.b-c_d.e")
	assert.Equal(t, []string{"Bearer=a.b-c_d.e; Path=/; Max-Age=86400; HttpOnly; Secure; SameSite=Strict"}, w.Header()["Set-Cookie"])
}

func TestClearCookie(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	auth.Cookie{}.Clear(w)
	assert.Equal(t, []string{"Bearer=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; HttpOnly; Secure; SameSite=Strict"},
		w.Header()["Set-Cookie"])
}

func TestFromRequest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		headers []string
		cookie  string
		want    string
		kind    auth.Kind
	}{
		{[]string{"Bearer a.b.c"}, "", "a.b.c", 0},
		{[]string{"bearer a.b.c"}, "", "a.b.c", 0},
		{[]string{"BEARER   a.b.c"}, "", "a.b.c", 0},
		{[]string{"Bearer a.b.c"}, "Bearer=d.e.f", "a.b.c", 0}, // the header wins
		{[]string{"Bearer a b"}, "", "a b", 0},                 // and is refused by Verify
		{nil, "Bearer=d.e.f", "d.e.f", 0},
		{nil, "other=1; Bearer=d.e.f; more=2", "d.e.f", 0},
		{[]string{"Basic Z3JhY2U6eA=="}, "Bearer=d.e.f", "d.e.f", 0},
		{[]string{"Bearer"}, "Bearer=d.e.f", "d.e.f", 0},
		{[]string{"Bearer "}, "Bearer=d.e.f", "d.e.f", 0},
		{[]string{""}, "Bearer=d.e.f", "d.e.f", 0},

		{nil, "", "", auth.TokenMissing},
		{nil, "Bearer=", "", auth.TokenMissing},
		{nil, "bearer=d.e.f", "", auth.TokenMissing}, // names of cookies have a case
		{[]string{"Bearer"}, "", "", auth.TokenMissing},
		{[]string{"Bearer\ta.b.c"}, "", "", auth.TokenMissing},
		{[]string{"Bearera.b.c"}, "", "", auth.TokenMissing},
		{[]string{"a.b.c"}, "", "", auth.TokenMissing},
		{[]string{" Bearer a.b.c"}, "", "", auth.TokenMissing},
		{[]string{"Basic Z3JhY2U6eA=="}, "", "", auth.TokenMissing},
		{[]string{"Bearer a.b.c", "Bearer d.e.f"}, "Bearer=x", "", auth.TokenMalformed},
	} {
		r := httptest.NewRequest("GET", "/devices", http.NoBody)
		r.Header["Authorization"] = row.headers
		if row.cookie != "" {
			r.Header.Set("Cookie", row.cookie)
		}
		got, err := auth.Cookie{}.FromRequest(r)
		assert.Equal(t, row.want, got, "%q, %q", row.headers, row.cookie)
		assert.Equal(t, row.kind, auth.KindOf(err), "%q, %q: %v", row.headers, row.cookie, err)
	}
}

// TestOwnCookie: a program can choose name and path, so that two services on one host do not share a cookie.
func TestOwnCookie(t *testing.T) {
	t.Parallel()
	own := auth.Cookie{Name: "inventory", Path: "/inventory/"}
	w := httptest.NewRecorder()
	own.Set(w, "x")
	own.Clear(w)
	assert.Equal(t, []string{
		"inventory=x; Path=/inventory/; Max-Age=86400; HttpOnly; Secure; SameSite=Strict",
		"inventory=; Path=/inventory/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; HttpOnly; Secure; SameSite=Strict",
	}, w.Header()["Set-Cookie"])
	r := httptest.NewRequest("GET", "/", http.NoBody)
	r.Header.Set("Cookie", "Bearer=a; inventory=b")
	token, err := own.FromRequest(r)
	assert.NoError(t, err)
	assert.Equal(t, "b", token)
}

func TestNoTokenMessage(t *testing.T) {
	t.Parallel()
	_, err := auth.Cookie{}.FromRequest(httptest.NewRequest("GET", "/devices", http.NoBody))
	assert.EqualError(t, err, "Unauthorized: No security token provided")
}

// TestHeaderAdvice: the message says what is wrong with a header without a bearer token, and nothing of
// what it contains.
func TestHeaderAdvice(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"eyJ.secret.x":   "has no scheme",
		"BearereyJ.x":    "has no scheme",
		"Digest secret":  "has another scheme than Bearer",
		"Token":          "has no scheme",
		"Basic c2VjcmV0": "has another scheme than Bearer",
		"bearer ":        "has no token",
	} {
		r := httptest.NewRequest("GET", "/devices", http.NoBody)
		r.Header["Authorization"] = []string{header}
		_, err := auth.Cookie{}.FromRequest(r)
		assert.EqualError(t, err, "Unauthorized: No security token provided: the Authorization header "+want+", write Authorization: Bearer <token>")
	}
}

func FuzzFromRequest(f *testing.F) {
	f.Add("Bearer a.b.c", "Bearer=d.e.f")
	f.Add("bearer", "Bearer=\"x\"")
	f.Fuzz(func(t *testing.T, header, cookie string) {
		r := httptest.NewRequest("GET", "/", http.NoBody)
		r.Header["Authorization"] = []string{header}
		r.Header["Cookie"] = []string{cookie}
		token, err := auth.Cookie{}.FromRequest(r)
		if err != nil {
			requireKind(t, auth.TokenMissing, err)
			return
		}
		require.NotEmpty(t, token)
	})
}
