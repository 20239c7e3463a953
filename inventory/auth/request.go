package auth

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

const (
	// cookieName is the default name of the cookie with the token (REFERENCE.md, 3.1).
	cookieName = "Bearer"
	// cookieLifetime is the lifetime of the cookie, independent of that of the token.
	cookieLifetime = 24 * time.Hour
)

// Cookie is the cookie with the token. The zero value has the defaults.
type Cookie struct {
	Name string // default: cookieName
	Path string // for which browsers send it, such as "/inventory/". Default: "/"
}

// Set adds the cookie with a token to the response: HttpOnly, Secure, SameSite=Strict, for
// cookieLifetime. Call it before the header is written.
func (c Cookie) Set(w http.ResponseWriter, token string) {
	http.SetCookie(w, c.cookie(token, int(cookieLifetime/time.Second)))
}

// Clear deletes the cookie in the browser. Its attributes must be those of Set.
func (c Cookie) Clear(w http.ResponseWriter) {
	old := c.cookie("", -1)       // #nosec G124 -- cookie sets the attributes
	old.Expires = time.Unix(0, 0) // for clients without Max-Age
	http.SetCookie(w, old)
}

func (c Cookie) name() string { return cmp.Or(c.Name, cookieName) }

func (c Cookie) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: c.name(), Value: value, Path: cmp.Or(c.Path, "/"), MaxAge: maxAge,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// FromRequest returns the token of a request: that of the header Authorization with the scheme
// Bearer, in any case, or else that of the cookie. It does not verify the token.
//
// The error has the kind TokenMissing without a token, with a message that says what is wrong with the
// header if there is one, and TokenMalformed for more than one
// Authorization header, because proxies differ in which one they use.
func (c Cookie) FromRequest(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) > 1 {
		return "", Unauthorized(TokenMalformed, "more than one Authorization header")
	}
	if len(values) == 1 {
		if token := bearer(values[0]); token != "" {
			return token, nil
		}
	}
	if sent, err := r.Cookie(c.name()); err == nil && sent.Value != "" {
		return sent.Value, nil
	}
	return "", missing(values)
}

// missing returns the error for Authorization headers without a bearer token. It shows nothing of them:
// what looks like a scheme may be a part of a secret.
func missing(values []string) *Error {
	err := Unauthorized(TokenMissing, "")
	if len(values) == 0 || values[0] == "" {
		return err
	}
	wrong := "has another scheme than Bearer"
	switch scheme, _, found := strings.Cut(values[0], " "); {
	case strings.EqualFold(scheme, "Bearer"):
		wrong = "has no token"
	case !found:
		wrong = "has no scheme"
	}
	err.Message += ": the Authorization header " + wrong + ", write Authorization: Bearer <token>"
	return err
}

// HeaderToken returns the token of the header Authorization with the scheme Bearer or Token, in any case. It is
// empty without one, and if there is more than one such header.
func HeaderToken(r *http.Request) string {
	if values := r.Header["Authorization"]; len(values) == 1 {
		return bearer(values[0])
	}
	return ""
}

// bearer returns what follows the scheme Bearer, or Token as clients of NetBox have it, or "". The scheme is
// case-insensitive and several spaces may follow (RFC 9110, sections 11.1 and 11.6.2).
func bearer(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.Trim(token, " ")
}
