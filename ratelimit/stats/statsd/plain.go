package statsd

import (
	"strconv"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// plain is the push protocol as the reference service speaks it: tags are a part of
// the name.
type plain struct{ tags []stats.Tag }

func (p plain) label(name string) label {
	if name == "" {
		return label{}
	}
	return label{head: withTags(name, p.tags) + ":"}
}

func (plain) begin()                         {}
func (plain) end(b []byte) []byte            { return b }
func (plain) line(b []byte, s sample) []byte { return appendLine(b, s) }

// appendLine writes "<head><value>|<type>|@<rate><tail>".
func appendLine(b []byte, s sample) []byte {
	b = append(b, s.label.head...)
	b = strconv.AppendUint(b, s.value, 10)
	switch s.kind {
	case counterKind:
		b = append(b, "|c"...)
	case gaugeKind:
		b = append(b, "|g"...)
	case timerKind:
		b = append(b, "|ms"...)
		if s.rate < 1 {
			// Daemons do not read an exponent.
			b = strconv.AppendFloat(append(b, "|@"...), s.rate, 'f', -1, 64)
		}
	}
	b = append(b, s.label.tail...)
	return append(b, '\n')
}
