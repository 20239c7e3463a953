package ratelimit

// Counter keys are built bit for bit as the reference service does (1.2), so that
// both can count in one store:
//
//	prefix domain _ key _ value _ ... window
//
// without the spaces. Where a shared wildcard matched, its text stands for the
// value.

// keyPlan is what is known of a limit's counter keys before a request comes:
// everything but values and window.
type keyPlan struct {
	parts []keyPart
	tail  string
}

// keyPart is fixed text and the entry whose value follows it.
type keyPart struct {
	text  string
	entry int
}

// newKeyPlan reports false if the keys of the entries are not known either,
// because that of a rule is a pattern.
func newKeyPlan(prefix, domain string, path []*node) (keyPlan, bool) {
	var p keyPlan
	text := prefix + domain + "_"
	for i, n := range path {
		text += n.key + "_"
		switch {
		case isGlob(n.key):
			return keyPlan{}, false
		case n.shared || n.value != "" && !isGlob(n.value):
			text += n.value
		default:
			p.parts = append(p.parts, keyPart{text, i})
			text = ""
		}
		text += "_"
	}
	p.tail = text
	return p, true
}

func (p *keyPlan) append(b []byte, entries []Entry, window string) []byte {
	for i := range p.parts {
		part := &p.parts[i]
		b = append(b, part.text...)
		b = append(b, entries[part.entry].Value...)
	}
	b = append(b, p.tail...)
	return append(b, window...)
}

// appendCounterKey is for limits without a plan: l is nil if the limit came with
// the request.
func appendCounterKey(b []byte, prefix, domain string, entries []Entry, l *limit, window string) []byte {
	b = append(b, prefix...)
	b = append(b, domain...)
	b = append(b, '_')
	for i := range entries {
		e := &entries[i]
		b = append(b, e.Key...)
		b = append(b, '_')
		if l != nil && l.path[i].shared {
			b = append(b, l.path[i].value...)
		} else {
			b = append(b, e.Value...)
		}
		b = append(b, '_')
	}
	return append(b, window...)
}
