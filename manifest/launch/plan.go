package launch

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// masked replaces a secret wherever one would be printed.
const masked = "***"

// Value is a string of a plan that may be secret. Printing and encoding a secret yields
// ***; only [Value.Reveal] returns the string itself. The zero Value is empty.
type Value struct {
	// Pointers, because package fmt prints unexported fields of nested values without
	// calling their methods, but does not follow pointers there.
	text, shown *string // shown is nil unless the value is secret
}

// newValue returns a value, which is shown as *** if it is secret.
func newValue(text string, secret bool) Value {
	if secret {
		return secretValue(text, masked)
	}
	return Value{text: &text}
}

func plainValue(text string) Value { return newValue(text, false) }

// secretValue returns a value that is shown as another string.
func secretValue(text, shown string) Value { return Value{text: &text, shown: &shown} }

// Reveal returns the string itself, secret or not, for the process, connection or keyring
// that needs it.
func (v Value) Reveal() string { return orElse(v.text, "") }

// IsSecret reports whether the string must not be shown.
func (v Value) IsSecret() bool { return v.shown != nil }

// String returns the string, or what may be shown of a secret: "***", "--token=***".
func (v Value) String() string { return orElse(v.shown, v.Reveal()) }

// GoString returns String in quotes.
func (v Value) GoString() string { return strconv.Quote(v.String()) }

// Format prints String with every verb, because %d would print the fields otherwise.
func (v Value) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'v' && s.Flag('#'):
		_, _ = fmt.Fprint(s, v.GoString())
	case strings.ContainsRune("vsqxX", verb):
		_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), v.String())
	default:
		_, _ = fmt.Fprint(s, v.String())
	}
}

// MarshalJSON returns String as JSON.
func (v Value) MarshalJSON() ([]byte, error) { return jsonpos.AppendValue(nil, v.String()), nil }

// MarshalText returns String, for encoders of other formats.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// LogValue returns String, for package slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Plan describes how to start a package for one user: what to download, what to run with which
// environment, and how to connect to it. Nothing in it goes through a shell: pass
// [Plan.Argv] and [Plan.Env] to os/exec unchanged.
//
// Printing and encoding a plan does not reveal its secrets.
type Plan struct {
	// Files must be downloaded and verified before anything is run.
	Files []manifest.File `json:"files,omitempty"`
	// Setup are commands to run to completion, in order, before Command.
	Setup []Command `json:"setup,omitempty"`
	// Command starts the server. It is empty for a bundle file, whose own manifest defines
	// its command; that takes Arguments.
	Command Command `json:"command,omitempty"`
	// Arguments are those of the package alone, which are the end of Command too.
	Arguments []Item `json:"arguments,omitempty"`
	// Environment is set for Command in addition to the inherited one, in the order of the
	// document and without duplicate names.
	Environment []Setting `json:"environment,omitempty"`
	// Paths are the inputs of format filepath.
	Paths []Setting `json:"paths,omitempty"`
	// Transport says how to connect to Command. URL and Headers are nil for Stdio.
	Transport manifest.TransportType `json:"transport"`
	URL       *Item                  `json:"url,omitempty"`
	Headers   []Setting              `json:"headers,omitempty"`
	// Notices are for the person who has to agree.
	Notices []Notice `json:"notices,omitempty"`
}

// Command is a program and its arguments.
type Command []Item

// Item is one string of a plan with its origin.
type Item struct {
	Value Value `json:"value"`
	// Origin is the JSON pointer of the value in the manifest that it comes from, or "" for
	// what the launcher adds.
	Origin string `json:"origin,omitempty"`
}

// Setting is an environment variable or a header.
type Setting struct {
	Name   string `json:"name"`
	Value  Value  `json:"value"`
	Origin string `json:"origin,omitempty"` // as in Item
}

// Severity ranks notices.
type Severity string

// The severities. SeverityInfo states how the plan differs from what the manifest says,
// SeverityWarning what may not be what the publisher or the user expects, and
// SeverityDanger what lets the server or others do more than a server needs.
const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityDanger  Severity = "danger"
)

// Notice is a remark about a plan that is allowed.
type Notice struct {
	Severity Severity `json:"severity"`
	Pointer  string   `json:"pointer"` // of the value in the manifest
	Message  string   `json:"message"` // one line, without secrets
}

