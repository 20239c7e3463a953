package server_test

import (
	"encoding/json"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// serveMail serves an inventory with a mail server.
func serveMail(t *testing.T) (*running, *mailbox) {
	t.Helper()
	box := &mailbox{mails: make(chan string, 10)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	mailer := smtp.NewServer(box)
	go mailer.Serve(l)
	t.Cleanup(func() { mailer.Close() })
	host, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return serve(t, settings(t, map[string]string{
		"MAIL_HOST": host, "MAIL_PORT": port, "FROM_ADDRESS": "noc@example.com", "ADMIN_USERNAME": "admin@example.com",
	})), box
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
