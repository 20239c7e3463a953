package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// mailbox is a mail server that stores the mails it receives.
type mailbox struct{ mails chan string }

func (m *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return m, nil }
func (m *mailbox) Mail(string, *smtp.MailOptions) error        { return nil }
func (m *mailbox) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (m *mailbox) Reset()                                      {}
func (m *mailbox) Logout() error                               { return nil }

func (m *mailbox) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	m.mails <- string(text)
	return err
}

// serveMail serves an inventory with a mail server, and with the name of a further setting and its value.
func serveMail(t *testing.T, further ...string) (*running, *mailbox) {
	t.Helper()
	box := &mailbox{mails: make(chan string, 10)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	mailer := smtp.NewServer(box)
	go mailer.Serve(l)
	t.Cleanup(func() { mailer.Close() })
	host, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	env := map[string]string{"MAIL_HOST": host, "MAIL_PORT": port, "FROM_ADDRESS": "noc@example.com", "ADMIN_USERNAME": "admin@example.com"}
	for i := 0; i+1 < len(further); i += 2 {
		env[further[i]] = further[i+1]
	}
	return serve(t, settings(t, env)), box
}

// next returns the next mail that arrives.
func (m *mailbox) next(t *testing.T) string {
	t.Helper()
	select {
	case text := <-m.mails:
		return strings.ReplaceAll(text, "=\r\n", "") // lines that the encoding breaks
	case <-time.After(20 * time.Second):
		require.Fail(t, "no mail arrived")
		return ""
	}
}

// TestReset resets a forgotten password with the code from a mail.
func TestReset(t *testing.T) {
	t.Parallel()
	r, box := serveMail(t)
	old := r.login("admin@example.com", password)
	known := r.want(200, "POST", "/users/forgot-password", "", `{"email":"admin@example.com"}`)
	require.Equal(t, known, r.want(200, "POST", "/users/forgot-password", "", `{"email":"unknown@example.com"}`))
	text := box.next(t)
	require.Contains(t, text, "To: <admin@example.com>")
	require.Contains(t, text, "From: <noc@example.com>")
	code := regexp.MustCompile(`(?m)^\s*([A-Z2-7]{26})\s*$`).FindStringSubmatch(text)
	require.NotNil(t, code, text)

	const changed = "another long password"
	body := `{"new_password":"` + changed + `","confirm_password":"` + changed + `"}`
	r.want(200, "POST", "/users/reset-password/"+code[1], "", body)
	r.want(404, "POST", "/users/reset-password/"+code[1], "", body) // the code is used up
	r.want(401, "GET", "/devices", old, "")
	r.login("admin@example.com", changed)
	assert.NotContains(t, r.log.String(), code[1])
	assert.NotContains(t, r.log.String(), changed)
}

// TestNotices changes an account, of which its user is notified by mail.
func TestNotices(t *testing.T) {
	t.Parallel()
	r, box := serveMail(t)
	token := r.login("admin@example.com", password)
	var me struct{ Data []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(r.want(200, "GET", "/users?fields=id", token, "")), &me))
	at := "/users/" + me.Data[0].ID
	r.want(200, "PATCH", at, token, `{"first_name":"Jane","email":"jane@example.com","current_password":"`+password+`"}`)
	text := box.next(t)
	require.Contains(t, text, "To: <admin@example.com>")
	require.Contains(t, text, "Hello Jane,")
	require.Contains(t, text, "logged in as you")
	require.Contains(t, text, "127.0.0.1")
	text = box.next(t)
	require.Contains(t, text, "To: <jane@example.com>")
	require.NotContains(t, text, "Jane")
	r.want(200, "PUT", at+"/password", token, `{"new_password":"another long password","current_password":"`+password+`"}`)
	text = box.next(t)
	require.Contains(t, text, "To: <jane@example.com>")
	require.Contains(t, text, "Subject: Your password was changed")
}

// TestInvitation invites a user, whose link is in a mail only, with the URL of the settings whatever the request says.
func TestInvitation(t *testing.T) {
	t.Parallel()
	r, box := serveMail(t, "PUBLIC_URL", "https://inventory.example.org", "ALLOWED_HOSTS", "evil.example")
	token := r.login("admin@example.com", password)
	request, err := http.NewRequestWithContext(t.Context(), "POST", r.url+"/users/invitations", strings.NewReader(`{"email":"jane@example.com","role":"viewer","first_name":"Jane"}`))
	require.NoError(t, err)
	request.Host = "evil.example"
	request.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "X-Forwarded-Host": {"evil.example"}}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	require.Equal(t, 201, response.StatusCode, "%s", body)
	text := strings.ReplaceAll(box.next(t), "=3D", "=")
	require.Contains(t, text, "To: <jane@example.com>")
	require.NotContains(t, text, "evil")
	code := regexp.MustCompile(`https://inventory.example.org/console/password\?code=([A-Z2-7]{26})\s`).FindStringSubmatch(text)
	require.NotNil(t, code, text)
	require.NotContains(t, string(body), code[1])
	r.want(200, "POST", "/users/reset-password/"+code[1], "", `{"new_password":"a quite long password","confirm_password":"a quite long password"}`)
	require.Contains(t, box.next(t), "with a code that was sent to you")
	r.want(200, "POST", "/users/forgot-password", "", `{"email":"jane@example.com"}`)
	require.Contains(t, strings.ReplaceAll(box.next(t), "=3D", "="), "https://inventory.example.org/console/password?code=")
	r.login("jane@example.com", "a quite long password")
	require.NotContains(t, r.log.String(), code[1])
}

