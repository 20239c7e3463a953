package mail_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

func credentials() mail.SMTPOptions {
	return mail.SMTPOptions{Username: "inventory", Password: password}
}

// TestSend covers TLS and authentication by what the server offers and the options ask for.
func TestSend(t *testing.T) {
	t.Parallel()
	cert := newCertificate(t)
	both := []string{"PLAIN", "LOGIN"}
	for name, c := range map[string]struct {
		mode       serverMode
		mechanisms []string
		opts       mail.SMTPOptions
		trust      bool
		want       received // secure, login
	}{
		"plain":                       {want: received{}},
		"plain with a password":       {mechanisms: both, opts: credentials(), want: received{login: "PLAIN inventory"}},
		"login":                       {mechanisms: both[1:], opts: credentials(), want: received{login: "LOGIN inventory"}},
		"STARTTLS":                    {mode: startTLSServer, want: received{secure: true}},
		"STARTTLS, checked":           {mode: startTLSServer, trust: true, want: received{secure: true}},
		"STARTTLS and a password":     {mode: startTLSServer, trust: true, mechanisms: both, opts: credentials(), want: received{secure: true, login: "PLAIN inventory"}},
		"STARTTLS and LOGIN":          {mode: startTLSServer, trust: true, mechanisms: both[1:], opts: credentials(), want: received{secure: true, login: "LOGIN inventory"}},
		"implicit TLS":                {mode: tlsServer, trust: true, opts: mail.SMTPOptions{ImplicitTLS: true}, want: received{secure: true}},
		"implicit TLS and a password": {mode: tlsServer, trust: true, mechanisms: both, opts: implicit(credentials()), want: received{secure: true, login: "PLAIN inventory"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&server{mechanisms: c.mechanisms}).start(t, c.mode, cert)
			if c.trust {
				c.opts.TLS = cert.client
			}
			require.NoError(t, s.mailer(t, c.opts).Send(t.Context(), message()))
			got := s.received()
			require.Len(t, got, 1)
			require.Equal(t, "inventory@example.org", got[0].from)
			require.Equal(t, "jane@example.org", got[0].to)
			require.Equal(t, c.want.secure, got[0].secure)
			require.Equal(t, c.want.login, got[0].login)
		})
	}
}

func implicit(o mail.SMTPOptions) mail.SMTPOptions {
	o.ImplicitTLS = true
	return o
}

// TestDeliveredMessage checks both bodies, and that the header reveals nothing of this machine.
func TestDeliveredMessage(t *testing.T) {
	t.Parallel()
	s := (&server{}).start(t, plainServer, nil)
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	m := s.mailer(t, mail.SMTPOptions{Now: func() time.Time { return at }, Hello: "inventory.example.org"})
	long := message()
	long.Text = "Grüße\n.\n..\n" + strings.Repeat("x", 5000) + "\nFrom here\n" // a line with a dot ends DATA
	require.NoError(t, m.Send(t.Context(), long))
	got, err := netmail.ReadMessage(strings.NewReader(s.received()[0].body))
	require.NoError(t, err)
	head := got.Header
	require.Equal(t, `"Inventory" <inventory@example.org>`, head.Get("From"))
	require.Equal(t, "<jane@example.org>", head.Get("To"))
	subject, err := new(mime.WordDecoder).DecodeHeader(head.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, "Grüße", subject)
	date, err := head.Date()
	require.NoError(t, err)
	require.True(t, date.Equal(at), date)
	require.Regexp(t, `^<[A-Z2-7]{26}@example.org>$`, head.Get("Message-ID"))
	require.Equal(t, "auto-generated", head.Get("Auto-Submitted"))
	require.Empty(t, head.Get("User-Agent")+head.Get("X-Mailer"))
	require.Equal(t, map[string]string{"text/plain": long.Text, "text/html": long.HTML}, parts(t, got))
}

// parts returns the bodies of a message by media type.
func parts(t *testing.T, m *netmail.Message) map[string]string {
	t.Helper()
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/alternative", kind)
	all, r := map[string]string{}, multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		require.NoError(t, err)
		require.Equal(t, "UTF-8", params["charset"])
		require.Equal(t, "quoted-printable", part.Header.Get("Content-Transfer-Encoding"))
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		require.NoError(t, err)
		all[kind] = string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	}
}

func TestSingleBody(t *testing.T) {
	t.Parallel()
	s := (&server{}).start(t, plainServer, nil)
	m := s.mailer(t, mail.SMTPOptions{})
	text, html := message(), message()
	text.HTML, html.Text = "", ""
	require.NoError(t, m.Send(t.Context(), text))
	require.NoError(t, m.Send(t.Context(), html))
	require.Contains(t, s.received()[0].body, "Content-Type: text/plain")
	require.NotContains(t, s.received()[0].body, "multipart")
	require.Contains(t, s.received()[1].body, "Content-Type: text/html")
}

