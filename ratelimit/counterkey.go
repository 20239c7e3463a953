package ratelimit

import (
	"fmt"
	"strings"
)

// Counter keys are built bit for bit as the reference service does (1.2), so that
// both can count in one store:
//
//	prefix domain _ key _ value _ ... window
//
// without the spaces. Where a shared wildcard matched, its text stands for the
// value.

// keyPlan is what is known of a limit's counter keys before a request comes:
// everything but values and window. Values that the rules name are taken from the
// request like any other, so that thousands of sibling rules have one plan.
type keyPlan struct {
	parts []keyPart
	tail  string
}

// keyPart is fixed text and the entry whose value follows it.
type keyPart struct {
	text  string
	entry int
}

// newKeyPlan returns nil if the keys of the entries are not known either, because
// that of a rule is a pattern.
func newKeyPlan(domain string, path []pathRule) *keyPlan {
	p := new(keyPlan)
	text := domain + "_"
	for i := range path {
		r := &path[i]
		text += r.key + "_"
		switch {
		case isGlob(r.key):
			return nil
		case r.shared:
			text += r.value
		default:
			p.parts = append(p.parts, keyPart{text, i})
			text = ""
		}
		if i < len(path)-1 {
			text += "_"
		}
	}
	p.tail = text
	return p
}

// id is the same for plans that are the same.
func (p *keyPlan) id() string {
	var b strings.Builder
	for _, part := range p.parts {
		fmt.Fprintf(&b, "%q%d,", part.text, part.entry)
	}
	return b.String() + p.tail
}

// append adds the key without the prefix. The text of the window begins with the
// underscore before it.
func (p *keyPlan) append(b []byte, entries []Entry, window string) []byte {
	for i := range p.parts {
		part := &p.parts[i]
		b = append(b, part.text...)
		b = append(b, entries[part.entry].Value...)
	}
	if p.tail != "" {
		b = append(b, p.tail...)
	}
	return append(b, window...)
}

// appendCounterKey is for limits without a plan: l is nil if the limit came with
// the request.
func appendCounterKey(b []byte, domain string, entries []Entry, l *limit, window string) []byte {
	b = append(b, domain...)
	for i := range entries {
		e := &entries[i]
		b = append(b, '_')
		b = append(b, e.Key...)
		b = append(b, '_')
		if l != nil && l.path[i].shared {
			b = append(b, l.path[i].value...)
		} else {
			b = append(b, e.Value...)
		}
	}
	return append(b, window...)
}