// browserOf is a browser without scripts.
type browserOf struct {
	t    *testing.T
	url  string
	http *http.Client
}

func (r *running) browser(t *testing.T) *browserOf {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browserOf{t, r.url, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do opens a page, or sends the values of a form with the token of the page at from. It returns the status, where the response leads, and the
// page.
func (b *browserOf) do(path, from string, values url.Values) (status int, location, page string) {
	b.t.Helper()
	get := func(response *http.Response, err error) (int, string, string) {
		b.t.Helper()
		require.NoError(b.t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(b.t, errors.Join(err, response.Body.Close()))
		return response.StatusCode, response.Header.Get("Location"), string(text)
	}
	if values == nil {
		return get(b.http.Get(b.url + path))
	}
	_, _, page = b.do(from, "", nil)
	token := regexp.MustCompile(`name="_token" value="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(b.t, token, page)
	values.Set("_token", token[1])
	return get(b.http.PostForm(b.url+path, values))
}

// TestForgottenInConsole: the pages reset a password by a link in a mail, in the same way for addresses that are not known, once, and
// with the second factor still to come.
func TestForgottenInConsole(t *testing.T) {
	t.Parallel()
	r, box := serveMail(t, "PUBLIC_URL", "https://inventory.example.org")
	token := r.login("admin@example.com", password)
	var me struct{ Data []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(r.want(200, "GET", "/users?fields=id", token, "")), &me))
	factor := "/users/" + me.Data[0].ID + "/totp"
	var totp struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(r.want(200, "POST", factor, token, `{"current_password":"`+password+`"}`)), &totp))
	code, err := auth.TOTPCode(totp.Secret, time.Now())
	require.NoError(t, err)
	r.want(200, "PUT", factor, token, `{"code":"`+code+`"}`)

	b := r.browser(t)
	_, _, page := b.do("/console/signin", "", nil)
	require.Contains(t, page, `href="/console/forgot"`)
	require.NotContains(t, page, `id="code"`)
	status, known, _ := b.do("/console/forgot", "/console/forgot", url.Values{"email": {"admin@example.com"}})
	require.Equal(t, 303, status)
	_, other, _ := b.do("/console/forgot", "/console/forgot", url.Values{"email": {"nobody@example.com"}})
	require.Equal(t, known, other)
	text := strings.ReplaceAll(box.next(t), "=3D", "=")
	link := regexp.MustCompile(`https://inventory.example.org(/console/password\?code=([A-Z2-7]{26}))`).FindStringSubmatch(text)
	require.NotNil(t, link, text)
	for _, opened := range []int{200, 200} { // by a scanner of mails too, which uses nothing up
		status, _, _ = b.do(link[1], "", nil)
		require.Equal(t, opened, status)
	}
	choose := url.Values{"code": {link[2]}, "password": {"short"}, "again": {"short"}}
	status, _, page = b.do("/console/password", link[1], choose)
	require.Equal(t, 400, status)
	require.Contains(t, page, "at least 8")
	choose["password"], choose["again"] = []string{"another long password"}, []string{"another long password"}
	status, location, _ := b.do("/console/password", link[1], choose)
	require.Equal(t, 303, status)
	require.Contains(t, location, "/console/signin")
	r.want(401, "GET", "/devices", token, "") // the session has ended
	status, _, page = b.do("/console/password", link[1], choose)
	require.Equal(t, 404, status)
	require.NotContains(t, page, "another long password")
	for typed, asks := range map[string]bool{"another long password": true, "a wrong password": false} {
		status, _, page = b.do("/console/signin", "/console/signin", url.Values{"username": {"admin@example.com"}, "password": {typed}})
		require.Equal(t, 401, status)
		require.Equal(t, asks, strings.Contains(page, `id="code"`), page)
	}
	require.NotContains(t, r.log.String(), link[2])
	status, _, _ = b.do("/console/password", "/console/password", url.Values{"code": {"../../users"}, "password": {"x"}, "again": {"x"}})
	require.Equal(t, 404, status)

	none := serve(t, settings(t, nil)).browser(t)
	_, _, page = none.do("/console/signin", "", nil)
	require.NotContains(t, page, "forgot")
	status, _, _ = none.do("/console/forgot", "", nil)
	require.Equal(t, 404, status)
}
