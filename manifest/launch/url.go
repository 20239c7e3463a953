package launch

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// component is the part of a url that a token is in. It decides which values are allowed
// and how they are escaped.
type component uint8

const (
	componentStart component = iota // before any scheme: the value has it
	componentUser
	componentHost
	componentPath
	componentQuery // and fragment
)

// urlBuilder fills a url template.
type urlBuilder struct {
	*resolver
	pointer     string
	at          component
	text, shown strings.Builder
	secret      bool
	failed      bool // a value is missing or not allowed
}

// url fills the url template of a transport. A value stays in the component of its token:
// it is escaped, or rejected where nothing can be escaped (REFERENCE.md, 9.3).
func (r *resolver) url(pointer, template string, lookup func(name string) (text, bool)) Item {
	b := urlBuilder{resolver: r, pointer: pointer}
	for rest := template; ; {
		before, name, after := grammar.CutVariable(rest)
		b.text.WriteString(before)
		b.shown.WriteString(before)
		b.advance(before)
		if name == "" {
			break
		}
		if t, ok := lookup(name); ok {
			b.token(name, t, after)
		} else {
			b.missing(name)
		}
		if b.text.Len() > maxText {
			r.manifestFault(pointer, "", "the url is longer than %d bytes after substitution", maxText)
			return Item{}
		}
		rest = after
	}
	return b.item()
}

// advance moves to the component that s ends in.
func (b *urlBuilder) advance(s string) {
	if b.at == componentStart {
		_, rest, found := strings.Cut(s, "://")
		if !found {
			return
		}
		b.at, s = componentHost, rest
	}
	if b.at == componentHost {
		end := strings.IndexAny(s, "/?#")
		if end < 0 {
			return
		}
		b.at, s = componentPath, s[end:]
	}
	if b.at == componentPath && strings.ContainsAny(s, "?#") {
		b.at = componentQuery
	}
}

// token writes the value of a token.
func (b *urlBuilder) token(name string, t text, after string) {
	at := b.at
	if end := strings.IndexAny(after, "@/?#"); at == componentHost && end >= 0 && after[end] == '@' {
		at = componentUser
	}
	s, why := t.string, ""
	switch at {
	case componentStart:
		s, why = baseURL(s, after)
	case componentHost:
		switch {
		case s == "":
			why = "is empty, but the url needs a host or port"
		case !grammar.Only(s, "-._~:[]"):
			why = "has a character that a host or port cannot have"
		}
	case componentPath:
		// A server may decode an escaped slash before it cleans the path.
		dots := slices.ContainsFunc(strings.Split(s, "/"), func(segment string) bool { return segment == "." || segment == ".." })
		if dots || strings.Trim(s, ".") == "" {
			why = "is empty or has a path segment of dots only"
		}
		s = escape(s, grammar.Unreserved+grammar.SubDelims+":@")
	case componentUser, componentQuery:
		s = escape(s, grammar.Unreserved)
	}
	if why != "" {
		b.failed = true
		f := Fault{Kind: FaultManifest, Pointer: b.pointer, Message: fmt.Sprintf("the value of %s %s", jsonpos.Quote(name), why)}
		if p := b.named[name]; p != nil && t.given {
			f.Kind, f.Key, f.Pointer = FaultValue, p.Key, p.Pointer
		}
		b.fault(f)
		return
	}
	b.text.WriteString(s)
	b.advance(s)
	if t.secret {
		b.secret, s = true, masked
	}
	b.shown.WriteString(s)
}

// baseURL checks a value that a url begins with.
func baseURL(s, after string) (base, why string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || !isHTTP(u) || grammar.URIFault(s) != "":
		return "", "is not an http or https URL, with which this url must begin"
	case strings.ContainsAny(s, "?#") || u.User != nil:
		return "", "has a query, a fragment or a user, which the beginning of a url cannot have"
	case strings.HasPrefix(after, "/"):
		return strings.TrimSuffix(s, "/"), ""
	}
	return s, ""
}

// escape writes all bytes but letters, digits and those of plain as %XX.
func escape(s, plain string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; grammar.IsAlphanumeric(c) || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// missing reports a token without a value, which no URI can contain.
func (b *urlBuilder) missing(name string) {
	b.failed = true
	p := b.named[name]
	if p == nil {
		b.manifestFault(b.pointer, "", "the url contains %s, which has no value", jsonpos.Quote("{"+name+"}"))
		return
	}
	reported := slices.ContainsFunc(b.faults, func(f Fault) bool { return f.Key == p.Key })
	if !reported {
		b.fault(Fault{Kind: FaultMissing, Key: p.Key, Pointer: p.Pointer, Message: jsonpos.Quote(p.Key) + " is required by the url and has no value"})
	}
}

// item checks the complete url.
func (b *urlBuilder) item() Item {
	if b.failed {
		return Item{}
	}
	s := b.text.String()
	u, err := url.Parse(s)
	if err != nil || !isHTTP(u) || u.Hostname() == "" || grammar.URIFault(s) != "" {
		b.manifestFault(b.pointer, "", "the url is not a valid http or https URL after substitution")
		return Item{}
	}
	if u.Scheme == "http" && !isLocal(u.Hostname()) {
		b.notice(SeverityWarning, b.pointer, "the url is http: everything that is sent, secrets included, can be read in transit")
	}
	value := plainValue(s)
	if b.secret {
		value = secretValue(s, b.shown.String())
	}
	return Item{Value: value, Origin: b.opts.Pointer + b.pointer}
}