// TestRefused checks step, code and permanence of errors.
func TestRefused(t *testing.T) {
	t.Parallel()
	reply := func(at string, code int, text string) func(string, string) error {
		return func(step, _ string) error {
			if step != at {
				return nil
			}
			return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCodeNotSet, Message: text}
		}
	}
	for name, c := range map[string]struct {
		refuse    func(step, value string) error
		step      string
		code      int
		permanent bool
	}{
		"at the beginning":  {reply("greeting", 421, "too many"), "start session", 421, false},
		"the password":      {reply("auth", 535, "no"), "log in", 535, true},
		"the log-in, today": {reply("auth", 454, "later"), "log in", 454, false},
		"the sender":        {reply("mail", 550, "who?"), "MAIL FROM", 550, true},
		"the recipient":     {reply("rcpt", 550, "no such user"), "RCPT TO", 550, true},
		"the recipient now": {reply("rcpt", 450, "greylisted"), "RCPT TO", 450, false},
		"the mail":          {reply("data", 554, "spam"), "DATA", 554, true},
		"the mail for now":  {reply("data", 452, "no room"), "DATA", 452, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&server{mechanisms: []string{"PLAIN"}, refuse: c.refuse}).start(t, plainServer, nil)
			m := s.mailer(t, credentials())
			e := failure(t, m.Send(t.Context(), message()))
			require.Equal(t, []any{m.String(), c.step, c.code, c.permanent}, []any{e.Server, e.Step, e.Code, e.Permanent()})
			require.NotEmpty(t, e.Text)
			require.Contains(t, e.Error(), fmt.Sprintf("mail server %s: %s: %d ", m, c.step, c.code))
			require.Empty(t, s.received())
		})
	}
}

// failure returns the error and checks that it contains no secret.
func failure(t *testing.T, err error) *mail.Error {
	t.Helper()
	e, ok := errors.AsType[*mail.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	for _, secret := range []string{password, "Hello Jane", base64.StdEncoding.EncodeToString([]byte(password))} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, e), secret)
	}
	return e
}

// TestNoTLS checks that a password is sent neither in the clear nor over unverified TLS.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	cert := newCertificate(t)
	refuse := func(step, _ string) error {
		if step == "auth" {
			t.Error("the password was sent")
		}
		return nil
	}
	mechanisms := []string{"PLAIN", "LOGIN"}

	s := (&server{mechanisms: mechanisms, refuse: refuse}).start(t, startTLSServer, cert)
	other := newCertificate(t)
	e := failure(t, s.mailer(t, mail.SMTPOptions{Username: "inventory", Password: password, TLS: other.client}).Send(t.Context(), message()))
	require.Contains(t, e.Error(), "certificate")
	require.False(t, e.Permanent())

	// An address of this machine that is not recognized as loopback.
	plain := (&server{mechanisms: mechanisms, refuse: refuse}).start(t, plainServer, nil)
	plain.host = "0.0.0.0"
	e = failure(t, plain.mailer(t, credentials()).Send(t.Context(), message()))
	require.Contains(t, e.Error(), "STARTTLS")
	require.Empty(t, append(s.received(), plain.received()...))
}

// TestPlaintext checks that a message is sent without TLS to another machine only if the options
// allow it.
func TestPlaintext(t *testing.T) {
	t.Parallel()
	plain := (&server{}).start(t, plainServer, nil)
	plain.host = "0.0.0.0" // an address of this machine that is not recognized as loopback
	e := failure(t, plain.mailer(t, mail.SMTPOptions{}).Send(t.Context(), message()))
	require.Contains(t, e.Error(), "STARTTLS")
	require.Empty(t, plain.received())
	require.NoError(t, plain.mailer(t, mail.SMTPOptions{AllowPlaintext: true}).Send(t.Context(), message()))
	require.Len(t, plain.received(), 1)
}

func TestNoSupportedAuthentication(t *testing.T) {
	t.Parallel()
	s := (&server{}).start(t, plainServer, nil)
	e := failure(t, s.mailer(t, credentials()).Send(t.Context(), message()))
	require.Equal(t, "log in", e.Step)
	require.True(t, e.Permanent())

	strange := scripted(t, "220 hello", "250-hello\n250 AUTH NTLM", "221 bye")
	e = failure(t, strange.mailer(t, credentials()).Send(t.Context(), message()))
	require.Contains(t, e.Error(), "neither PLAIN nor LOGIN")
	require.True(t, e.Permanent())
}

func TestSecretsInRepliesAreRedacted(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte("\x00inventory\x00" + password))
	s := scripted(t, "220 hello", "250-hello\n250 AUTH PLAIN", "501 what is AUTH PLAIN "+encoded+" or "+password+"? \x1b[31m", "221 bye")
	e := failure(t, s.mailer(t, credentials()).Send(t.Context(), message()))
	require.Equal(t, "what is AUTH PLAIN *** or ***?  [31m", e.Text)

	reset := mail.Reset("jane@example.org", "Jane", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "", time.Hour)
	s = scripted(t, "220 hello", "250 hello", "250 ok", "250 ok", "354 go on", "554 spam like ABCDEFGHIJKLMNOPQRSTUVWXYZ "+strings.Repeat("x", 500))
	e = failure(t, s.mailer(t, mail.SMTPOptions{}).Send(t.Context(), reset))
	require.Contains(t, e.Text, "spam like *** xxx")
	require.Less(t, len(e.Text), 300)

	s = scripted(t, "nonsense from "+password)
	e = failure(t, s.mailer(t, credentials()).Send(t.Context(), message()))
	require.Contains(t, e.Error(), "***")
	require.Zero(t, e.Code)
}

