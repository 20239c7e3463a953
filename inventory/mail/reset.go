package mail

import (
	"bytes"
	_ "embed"
	htmltemplate "html/template"
	"io"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"
)

//go:embed reset.txt
var resetText string

//go:embed reset.html
var resetHTML string

// maxName is how many characters of a name a mail has.
const maxName = 100

// resetMail is what the templates of the mail know.
type resetMail struct{ Name, Code, Lifetime string }

// Reset is the mail with which somebody gets a code to choose a new password. name is
// how to address them, as they wrote it themselves, and may be empty; lifetime is how
// long the code is good.
func Reset(to, name, code string, lifetime time.Duration) *Message {
	data := resetMail{Name: plainName(name), Code: code, Lifetime: inWords(lifetime)}
	return &Message{
		To: to, Subject: "Password Reset Code",
		Text: rendered(template.Must(template.New("text").Parse(resetText)), data),
		HTML: rendered(htmltemplate.Must(htmltemplate.New("html").Parse(resetHTML)), data),
	}
}

// rendered is a template with its values. Both are of this package, so that it can't fail.
func rendered(t interface {
	Execute(w io.Writer, data any) error
}, data resetMail,
) string {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		panic(err)
	}
	return b.String()
}

// plainName is a name that can't pretend to be more of the mail than that.
func plainName(s string) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	runes := []rune(strings.TrimSpace(s))
	return string(runes[:min(len(runes), maxName)])
}

// inWords is a time of at least a second in the largest unit that it is a whole number of.
func inWords(d time.Duration) string {
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
	return strconv.FormatInt(n, 10) + " " + unit
}
