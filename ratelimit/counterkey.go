package ratelimit

import "strconv"

// appendCounterKey builds the name of a counter, bit for bit as the reference
// service does (1.2), so that both can count in one store:
//
//	prefix domain _ key _ value _ ... window
//
// without the spaces. Where a shared wildcard matched, its text stands for the
// value. l may be nil: a limit that came with the request.
func appendCounterKey(b []byte, prefix, domain string, entries []Entry, l *limit, window int64) []byte {
	b = append(b, prefix...)
	b = append(b, domain...)
	b = append(b, '_')
	sharing := l != nil && l.sharing
	for i := range entries {
		e := &entries[i]
		b = append(b, e.Key...)
		b = append(b, '_')
		if sharing && l.path[i].shared {
			b = append(b, l.path[i].value...)
		} else {
			b = append(b, e.Value...)
		}
		b = append(b, '_')
	}
	return strconv.AppendInt(b, window, 10)
}