// Endpoint describes the connection of one user to a remote. Printing and encoding it does not reveal
// its secrets.
type Endpoint struct {
	Type    manifest.TransportType `json:"type"`
	URL     Item                   `json:"url"`
	Headers []Setting              `json:"headers,omitempty"`
	Notices []Notice               `json:"notices,omitempty"`
}

// Argv returns the program and its arguments with secrets, as os/exec takes them.
func (c Command) Argv() []string {
	argv := make([]string, len(c))
	for i := range c {
		argv[i] = c[i].Value.Reveal()
	}
	return argv
}

// Argv returns the command of the server with secrets. It is empty for a bundle file.
func (p *Plan) Argv() []string { return p.Command.Argv() }

// Env returns the environment with secrets as NAME=value, to be appended to the inherited
// one.
func (p *Plan) Env() []string {
	env := make([]string, len(p.Environment))
	for i, s := range p.Environment {
		env[i] = s.Name + "=" + s.Value.Reveal()
	}
	return env
}

// Consent describes the plan to a person who has to agree before it is carried out: the
// downloads, every command with its arguments, the environment, the endpoint and the
// notices. Secrets are ***. Characters that could mislead the reader are escaped.
//
// The quotes are for display only: never pass the text, or a line of it, to a shell.
func (p *Plan) Consent() string {
	var b strings.Builder
	for _, f := range p.Files {
		fmt.Fprintf(&b, "This file is downloaded, and used only if its SHA-256 matches:\n  %s\n  %s\n", visible(f.URL), visible(f.SHA256))
	}
	for _, c := range p.Setup {
		fmt.Fprintf(&b, "This command is run first:\n  %s\n", c)
	}
	if len(p.Command) > 0 {
		fmt.Fprintf(&b, "This command is run with all your permissions on this machine:\n  %s\n", p.Command)
	} else if len(p.Arguments) > 0 {
		fmt.Fprintf(&b, "It is started with these arguments:\n  %s\n", Command(p.Arguments))
	}
	writeSettings(&b, "with these environment variables", "=", p.Environment)
	writeSettings(&b, "It gets these paths", ": ", p.Paths)
	if p.URL != nil {
		fmt.Fprintf(&b, "It is reached at:\n  %s\n", visible(p.URL.Value.String()))
	}
	writeSettings(&b, "with these headers", ": ", p.Headers)
	writeNotices(&b, p.Notices)
	return b.String()
}

// Consent describes the endpoint as [Plan.Consent] does a plan.
func (e *Endpoint) Consent() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This server is connected to:\n  %s\n", visible(e.URL.Value.String()))
	writeSettings(&b, "with these headers", ": ", e.Headers)
	writeNotices(&b, e.Notices)
	return b.String()
}

func writeSettings(b *strings.Builder, title, separator string, list []Setting) {
	if len(list) > 0 {
		fmt.Fprintf(b, "%s:\n", title)
	}
	for _, s := range list {
		fmt.Fprintf(b, "  %s%s%s\n", visible(s.Name), separator, visible(s.Value.String()))
	}
}

func writeNotices(b *strings.Builder, list []Notice) {
	for _, n := range list {
		word := "Note"
		switch n.Severity {
		case SeverityWarning:
			word = "Warning"
		case SeverityDanger:
			word = "Danger"
		}
		fmt.Fprintf(b, "%s: %s\n", word, n.Message)
	}
}

// String returns the command on one line without its secrets, quoted for display only.
func (c Command) String() string {
	words := make([]string, len(c))
	for i := range c {
		words[i] = visible(c[i].Value.String())
	}
	return strings.Join(words, " ")
}

// visible quotes a string unless all of it is plain. Within the quotes it escapes what has
// no glyph or changes the direction of writing.
func visible(s string) string {
	switch {
	case s != "" && grammar.Only(s, "-._:/@%+=,"):
		return s
	case !strings.ContainsFunc(s, isHidden):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i, c := range s {
		switch {
		case c == utf8.RuneError && !strings.HasPrefix(s[i:], string(c)): // not UTF-8
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case !isHidden(c):
			b.WriteRune(c)
		case c <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String() + "'"
}

// isHidden reports whether a character has no glyph, or is what a byte that is not UTF-8
// is decoded to.
func isHidden(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }
