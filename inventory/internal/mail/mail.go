package mail

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"log/slog"
	"net/mail"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"
)

// Mailer sends messages. It is safe for concurrent use.
type Mailer interface {
	// Send returns after the message was sent or has failed. An error with a method
	// Permanent() bool that returns true must not be retried.
	Send(ctx context.Context, m *Message) error
}

// The limits of a message.
const (
	maxAddress = 254       // bytes; RFC 5321, section 4.5.3.1.3
	maxSubject = 200       // characters
	maxBody    = 256 << 10 // bytes, for text and HTML each
	maxName    = 100       // characters of a name in a message
)

// Message is a message to one recipient, as text, HTML or both.
type Message struct {
	To      string // an address without a name, such as jane@example.org
	Subject string // one line of at most 200 characters
	Text    string // at most 256 KiB
	HTML    string // at most 256 KiB
}

// invalidError reports a message that can never be sent.
type invalidError struct{ error }

func (invalidError) Permanent() bool { return true }

// Check reports the first invalid field of a message, in particular one that would add header
// lines. Every mailer of this package calls it.
func (m *Message) Check() error {
	switch {
	case m == nil:
		return invalidError{errors.New("mail: the message is nil")}
	case !isAddress(m.To): // not repeated, because it may come from a client
		return invalidError{fmt.Errorf("mail: To must be a single address such as jane@example.org of at most %d bytes", maxAddress)}
	case !isLine(m.Subject) || utf8.RuneCountInString(m.Subject) > maxSubject:
		return invalidError{fmt.Errorf("mail: Subject must be one line of 1 to %d characters", maxSubject)}
	case m.Text == "" && m.HTML == "":
		return invalidError{errors.New("mail: Text and HTML are both empty: set one of them")}
	case !isBody(m.Text) || !isBody(m.HTML):
		return invalidError{fmt.Errorf("mail: Text and HTML must be UTF-8 of at most %d bytes, without NUL", maxBody)}
	}
	return nil
}

// String returns recipient and subject. No format prints the bodies.
func (m *Message) String() string {
	if m == nil {
		return "no mail"
	}
	return fmt.Sprintf("mail to %q: %q", m.To, m.Subject)
}

// GoString returns String.
func (m *Message) GoString() string { return m.String() }

// LogValue returns String.
func (m *Message) LogValue() slog.Value { return slog.StringValue(m.String()) }

func isAddress(s string) bool {
	addr, err := mail.ParseAddress(s)
	return err == nil && addr.Address == s && len(s) <= maxAddress && isLine(s) && !strings.ContainsFunc(s, unicode.IsSpace)
}

func isLine(s string) bool {
	return strings.TrimSpace(s) != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
	})
}

func isBody(s string) bool {
	return len(s) <= maxBody && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// LogOptions configures a [Log]. Nil means the defaults.
type LogOptions struct {
	// Bodies adds the text of messages, reset codes included, to the log. For development only.
	Bodies bool
}

// Log is a Mailer that sends nothing and logs a warning for each message.
type Log struct {
	log  *slog.Logger
	opts LogOptions
}

// NewLog returns a mailer that writes to a log; nil means slog.Default().
func NewLog(log *slog.Logger, opts *LogOptions) *Log {
	return &Log{cmp.Or(log, slog.Default()), *cmp.Or(opts, &LogOptions{})}
}

// Send logs a warning. The error is that of [Message.Check].
func (l *Log) Send(ctx context.Context, m *Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	attrs := []slog.Attr{slog.String("to", m.To), slog.String("subject", m.Subject)}
	if l.opts.Bodies {
		attrs = append(attrs, slog.String("text", m.Text))
	}
	l.log.LogAttrs(ctx, slog.LevelWarn, "mail not sent: no mail server is configured", attrs...)
	return nil
}

//go:embed reset.txt
var resetText string

//go:embed reset.html
var resetHTML string

//go:embed invitation.txt
var invitationText string

// Invitation returns the message to a new user, who chooses a password at link. name is how the user is called; lifetime
// is how long the link is valid.
func Invitation(to, name, username, link string, lifetime time.Duration) *Message {
	data := struct{ Name, Username, Link, Lifetime string }{printableName(name), printableName(username), link, formatLifetime(lifetime)}
	return &Message{To: to, Subject: "Your account in the network inventory", Text: render(template.Must(template.New("text").Parse(invitationText)), data)}
}

// Reset returns the message with a password reset code. name is the recipient's own spelling
// and may be empty; link is where the code can be used, or empty; lifetime is how long the code is valid.
func Reset(to, name, code, link string, lifetime time.Duration) *Message {
	data := struct{ Name, Code, Link, Lifetime string }{printableName(name), code, link, formatLifetime(lifetime)}
	return &Message{
		To: to, Subject: "Password Reset Code",
		Text: render(template.Must(template.New("text").Parse(resetText)), data),
		HTML: render(htmltemplate.Must(htmltemplate.New("html").Parse(resetHTML)), data),
	}
}

// printableName returns the printable beginning of a name.
func printableName(name string) string {
	name = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(name, ""))
	runes := []rune(strings.TrimSpace(name))
	return string(runes[:min(len(runes), maxName)])
}

// render executes an embedded template, which cannot fail.
func render(t interface{ Execute(io.Writer, any) error }, data any) string {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		panic(err)
	}
	return b.String()
}

// formatLifetime returns a duration in the largest unit of which it is a whole number.
func formatLifetime(d time.Duration) string {
	n, unit := int64(d/time.Second), "second"
	switch {
	case n > 0 && n%3600 == 0:
		n, unit = n/3600, "hour"
	case n > 0 && n%60 == 0:
		n, unit = n/60, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// Change describes a change of an account in [PasswordChanged] and [EmailChanged].
type Change struct {
	By      string    // how, such as "by an administrator"; empty for unknown
	At      time.Time // shown in UTC
	Address string    // of the client; empty for unknown
}

// PasswordChanged returns the message to a user whose password was changed. name may be empty.
func PasswordChanged(to, name string, c *Change) *Message {
	return changed(to, "Your password was changed", name, "the password of your account in the network inventory was changed", c)
}

// EmailChanged returns the message to the earlier address of a user whose email address was changed.
// name may be empty.
func EmailChanged(to, name string, c *Change) *Message {
	return changed(to, "Your email address was changed", name,
		"the email address of your account in the network inventory was changed. This address gets no further messages about it. The change was made", c)
}

// EmailSet returns the message to the new address of a user. It says nothing of the user, because the
// address may be that of somebody else.
func EmailSet(to string) *Message {
	return &Message{To: to, Subject: "Email address of an account", Text: emailSetText}
}

//go:embed email_set.txt
var emailSetText string

// changedText is the text of a message about a change.
//
//go:embed changed.txt
var changedText string

func changed(to, subject, name, what string, c *Change) *Message {
	data := struct{ Name, What, By, At, Address string }{printableName(name), what, c.By, c.At.UTC().Format("2006-01-02 15:04 UTC"), c.Address}
	return &Message{To: to, Subject: subject, Text: render(template.Must(template.New("text").Parse(changedText)), data)}
}