// TestSilentServer lets a server stop responding at several steps.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	for step, lines := range map[string][]string{
		"start session": {""},
		"RCPT TO":       {"220 hello", "250 hello", "250 ok", ""},
		"DATA":          {"220 hello", "250 hello", "250 ok", "250 ok", "354 go on", ""},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := scripted(t, lines...)
			err := s.mailer(t, mail.SMTPOptions{Timeout: 100 * time.Millisecond}).Send(t.Context(), message())
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.False(t, failure(t, err).Permanent())

			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			err = s.mailer(t, mail.SMTPOptions{}).Send(ctx, message())
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	tls := scripted(t, "")
	err := tls.mailer(t, mail.SMTPOptions{ImplicitTLS: true, Timeout: 100 * time.Millisecond}).Send(t.Context(), message())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestHangUp closes the connection at each step, which is a temporary failure.
func TestHangUp(t *testing.T) {
	t.Parallel()
	all := []string{"220 hello", "250 hello", "250 ok", "250 ok", "354 go on"}
	for i := range all {
		e := failure(t, scripted(t, all[:i]...).mailer(t, mail.SMTPOptions{}).Send(t.Context(), message()))
		require.Zero(t, e.Code)
		require.False(t, e.Permanent())
	}
	refuse := func(step, _ string) error {
		if step == "data" {
			return errHangUp
		}
		return nil
	}
	s := (&server{refuse: refuse}).start(t, plainServer, nil)
	require.Equal(t, "DATA", failure(t, s.mailer(t, mail.SMTPOptions{}).Send(t.Context(), message())).Step)
}

func TestRepliesAreBounded(t *testing.T) {
	t.Parallel()
	s := scripted(t, "220-"+strings.Repeat("x", 1<<20)+"\n220 hello")
	e := failure(t, s.mailer(t, mail.SMTPOptions{}).Send(t.Context(), message()))
	require.Contains(t, e.Error(), "sent more than")
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	s := &server{host: "127.0.0.1", port: 1} // never assigned as a free port
	e := failure(t, s.mailer(t, mail.SMTPOptions{}).Send(t.Context(), message()))
	require.Equal(t, "connect", e.Step)
	require.False(t, e.Permanent())
}

func TestAddressesBeyondASCII(t *testing.T) {
	t.Parallel()
	m := message()
	m.To = "jörg@example.org"
	s := (&server{}).start(t, plainServer, nil)
	e := failure(t, s.mailer(t, mail.SMTPOptions{}).Send(t.Context(), m))
	require.True(t, e.Permanent())
	require.Contains(t, e.Error(), "6531")
	able := scripted(t, "220 hello", "250-hello\n250 SMTPUTF8", "250 ok", "250 ok", "354 go on", "250 thanks", "221 bye")
	require.NoError(t, able.mailer(t, mail.SMTPOptions{}).Send(t.Context(), m))
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		host, from string
		opts       mail.SMTPOptions
	}{
		"invalid host \"\"":       {"", "a@example.org", mail.SMTPOptions{}},
		"without a port":          {"smtp.example.org:25", "a@example.org", mail.SMTPOptions{}},
		"invalid host \"unix://x": {"unix://x", "a@example.org", mail.SMTPOptions{}},
		"invalid sender \"\"":     {"localhost", "", mail.SMTPOptions{}},
		"invalid sender \"a\\nb":  {"localhost", "a\nb <a@example.org>", mail.SMTPOptions{}},
		"invalid port 70000":      {"localhost", "a@example.org", mail.SMTPOptions{Port: 70000}},
		"password missing":        {"localhost", "a@example.org", mail.SMTPOptions{Username: "a"}},
		"user name or":            {"localhost", "a@example.org", mail.SMTPOptions{Password: password}},
		"NUL":                     {"localhost", "a@example.org", mail.SMTPOptions{Username: "a", Password: password + "\x00"}},
		"invalid timeout -1s":     {"localhost", "a@example.org", mail.SMTPOptions{Timeout: -time.Second}},
		"invalid Hello":           {"localhost", "a@example.org", mail.SMTPOptions{Hello: "a\r\nMAIL"}},
	} {
		_, err := mail.NewSMTP(c.host, c.from, &c.opts)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), password)
	}
}

func TestFormattingHidesPassword(t *testing.T) {
	t.Parallel()
	m, err := mail.NewSMTP("smtp.example.org", "a@example.org", &mail.SMTPOptions{Username: "a", Password: password})
	require.NoError(t, err)
	require.Equal(t, "smtp.example.org:587 smtp.example.org:587 smtp.example.org:587", fmt.Sprintf("%v %+v %#v", m, m, m))
}
