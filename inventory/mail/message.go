package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mailer sends mails. It is safe for concurrent use.
type Mailer interface {
	// Send returns when the mail has been sent, or can't be. An error that has a method
	// Permanent() bool which says true is one that another try would not mend.
	Send(ctx context.Context, m *Message) error
}

// The bounds of a message.
const (
	maxAddress = 254       // bytes; RFC 5321, 4.5.3.1.3, without the brackets
	maxSubject = 200       // characters
	maxBody    = 256 << 10 // bytes, of each of the two
)

// Message is a mail to one person. It has a text, or the same in HTML, or both: a
// mail program shows the one that it prefers. Printing a message shows neither.
type Message struct {
	To      string // the address alone, such as jane@example.org
	Subject string // one line of at most 200 characters
	Text    string // at most 256 KiB
	HTML    string // at most 256 KiB
}

// invalidError is a message that can't be sent, however often it is tried.
type invalidError struct{ error }

func (invalidError) Permanent() bool { return true }

// Check says what is wrong with a message, in particular whether it would put lines of
// its own into the head of the mail. Every mailer of this package calls it.
func (m *Message) Check() error {
	if m == nil {
		return invalidError{errors.New("mail: there is no message")}
	}
	if err := checkAddress(m.To); err != nil {
		return invalidError{fmt.Errorf("mail: To %w", err)}
	}
	switch {
	case !isLine(m.Subject) || utf8.RuneCountInString(m.Subject) > maxSubject:
		return invalidError{fmt.Errorf("mail: Subject must be one line of 1 to %d characters", maxSubject)}
	case m.Text == "" && m.HTML == "":
		return invalidError{errors.New("mail: Text and HTML are both empty: give one of them")}
	case !isBody(m.Text) || !isBody(m.HTML):
		return invalidError{fmt.Errorf("mail: Text and HTML must be UTF-8 of at most %d bytes, without NUL", maxBody)}
	}
	return nil
}

// String is who the message is for and what it is about.
func (m *Message) String() string {
	if m == nil {
		return "no mail"
	}
	return fmt.Sprintf("mail to %q: %q", m.To, m.Subject)
}

// GoString is String: %#v shows no more.
func (m *Message) GoString() string { return m.String() }

// LogValue is who the message is for and what it is about.
func (m *Message) LogValue() slog.Value { return slog.StringValue(m.String()) }

// checkAddress refuses what is not an address alone. It does not repeat it: what comes
// from a client can hold anything.
func checkAddress(s string) error {
	addr, err := mail.ParseAddress(s)
	if err != nil || addr.Address != s || len(s) > maxAddress || !isLine(s) || strings.ContainsFunc(s, unicode.IsSpace) {
		return fmt.Errorf("must be a mail address such as jane@example.org of at most %d bytes, and nothing else", maxAddress)
	}
	return nil
}

// parseSender reads an address that may have a name before it.
func parseSender(s string) (*mail.Address, error) {
	addr, err := mail.ParseAddress(s)
	if err != nil || !isLine(s) || !utf8.ValidString(addr.Name) || checkAddress(addr.Address) != nil {
		return nil, fmt.Errorf("mail: the sender is %q: it must be an address such as inventory@example.org or Inventory <inventory@example.org>", s)
	}
	return addr, nil
}

func isLine(s string) bool {
	return strings.TrimSpace(s) != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' // lines and paragraphs of Unicode
	})
}

func isBody(s string) bool {
	return len(s) <= maxBody && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}
