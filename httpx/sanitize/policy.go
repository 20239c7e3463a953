package sanitize

import (
	"cmp"
	"html"
	"strings"

	"github.com/microcosm-cc/bluemonday"

	"github.com/ashlar-go/ashlar/httpx"
)

// Policy detects markup. It is safe for concurrent use.
type Policy struct {
	html    *bluemonday.Policy
	skip    map[string]bool
	maxBody int64
}

// Options configures a [Policy]. Nil means the defaults.
type Options struct {
	// Skip lists the names of fields and parameters that are not checked, in lower case; in
	// JSON at any depth. Default, when nil: password, new_password,
	// current_password and confirm_password.
	Skip []string
	// MaxBody is the maximum size of a body; larger bodies get 413. Default:
	// httpx.DefaultBodyLimit.
	MaxBody int64
}

// New returns a policy.
func New(opts *Options) *Policy {
	names := []string{"password", "new_password", "current_password", "confirm_password"}
	o := *cmp.Or(opts, &Options{})
	if o.Skip != nil {
		names = o.Skip
	}
	p := &Policy{html: bluemonday.StrictPolicy(), skip: make(map[string]bool, len(names)), maxBody: cmp.Or(max(0, o.MaxBody), httpx.DefaultBodyLimit)}
	for _, name := range names {
		p.skip[name] = true
	}
	return p
}

// Clean reports whether a string contains no markup.
func (p *Policy) Clean(s string) bool {
	if !strings.Contains(s, "<") {
		return true
	}
	// Some programs drop NUL, which may complete a tag; to others it begins a comment in "</\x00".
	return p.clean(s) && (!strings.Contains(s, "\x00") || p.clean(strings.ReplaceAll(s, "\x00", "")))
}

// clean reports whether a string contains no markup to a program that keeps NUL.
func (p *Policy) clean(s string) bool {
	return harmless(s) || plain(p.html.Sanitize(s)) == plain(s)
}

// plain undoes what the policy's parser changes in plain text.
func plain(s string) string {
	s = html.UnescapeString(s)
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
