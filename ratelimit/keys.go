package ratelimit

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// KeyFormat selects how counter keys are built (REFERENCE.md, 3.1).
type KeyFormat string

// The formats. The empty KeyFormat is KeyUnambiguous.
const (
	// KeyUnambiguous gives different counters different keys, whatever a client sends:
	//
	//	domain|key|value|1700000100+60
	KeyUnambiguous KeyFormat = "unambiguous"
	// KeyReference is the format of the reference service, bit for bit, to share counters
	// with it in one store. Clients that choose values can make different descriptors have
	// one key: see REFERENCE.md, 3.1.
	//
	//	domain_key_value_1700000100
	KeyReference KeyFormat = "reference"
)

// KeyFormatNames lists the formats, for error messages.
const KeyFormatNames = "reference or unambiguous"

// Valid reports whether f is one of the constants.
func (f KeyFormat) Valid() bool { return f == KeyUnambiguous || f == KeyReference }

// keyFormat is a KeyFormat as an engine holds it.
type keyFormat uint8

const (
	unambiguous keyFormat = iota
	reference
	keyFormats
)

// The separators of a key. In the unambiguous format, no part contains keySeparator, and no
// part that a request supplies begins with keyShared.
const (
	keySeparator   = '|'
	keyShared      = "~*" // before a wildcard whose matches share a counter
	keyLeastEscape = '{'  // the smallest of the bytes that are escaped: {, | and ~
)

// separator returns the byte between the parts of a key.
func (f keyFormat) separator() byte {
	if f == reference {
		return '_'
	}
	return keySeparator
}

// appendPart appends a domain, a key or a value.
func (f keyFormat) appendPart(b []byte, s string) []byte {
	if f == reference {
		return append(b, s...)
	}
	return appendEscaped(b, s)
}

// appendShared appends a wildcard that stands for all values that it matches.
func (f keyFormat) appendShared(b []byte, pattern string) []byte {
	if f != reference {
		b = append(b, keyShared...)
	}
	return f.appendPart(b, pattern)
}

// appendEscaped appends s with ~0 for ~, ~1 for | and ~2 for {. Without a {, no value can
// choose the hash slot of its counter in a Redis cluster.
func appendEscaped(b []byte, s string) []byte {
	if mayNeedEscape(s) {
		return appendEscapedSlowly(b, s)
	}
	return append(b, s...)
}

// mayNeedEscape reports whether a byte is keyLeastEscape or greater.
func mayNeedEscape(s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	if len(s) < 8 {
		for i := range len(s) {
			if s[i] >= keyLeastEscape {
				return true
			}
		}
		return false
	}
	// Eight bytes at a time, and the last eight, some of them perhaps again. A carry between
	// bytes can only add a true.
	x := word(s[len(s)-8:])
	found := x | (x + (0x80-keyLeastEscape)*ones)
	for ; len(s) > 8; s = s[8:] {
		x = word(s)
		found |= x | (x + (0x80-keyLeastEscape)*ones)
	}
	return found&tops != 0
}

// word returns the first eight bytes of s.
func word(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s)) }

