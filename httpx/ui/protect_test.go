package ui_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/ui"
)

// formPage serves a page with a token, and responds to a POST with the number of bytes of its body.
func formPage(t *testing.T) http.Handler {
	t.Helper()
	kit, err := ui.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return kit.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_ = kit.Page(w, r, http.StatusOK, &ui.Page{Template: "message.html", Title: "Form", Data: map[string]any{"Text": "", "Items": nil, "RequestID": ""}})
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = w.Write(body)
	}))
}

// visit returns the cookie and the token of a page.
func visit(t *testing.T, pages http.Handler) (*http.Cookie, string) {
	t.Helper()
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	_, after, ok := strings.Cut(w.Body.String(), `{"X-Form-Token":"`)
	if !ok {
		_, after, ok = strings.Cut(w.Body.String(), `{&#34;X-Form-Token&#34;:&#34;`)
	}
	if !ok || len(after) < 64 {
		t.Fatalf("no token in %s", w.Body)
	}
	return w.Result().Cookies()[0], after[:64]
}

// TestRenew: after Renew the token of an earlier page is refused, with the cookie that the browser has now (403).
func TestRenew(t *testing.T) {
	t.Parallel()
	pages := formPage(t)
	cookie, token := visit(t, pages)
	send := func(cookie *http.Cookie) int {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(ui.TokenField+"="+token))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(cookie)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		return w.Code
	}
	if got := send(cookie); got != http.StatusOK {
		t.Fatal(got)
	}
	kit, err := ui.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	kit.Renew(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if got := send(w.Result().Cookies()[0]); got != http.StatusForbidden {
		t.Errorf("the token of before: %d", got)
	}
}

// TestTokenOfFiles: a form with files needs the right token as its first field, within a bounded part of the
// body, and the handler gets the whole body.
func TestTokenOfFiles(t *testing.T) {
	t.Parallel()
	pages := formPage(t)
	cookie, token := visit(t, pages)
	_, foreign := visit(t, pages)
	file := [2]string{"file", strings.Repeat("a,b\n", 100_000)}
	for name, tt := range map[string]struct {
		fields [][2]string
		status int
	}{
		"first":          {[][2]string{{ui.TokenField, token}, file}, http.StatusOK},
		"alone":          {[][2]string{{ui.TokenField, token}}, http.StatusOK},
		"last":           {[][2]string{file, {ui.TokenField, token}}, http.StatusForbidden},
		"of another":     {[][2]string{{ui.TokenField, foreign}, file}, http.StatusForbidden},
		"none":           {[][2]string{file}, http.StatusForbidden},
		"twice":          {[][2]string{{ui.TokenField, ""}, {ui.TokenField, token}}, http.StatusForbidden},
		"with a longer":  {[][2]string{{ui.TokenField, token + strings.Repeat(" ", 2000)}}, http.StatusForbidden},
		"as other field": {[][2]string{{"token", token}}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			for _, f := range tt.fields {
				if err := form.WriteField(f[0], f[1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := form.Close(); err != nil {
				t.Fatal(err)
			}
			want := body.String()
			r := httptest.NewRequest(http.MethodPost, "/", &body)
			r.Header.Set("Content-Type", form.FormDataContentType())
			r.AddCookie(cookie)
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			if w.Code != tt.status {
				t.Fatalf("status %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if tt.status == http.StatusOK && w.Body.String() != want {
				t.Errorf("the handler gets %d bytes, want %d", w.Body.Len(), len(want))
			}
		})
	}
}

// TestBrokenForms: a form with files that is no such form is refused, and the page does not panic.
func TestBrokenForms(t *testing.T) {
	t.Parallel()
	pages := formPage(t)
	cookie, token := visit(t, pages)
	for _, kind := range []string{"multipart/form-data", "multipart/form-data; boundary=x", "multipart/form-data; boundary", "multipart/mixed; boundary=x"} {
		for _, body := range []string{"", "--x", "--x\r\n\r\n", "--y\r\nContent-Disposition: form-data; name=_token\r\n\r\n" + token + "\r\n--y--"} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Content-Type", kind)
			r.AddCookie(cookie)
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			if w.Code != http.StatusForbidden {
				t.Errorf("%s, %q: status %d", kind, body, w.Code)
			}
		}
	}
}
