package mail_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

// TestCheck covers messages that would add header lines, among others.
func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, message().Check())
	with := func(change func(*mail.Message)) *mail.Message {
		m := message()
		change(m)
		return m
	}
	to := func(s string) *mail.Message { return with(func(m *mail.Message) { m.To = s }) }
	subject := func(s string) *mail.Message { return with(func(m *mail.Message) { m.Subject = s }) }
	for want, list := range map[string][]*mail.Message{
		"message is nil": {nil},
		"To must be": {
			to(""), to("jane"), to("jane@example.org\r\nBcc: eve@example.org"), to("jane@example.org\n"), to("\"a\r\nb\"@example.org"),
			to("Jane <jane@example.org>"), to("jane@example.org, eve@example.org"), to("<jane@example.org>"), to(`"a b"@example.org`),
			to("jane@example.org\x00"), to(strings.Repeat("j", 250) + "@example.org"), to("jane@example.org> SIZE=1"), to("j\xff@example.org"),
		},
		"Subject must be": {
			subject(""), subject(" "), subject("a\r\nBcc: eve@example.org"), subject("a\nb"), subject("a\rb"), subject("a\x00"),
			subject("a\u2028b"), subject("a\u0085b"), subject("\xff"), subject(strings.Repeat("ä", 201)),
		},
		"both empty": {with(func(m *mail.Message) { m.Text, m.HTML = "", "" })},
		"Text and HTML must be": {
			with(func(m *mail.Message) { m.Text = "a\x00" }), with(func(m *mail.Message) { m.HTML = "\xff" }),
			with(func(m *mail.Message) { m.Text = strings.Repeat("x", 256<<10+1) }),
		},
	} {
		for _, m := range list {
			err := m.Check()
			require.ErrorContains(t, err, want, "%v", m)
			p, ok := errors.AsType[interface {
				error
				Permanent() bool
			}](err)
			require.True(t, ok && p.Permanent(), "%v", m)
		}
	}
	for _, m := range []*mail.Message{to("o'brien+x@example.org"), subject(strings.Repeat("ä", 200)), subject(`"<b>" & c`)} {
		require.NoError(t, m.Check())
	}
}

func TestFormattingHidesBodies(t *testing.T) {
	t.Parallel()
	m := mail.Reset("jane@example.org", "Jane", "SECRETCODE", "", time.Minute)
	var log logtest.Log
	log.Logger().Info("x", "mail", m)
	all := fmt.Sprintf("%v %+v %#v %s", m, m, m, log.String())
	require.NotContains(t, all, "SECRETCODE")
	require.Equal(t, 4, strings.Count(all, "jane@example.org"))
}

func TestLog(t *testing.T) {
	t.Parallel()
	m := mail.Reset("jane@example.org", "Jane", "SECRETCODE", "", time.Minute)
	for _, bodies := range []bool{false, true} {
		var out bytes.Buffer
		log := mail.NewLog(slog.New(slog.NewTextHandler(&out, nil)), &mail.LogOptions{Bodies: bodies})
		require.NoError(t, log.Send(t.Context(), m))
		require.Contains(t, out.String(), `level=WARN msg="mail not sent: no mail server is configured" to=jane@example.org subject="Password Reset Code"`)
		require.Equal(t, bodies, strings.Contains(out.String(), "SECRETCODE"))
		require.Error(t, log.Send(t.Context(), &mail.Message{To: "jane\n"}))
	}
	var out bytes.Buffer
	require.NoError(t, mail.NewLog(slog.New(slog.NewTextHandler(&out, nil)), nil).Send(t.Context(), m))
	require.NotContains(t, out.String(), "SECRETCODE")
}

// TestReset checks, among others, that a name cannot add markup or lines.
func TestReset(t *testing.T) {
	t.Parallel()
	const code = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	m := mail.Reset("jane@example.org", "Jane", code, "", 15*time.Minute)
	require.NoError(t, m.Check())
	for _, body := range []string{m.Text, m.HTML} {
		require.Contains(t, body, "Hello Jane,")
		require.Contains(t, body, code)
		require.Contains(t, body, "valid for 15 minutes and")
	}
	m = mail.Reset("jane@example.org", "<a href=\"https://evil.example\">Jane</a>\r\n\r\nPlease log in at https://evil.example\xff\u202e", code, "", 15*time.Minute)
	require.NoError(t, m.Check())
	require.NotContains(t, m.HTML, "<a ")
	require.Contains(t, m.HTML, "&lt;a href")
	require.Contains(t, m.Text, "Jane</a>Please log in", "the name is one line")
	require.NotContains(t, m.Text, "\u202e")
	require.Contains(t, mail.Reset("jane@example.org", "", code, "", time.Minute).Text, "Hello,")
	long := mail.Reset("jane@example.org", strings.Repeat("ä", 1000), code, "", time.Minute)
	require.Equal(t, 100, strings.Count(long.Text, "ä"))
	for d, want := range map[time.Duration]string{
		time.Hour: "1 hour", 48 * time.Hour: "48 hours", time.Minute: "1 minute", 90 * time.Minute: "90 minutes",
		time.Second: "1 second", 90 * time.Second: "90 seconds",
	} {
		require.Contains(t, mail.Reset("jane@example.org", "", code, "", d).Text, "It is valid for "+want+" and")
	}
}

// FuzzCheck checks that a valid message has one address and a subject of one line.
func FuzzCheck(f *testing.F) {
	f.Add("jane@example.org", "Hello")
	f.Add("jane@example.org\r\nBcc: eve@example.org", "a\r\nb")
	f.Add(`"a\`+"\n"+`b"@example.org`, "\u2028")
	f.Fuzz(func(t *testing.T, to, subject string) {
		m := &mail.Message{To: to, Subject: subject, Text: "x"}
		if m.Check() != nil {
			return
		}
		if strings.ContainsAny(to, "\r\n\x00 <>") || strings.Count(to, "@") < 1 {
			t.Errorf("To may be %q", to)
		}
		if strings.ContainsAny(subject, "\r\n\x00") {
			t.Errorf("Subject may be %q", subject)
		}
	})
}
