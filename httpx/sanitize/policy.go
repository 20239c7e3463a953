package sanitize

import (
	"html"
	"strings"

	"github.com/microcosm-cc/bluemonday"

	"github.com/ashlar-go/ashlar/httpx"
)

// Policy decides what is markup. It is safe for concurrent use.
type Policy struct {
	html    *bluemonday.Policy
	skip    map[string]bool
	maxBody int64
}

// Options are the choices of a [Policy]. Nil means the defaults.
type Options struct {
	// Skip are the names of fields and parameters that are not looked at, in lower
	// case; in JSON at any depth. Default, when nil: password, new_password,
	// current_password and confirm_password.
	Skip []string
	// MaxBody is the most bytes of a body that are read; one that has more is answered
	// with 413. Default, when 0: httpx.DefaultBodyLimit.
	MaxBody int64
}

// New makes a policy.
func New(opts *Options) *Policy {
	names := []string{"password", "new_password", "current_password", "confirm_password"}
	if opts != nil && opts.Skip != nil {
		names = opts.Skip
	}
	p := &Policy{html: bluemonday.StrictPolicy(), skip: make(map[string]bool, len(names)), maxBody: httpx.DefaultBodyLimit}
	if opts != nil && opts.MaxBody > 0 {
		p.maxBody = opts.MaxBody
	}
	for _, name := range names {
		p.skip[name] = true
	}
	return p
}

// Clean reports whether a text is free of markup.
func (p *Policy) Clean(s string) bool {
	if !strings.Contains(s, "<") {
		return true
	}
	s = strings.ReplaceAll(s, "\x00", "") // some programs drop it, and then a tag may show
	return !mayHoldMarkup(s) || plain(p.html.Sanitize(s)) == plain(s)
}

// mayHoldMarkup reports whether a "<" is followed by what makes it more than a
// character (HTML Living Standard, 13.2.5.6).
func mayHoldMarkup(s string) bool {
	for {
		_, rest, found := strings.Cut(s, "<")
		if !found || rest == "" {
			return false
		}
		c := rest[0] | ' ' // a letter in lower case
		if 'a' <= c && c <= 'z' || strings.IndexByte("/!?", rest[0]) >= 0 {
			return true
		}
		s = rest
	}
}

// plain is the text without what the policy's parser changes in any text.
func plain(s string) string {
	s = html.UnescapeString(s)
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
