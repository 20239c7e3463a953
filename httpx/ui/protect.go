package ui

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

// Requests that change something have the token of their page in one of these.
const (
	TokenField  = "_token"       // of a form; the first field of one with files
	tokenHeader = "X-Form-Token" // #nosec G101 -- the name of a header, of htmx and of uploads
)

// The cookies of pages. A browser sends them to the prefix of the kit only.
const (
	visitorCookie = "ashlar_form"
	themeCookie   = "ashlar_theme"
)

type visitorKey struct{}

// maxForm is the maximum size of a form without files, in bytes.
const maxForm = 1 << 20

// Protect is middleware for all pages of a kit. Requests with other methods than GET, HEAD and OPTIONS
// must come from the same origin and have the token that the kit put into the page; others are 403.
// Forms without files have at most 1 MiB. Of forms with files (multipart/form-data) Protect reads the first
// field only, which must be the token, and leaves the whole body to the handler. The token belongs to a
// cookie, which Protect sets.
func (k *Kit) Protect(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor := visitorOf(r)
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		if !safe {
			if err := origin.Check(r); err != nil {
				httpx.WriteError(w, r, httpx.Errorf(http.StatusForbidden, "Forbidden: the request comes from a page of another origin"))
				return
			}
			if err := checkToken(w, r, visitor); err != nil {
				httpx.WriteError(w, r, err)
				return
			}
		}
		if visitor == "" {
			visitor = rand.Text()
			http.SetCookie(w, k.cookie(r, visitorCookie, visitor))
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, visitor)))
	})
}

// Renew gives the browser another cookie, so that the tokens of earlier pages are invalid. Call it when somebody signs
// in, before the header is written: somebody else may have set the cookie, or have seen a page.
func (k *Kit) Renew(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, k.cookie(r, visitorCookie, rand.Text()))
}

// checkToken compares the token of a request with that of its cookie.
func checkToken(w http.ResponseWriter, r *http.Request, visitor string) error {
	sent := r.Header.Get(tokenHeader)
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // of no form, if it is invalid
	switch {
	case sent != "":
	case kind == "application/x-www-form-urlencoded":
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			return httpx.Errorf(http.StatusBadRequest, "Invalid form: it must be valid and have at most 1 MiB")
		}
		sent = r.PostForm.Get(TokenField)
	case kind == "multipart/form-data":
		var err error
		if sent, err = firstField(r, params["boundary"]); err != nil {
			return err
		}
	}
	if visitor == "" || !httpx.NewSecret(tokenOf(visitor)).Is(sent) {
		return httpx.Errorf(http.StatusForbidden, "Forbidden: the page is too old, or cookies are blocked: reload it and try again")
	}
	return nil
}

// maxFirst is the maximum number of bytes of a form with files that precede the end of its first field.
const maxFirst = 1 << 10

// firstField returns the token of a form with files if it is the first field, and else "". The body can
// still be read from its beginning.
func firstField(r *http.Request, boundary string) (string, error) {
	begin := make([]byte, maxFirst)
	n, err := io.ReadFull(r.Body, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", httpx.Errorf(http.StatusBadRequest, "The form could not be read: send it again")
	}
	begin = begin[:n]
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), r.Body), r.Body}
	if boundary == "" {
		return "", nil
	}
	part, err := multipart.NewReader(bytes.NewReader(begin), boundary).NextPart()
	if err != nil || part.FormName() != TokenField || part.FileName() != "" {
		return "", nil // the handler reports a form that is broken
	}
	value, err := io.ReadAll(part)
	if err != nil {
		return "", nil // longer than a token
	}
	return string(value), nil
}

// token returns the token of the forms in the response to a request.
func token(r *http.Request) string {
	visitor, _ := r.Context().Value(visitorKey{}).(string)
	if visitor == "" { // a page beside Protect, for somebody who has seen another one
		visitor = visitorOf(r)
	}
	if visitor == "" {
		return ""
	}
	return tokenOf(visitor)
}

// visitorOf returns the cookie that tokens belong to, or "".
func visitorOf(r *http.Request) string {
	c, err := r.Cookie(visitorCookie)
	if err != nil || len(c.Value) > 64 {
		return ""
	}
	return c.Value
}

// tokenOf derives a token from the value of a cookie, which scripts cannot read.
func tokenOf(visitor string) string {
	mac := hmac.New(sha256.New, []byte(visitor))
	mac.Write([]byte("ashlar form"))
	return hex.EncodeToString(mac.Sum(nil))
}

// cookie returns a cookie for the pages of the kit.
func (k *Kit) cookie(r *http.Request, name, value string) *http.Cookie {
	return &http.Cookie{ // #nosec G124 -- Secure over TLS
		Name: name, Value: value, Path: k.prefix + "/", HttpOnly: true, Secure: OverTLS(r), SameSite: http.SameSiteStrictMode,
	}
}

// OverTLS reports whether the browser uses TLS, as far as the request shows: cookies are Secure then. A
// browser reports the scheme of its page in Origin and Referer, also behind a proxy that terminates TLS.
func OverTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") || strings.HasPrefix(r.Referer(), "https://")
}

// themes are the values of the theme.
var themes = map[string]bool{"light": true, "dark": true, "system": true}

// theme returns the chosen theme.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && themes[c.Value] {
		return c.Value
	}
	return "system"
}

// SetTheme is the handler of POST Prefix + "/theme": it keeps the form value theme (light, dark or
// system) in a cookie, and goes back to the path in the form value back.
func (k *Kit) SetTheme(w http.ResponseWriter, r *http.Request) {
	chosen := r.PostFormValue("theme")
	if !themes[chosen] {
		httpx.WriteError(w, r, httpx.Errorf(http.StatusBadRequest, "unknown theme: use light, dark or system"))
		return
	}
	c := k.cookie(r, themeCookie, chosen) // #nosec G124 -- Secure over TLS
	c.MaxAge = 365 * 24 * 60 * 60
	http.SetCookie(w, c)
	http.Redirect(w, r, k.URL(LocalPath(r.PostFormValue("back"))), http.StatusSeeOther) // #nosec G710 -- LocalPath
}

// LocalPath returns a path of the same server to go to, or "/" for anything else.
func LocalPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") || len(path) > 2000 {
		return "/"
	}
	return path
}
