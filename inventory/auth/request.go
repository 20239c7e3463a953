package auth

import (
	"net/http"
	"strings"
	"time"
)

const (
	// CookieName is the cookie that a token is delivered in; specification,
	// Authentication 2.
	CookieName = "Bearer"
	// CookieLifetime is how long browsers keep it, whatever the token's own lifetime.
	CookieLifetime = 24 * time.Hour
)

// SetCookie adds the cookie with token to the answer: for all paths, HttpOnly, Secure,
// SameSite=Strict, for CookieLifetime. Call it before the header is written.
func SetCookie(w http.ResponseWriter, token string) {
	http.SetCookie(w, cookie(token, int(CookieLifetime/time.Second)))
}

// ClearCookie tells the browser to drop the cookie. Its attributes are those of
// SetCookie, or browsers would keep the old one.
func ClearCookie(w http.ResponseWriter) {
	c := cookie("", -1)
	c.Expires = time.Unix(0, 0) // for clients that don't know Max-Age
	http.SetCookie(w, c)
}

func cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: CookieName, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// FromRequest returns the token that r carries: that of the header Authorization if
// it has the scheme Bearer, in any case, and else that of the cookie. It looks at
// nothing of the token itself.
//
// The error has the kind TokenMissing if r carries none, and TokenMalformed if it
// carries the header more than once: proxies differ in which one they believe.
func FromRequest(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) > 1 {
		return "", badToken(TokenMalformed, "more than one Authorization header")
	}
	if len(values) == 1 {
		if token := bearer(values[0]); token != "" {
			return token, nil
		}
	}
	if c, err := r.Cookie(CookieName); err == nil && c.Value != "" {
		return c.Value, nil
	}
	return "", &Error{Kind: TokenMissing, Message: messageNoToken}
}

// bearer is what follows the scheme Bearer, "" if value is something else. RFC 9110,
// 11.1 lets the scheme be in any case and 11.6.2 lets several blanks follow.
func bearer(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}
