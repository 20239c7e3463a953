package manifest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Consent is the plan in words and lines for a person who has to agree before it is
// carried out: every command with its arguments, what is set and fetched, where it
// connects to, and the notices. Secrets are ***. What could mislead the eye is
// escaped.
//
// The quotes are for display only. Never run the text, or a line of it.
func (p *Plan) Consent() string {
	var b strings.Builder
	for _, f := range p.Files {
		fmt.Fprintf(&b, "This file is fetched, and used only if its SHA-256 is right:\n  %s\n  %s\n", visible(f.URL), visible(f.SHA256))
	}
	for _, c := range p.Setup {
		fmt.Fprintf(&b, "First this command is run:\n  %s\n", c.visible())
	}
	switch {
	case len(p.Command) > 0:
		fmt.Fprintf(&b, "This command is run, with all that you may do on this machine:\n  %s\n", p.Command.visible())
	case len(p.Arguments) > 0:
		fmt.Fprintf(&b, "It is started with these arguments:\n  %s\n", Command(p.Arguments).visible())
	}
	settings(&b, "with these environment variables", "=", p.Environment)
	settings(&b, "It is pointed at these paths", ": ", p.Paths)
	if p.URL != nil {
		fmt.Fprintf(&b, "It is talked to at:\n  %s\n", visible(p.URL.Value.String()))
	}
	settings(&b, "with these headers", ": ", p.Headers)
	notices(&b, p.Notices)
	return b.String()
}

// Consent is the endpoint in words and lines, as [Plan.Consent].
func (e *Endpoint) Consent() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This server is connected to:\n  %s\n", visible(e.URL.Value.String()))
	settings(&b, "with these headers", ": ", e.Headers)
	notices(&b, e.Notices)
	return b.String()
}

func settings(b *strings.Builder, title, between string, list []Setting) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", title)
	for _, s := range list {
		fmt.Fprintf(b, "  %s%s%s\n", visible(s.Name), between, visible(s.Value.String()))
	}
}

func notices(b *strings.Builder, list []Notice) {
	for _, n := range list {
		fmt.Fprintf(b, "Note: %s\n", n.Message)
	}
}

// visible is a command on one line, its arguments told apart.
func (c Command) visible() string {
	words := make([]string, len(c))
	for i := range c {
		words[i] = visible(c[i].Value.String())
	}
	return strings.Join(words, " ")
}

// String is the command on one line without its secrets, quoted for display only.
func (c Command) String() string { return c.visible() }

// visible quotes a text unless all of it is plain. Spaces, quotes and what a shell
// would act on are then within quotes; what has no picture of its own, or turns the
// direction of writing, is escaped.
func visible(s string) string {
	switch {
	case s != "" && only(s, "-._:/@%+=,"):
		return s
	case strings.ContainsFunc(s, hidden):
		return "$'" + escapedText(s) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hidden says that a character has no picture, as one that is not UTF-8.
func hidden(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }

func escapedText(s string) string {
	var b strings.Builder
	for i, c := range s {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(s[i:], string(c)): // not UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case !hidden(c):
			b.WriteRune(c)
		case c <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String()
}