func appendEscapedSlowly(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '~':
			b = append(b, "~0"...)
		case keySeparator:
			b = append(b, "~1"...)
		case '{':
			b = append(b, "~2"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// keyPlan holds the fixed parts of a limit's counter keys: everything but values and
// window, in each format. Values that the rules name are taken from the
// request like any other, so that thousands of sibling rules have one plan.
type keyPlan [keyFormats]formatPlan

type formatPlan struct {
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
	for i := range path {
		if isGlob(path[i].key) {
			return nil
		}
	}
	p := new(keyPlan)
	for f := range keyFormats {
		p[f] = f.plan(domain, path)
	}
	return p
}

func (f keyFormat) plan(domain string, path []pathRule) (p formatPlan) {
	sep := f.separator()
	text := f.appendPart(nil, domain)
	for i := range path {
		r := &path[i]
		text = append(text, sep)
		text = append(f.appendPart(text, r.key), sep)
		if r.shared {
			text = f.appendShared(text, r.value)
			continue
		}
		p.parts = append(p.parts, keyPart{string(text), i})
		text = text[:0]
	}
	p.tail = string(text)
	return p
}

// id returns the same string for equal plans. Plans whose unambiguous keys are equal have
// equal keys in every format.
func (p *keyPlan) id() string {
	var b strings.Builder
	for _, part := range p[unambiguous].parts {
		fmt.Fprintf(&b, "%q%d,", part.text, part.entry)
	}
	return b.String() + p[unambiguous].tail
}

// append adds the key without the prefix. The text of the window begins with the
// separator before it.
func (p *keyPlan) append(b []byte, f keyFormat, entries []Entry, window string) []byte {
	plan := &p[f]
	if len(plan.parts) == 1 && plan.tail == "" {
		part := &plan.parts[0]
		if value := entries[part.entry].Value; f == reference || !mayNeedEscape(value) {
			return append(append(append(b, part.text...), value...), window...)
		}
	}
	for i := range plan.parts {
		part := &plan.parts[i]
		b = append(b, part.text...)
		value := entries[part.entry].Value
		if f == unambiguous && mayNeedEscape(value) { // as appendPart, which would not be inlined
			b = appendEscapedSlowly(b, value)
		} else {
			b = append(b, value...)
		}
	}
	if plan.tail != "" { // an append of nothing is not free
		b = append(b, plan.tail...)
	}
	return append(b, window...)
}

// appendCounterKey builds the key of a limit without a plan. l is nil if the limit came with
// the request.
func (f keyFormat) appendCounterKey(b []byte, domain string, entries []Entry, l *limit, window string) []byte {
	sep := f.separator()
	b = f.appendPart(b, domain)
	for i := range entries {
		e := &entries[i]
		b = f.appendPart(append(b, sep), e.Key)
		b = append(b, sep)
		if l != nil && l.path[i].shared {
			b = f.appendShared(b, l.path[i].value)
		} else {
			b = f.appendPart(b, e.Value)
		}
	}
	return append(b, window...)
}

// Statistics keys (REFERENCE.md, 5.2): the domain
// and one part per level, joined with dots.

func joinValue(key, value string) string {
	if value == "" {
		return key
	}
	return key + "_" + value
}

// appendMetric builds the key of a limit. If that does not depend on the request, the entries may be
// zero. With dots, those of keys and values become "_".
func (l *limit) appendMetric(b []byte, entries []Entry, dots bool) []byte {
	start := len(b)
	b = append(b, l.domain...)
	for i := range l.path {
		b = append(b, '.')
		part := len(b)
		n, e := &l.path[i], &entries[i]
		switch {
		case l.rule.DetailedMetric && n.shared:
			b = append(b, n.sharedMetric...)
		case l.rule.DetailedMetric, n.fromValue && e.Value != "":
			b = append(b, e.Key...)
			b = append(b, '_')
			b = append(b, e.Value...)
		case n.fromValue:
			b = append(b, e.Key...)
		default:
			b = append(b, n.metric...)
		}
		replaceDots(b[part:], dots)
	}
	sanitiseMetric(b[start:])
	return b
}

// fixedMetric returns the key of a limit whose key does not depend on the request, or "".
func (l *limit) fixedMetric(dots bool) string {
	if !dots || l.metric == "" {
		return l.metric
	}
	return string(l.appendMetric(nil, make([]Entry, len(l.path)), dots))
}

// appendOverrideMetric builds the key of a limit that came with the request, with the values of its entries or without.
func appendOverrideMetric(b []byte, domain string, entries []Entry, values, dots bool) []byte {
	start := len(b)
	b = append(b, domain...)
	b = append(b, '.')
	begin := len(b)
	for i := range entries {
		if len(b) > begin { // an empty entry leaves no dot, as in the reference service
			b = append(b, '.')
		}
		part := len(b)
		b = append(b, entries[i].Key...)
		if values && entries[i].Value != "" {
			b = append(b, '_')
			b = append(b, entries[i].Value...)
		}
		replaceDots(b[part:], dots)
	}
	sanitiseMetric(b[start:])
	return b
}

// replaceDots replaces the dots of a part of a key, if dots is true.
func replaceDots(part []byte, dots bool) {
	for i := 0; dots && i < len(part); i++ {
		if part[i] == '.' {
			part[i] = '_'
		}
	}
}

// sanitiseMetric replaces characters that push-style statistics can't have in a name:
// colons, bars, the dots of anything that looks like an IPv4 address, and control characters,
// which would add lines to a page or a push. No byte is added or removed.
func sanitiseMetric(b []byte) {
	const c1 = 0xc2 // begins U+0080 to U+00BF; those up to U+009F are control characters
	for i, c := range b {
		switch {
		case c == ':' || c == '|' || c < ' ' || c == 0x7f:
			b[i] = '_'
		case c == c1 && i+1 < len(b) && b[i+1] >= 0x80 && b[i+1] < 0xa0:
			b[i], b[i+1] = '_', '_'
		}
	}
	for i := 0; i < len(b); i++ {
		if b[i]-'0' > 9 { // no digit, as nearly everywhere
			continue
		}
		if n := dottedQuad(b[i:]); n > 0 {
			replaceDots(b[i:i+n], true)
			i += n - 1
		}
	}
}

// dottedQuad returns the length of the four groups of one to three digits, with dots between them, that
// b begins with, 0 if it does not.
func dottedQuad(b []byte) (n int) {
	for group := range 4 {
		if group > 0 {
			if n == len(b) || b[n] != '.' {
				return 0
			}
			n++
		}
		first := n
		for n < len(b) && n < first+3 && b[n]-'0' <= 9 {
			n++
		}
		if n == first {
			return 0
		}
	}
	return n
}
