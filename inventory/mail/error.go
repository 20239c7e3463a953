package mail

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/textproto"
	"strings"
	"unicode"
)

// Error is a mail that a server did not take, or that did not get there.
type Error struct {
	Server string // host:port
	Step   string // what failed, such as "connect" or "log in"
	// Code is that of the server's answer (RFC 5321, 4.2): 4xx if it may be
	// different later, 5xx if not. It is 0 if there was no answer.
	Code int
	Text string // of the answer: one line, at most 200 characters, and no secrets
	// Err is the cause if there was no answer, nil otherwise. The end of a context is that
	// context's error.
	Err error

	final bool
}

// Error says all of that in one line.
func (e *Error) Error() string {
	if e.Code != 0 {
		return fmt.Sprintf("mail server %s: %s: %d %s", e.Server, e.Step, e.Code, e.Text)
	}
	return fmt.Sprintf("mail server %s: %s: %v", e.Server, e.Step, e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Permanent reports whether another try would fail in the same way: the server said
// so, or does not have what is needed of it.
func (e *Error) Permanent() bool { return e.final || e.Code >= 500 }

// finalError is a cause that another try would not mend.
type finalError struct{ error }

// maxText is how many characters of a server's answer an Error has.
const maxText = 200

// failure is the error of a delivery, without what must not be in one.
func (d *delivery) failure(ctx context.Context, err error) *Error {
	e := &Error{Server: d.server.String(), Step: d.step}
	_, e.final = errors.AsType[finalError](err)
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		e.Code, e.Text = answer.Code, d.clean(answer.Msg)
		return e
	}
	if cause := ctx.Err(); cause != nil { // the connection was closed for that
		e.Err = cause
		return e
	}
	e.Err = errors.New(d.clean(err.Error()))
	return e
}

// clean makes what a server said fit for an error.
func (d *delivery) clean(s string) string {
	for _, secret := range d.secrets() {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, s)
	if runes := []rune(s); len(runes) > maxText {
		s = string(runes[:maxText]) + "..."
	}
	return s
}

// secrets are the forms of the password that were sent, and the long words of the mail:
// one of those is the code.
func (d *delivery) secrets() []string {
	var all []string
	if user, password := d.server.opts.Username, d.server.opts.Password; password != "" {
		encode := base64.StdEncoding.EncodeToString
		all = append(all, encode([]byte("\x00"+user+"\x00"+password)), encode([]byte(password)), password)
	}
	for _, body := range []string{d.message.Text, d.message.HTML} {
		for word := range strings.FieldsSeq(body) {
			if len(word) >= 16 {
				all = append(all, word)
			}
		}
	}
	return all
}
