package ratelimit

import (
	"fmt"
	"strings"
)

// Counter keys are built bit for bit as the reference service does (REFERENCE.md, 3.1), so that
// both can count in one store:
//
//	prefix domain _ key _ value _ ... window
//
// without the spaces. Where a shared wildcard matched, its text stands for the
// value.

// keyPlan holds the fixed parts of a limit's counter keys: everything but values and
// window. Values that the rules name are taken from the
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

// id returns the same string for equal plans.
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

// appendCounterKey builds the key of a limit without a plan. l is nil if the limit came with
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

// Statistics keys (REFERENCE.md, 5.2): the domain
// and one part per level, joined with dots.

// metricPart returns the part of a level in the keys of the limits below it, and whether
// it depends on the request's value instead.
func metricPart(r *Rule) (part string, fromValue bool) {
	switch {
	case r.ShareThreshold && (r.ValueToMetric || r.DetailedMetric):
		return joinValue(r.Key, sharedPrefix(r.Value)), false
	case r.ValueToMetric && (r.Value == "" || isGlob(r.Value) || isGlob(r.Key)):
		return "", true
	}
	return joinValue(r.Key, r.Value), false
}

func joinValue(key, value string) string {
	if value == "" {
		return key
	}
	return key + "_" + value
}

// sharedPrefix is the text before the wildcard.
func sharedPrefix(value string) string {
	prefix, _, _ := strings.Cut(value, "*")
	return prefix
}

// appendMetric builds the key of a limit whose key depends on the request.
func (l *limit) appendMetric(b []byte, entries []Entry) []byte {
	start := len(b)
	b = append(b, l.domain...)
	for i := range l.path {
		b = append(b, '.')
		n, e := &l.path[i], &entries[i]
		switch {
		case l.detailed && n.shared:
			b = append(b, n.sharedMetric...)
		case l.detailed:
			b = append(b, e.Key...)
			b = append(b, '_')
			b = append(b, e.Value...)
		case n.fromValue && e.Value != "":
			b = append(b, e.Key...)
			b = append(b, '_')
			b = append(b, e.Value...)
		case n.fromValue:
			b = append(b, e.Key...)
		default:
			b = append(b, n.metric...)
		}
	}
	sanitiseMetric(b[start:])
	return b
}

// appendOverrideMetric builds the key of a limit that came with the request.
func appendOverrideMetric(b []byte, domain string, entries []Entry) []byte {
	start := len(b)
	b = append(b, domain...)
	b = append(b, '.')
	begin := len(b)
	for i := range entries {
		if len(b) > begin { // an empty entry leaves no dot, as in the reference service
			b = append(b, '.')
		}
		b = append(b, entries[i].Key...)
		if entries[i].Value != "" {
			b = append(b, '_')
			b = append(b, entries[i].Value...)
		}
	}
	sanitiseMetric(b[start:])
	return b
}

// sanitiseMetric replaces characters that push-style statistics can't have in a name:
// colons, bars, and the dots of anything that looks like an IPv4 address.
// No byte is added or removed.
func sanitiseMetric(b []byte) {
	for i, c := range b {
		if c == ':' || c == '|' {
			b[i] = '_'
		}
	}
	for i := 0; i < len(b); i++ {
		end := dottedQuad(b, i)
		if end < 0 {
			continue
		}
		for j := i; j < end; j++ {
			if b[j] == '.' {
				b[j] = '_'
			}
		}
		i = end - 1
	}
}

// dottedQuad returns where four groups of one to three digits with dots between
// them, beginning at i, end; -1 if there are none.
func dottedQuad(b []byte, i int) int {
	for group := range 4 {
		n := 0
		for n < 3 && i+n < len(b) && b[i+n] >= '0' && b[i+n] <= '9' {
			n++
		}
		if n == 0 {
			return -1
		}
		i += n
		if group == 3 {
			return i
		}
		if i >= len(b) || b[i] != '.' {
			return -1
		}
		i++
	}
	return -1
}
