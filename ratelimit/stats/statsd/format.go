package statsd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// kind is the type of a statistic.
type kind uint8

const (
	counterKind kind = iota
	gaugeKind
	timerKind
)

// label is the constant part of the lines of a statistic: the bytes before the value
// and those after the rest. A statistic without a head is not sent.
type label struct{ head, tail string }

// maxLabel limits the name and tags of a line in bytes. What is longer is left out,
// because it would not fit into a datagram.
const maxLabel = 8 << 10

// sample is the content of one line.
type sample struct {
	label label
	kind  kind
	value uint64  // a delta, a value, or milliseconds
	rate  float64 // of a timer: the fraction of the calls that have a line
}

// format determines how statistics are written.
type format interface {
	// label prepares the lines of a statistic. It contains nothing that a receiver
	// would read as the end of a line or as another statistic.
	label(name string) label
	// begin is called before the first line of each flush.
	begin()
	// line appends the line of a sample.
	line(b []byte, s sample) []byte
	// end appends what ends a flush, if anything.
	end(b []byte) []byte
}

// labelOf returns the label of a statistic; ok is false if it is too long to be sent.
func labelOf(f format, name string) (l label, ok bool) {
	if name == "" {
		return label{}, true
	}
	if len(name) <= maxLabel {
		if l = f.label(name); len(l.head)+len(l.tail) <= maxLabel {
			return l, true
		}
	}
	return label{}, false
}

// statsdLines is the part that the plain and the agent's protocol have in common.
type statsdLines struct{}

func (statsdLines) begin()              {}
func (statsdLines) end(b []byte) []byte { return b }

// line writes "<head><value>|<type>|@<rate><tail>".
func (statsdLines) line(b []byte, s sample) []byte {
	b = append(b, s.label.head...)
	b = strconv.AppendUint(b, s.value, 10)
	b = append(b, [...]string{counterKind: "|c", gaugeKind: "|g", timerKind: "|ms"}[s.kind]...)
	if s.kind == timerKind && s.rate < 1 {
		// Daemons do not read exponents.
		b = strconv.AppendFloat(append(b, "|@"...), s.rate, 'f', -1, 64)
	}
	return append(append(b, s.label.tail...), '\n')
}

// plain is the protocol of the reference service, in which tags are part of the name.
type plain struct {
	statsdLines
	tags []stats.Tag
}

func (p plain) label(name string) label { return label{head: withTags(name, p.tags) + ":"} }

// agent is the protocol of agents that support tags.
type agent struct {
	statsdLines
	tags       []stats.Tag
	mogrifiers []mogrifier
}

func (a *agent) label(name string) label {
	name, own := splitTags(withTags(name, a.tags))
	var tags []string
	for _, t := range own {
		tags = append(tags, t.Name+":"+t.Value)
	}
	for i := range a.mogrifiers {
		metric, more, ok := a.mogrifiers[i].apply(name)
		if !ok {
			continue
		}
		if metric = clean(metric, ":|"); metric != "" { // else the name stays unchanged
			name, tags = metric, append(tags, more...)
		}
		break
	}
	l := label{head: name + ":"}
	for i, t := range tags {
		tags[i] = clean(t, ",|")
	}
	if len(tags) > 0 {
		l.tail = "|#" + strings.Join(tags, ",")
	}
	return l
}

// jsonLines writes a JSON object for each line of the plain protocol, and one at the
// end of each flush.
type jsonLines struct {
	tags []stats.Tag
	now  func() time.Time

	start []byte // of all lines of a flush
}

func (j *jsonLines) label(name string) label {
	quoted, _ := json.Marshal(withTags(name, j.tags)) // cannot fail for a string
	return label{head: string(quoted)}
}

func (j *jsonLines) begin() {
	now := j.now()
	j.start = fmt.Appendf(nil, `{"level":"debug","ts":%d.%06d,"logger":"ratelimit.stats","msg":"flushing `, now.Unix(), now.Nanosecond()/1000)
}

func (j *jsonLines) line(b []byte, s sample) []byte { // allocates nothing
	kind := [...]string{counterKind: "counter", gaugeKind: "gauge", timerKind: "timer"}[s.kind]
	b = append(append(b, j.start...), kind...)
	b = append(append(b, `","json":{"name":`...), s.label.head...)
	if s.kind == timerKind && s.rate < 1 {
		b = strconv.AppendFloat(append(b, `,"rate":"`...), s.rate, 'f', -1, 64)
		b = append(b, '"')
	}
	b = append(append(b, `,"type":"`...), kind...)
	b = strconv.AppendUint(append(b, `","value":"`...), s.value, 10)
	return append(b, `.000000"}}`+"\n"...)
}

func (j *jsonLines) end(b []byte) []byte {
	return append(append(b, j.start...), `all stats","json":{"type":"all stats","value":"0.000000"}}`+"\n"...)
}

// withTags adds extra tags to those that a name has, and replaces everything that
// would end the name or the line. Without extra tags a name keeps its order of tags.
func withTags(name string, extra []stats.Tag) string {
	if len(extra) > 0 {
		base, tags := splitTags(name)
		for _, t := range extra {
			same := func(own stats.Tag) bool { return own.Name == t.Name }
			if !slices.ContainsFunc(tags, same) { // the statistic's own tag takes precedence
				tags = append(tags, t)
			}
		}
		name = stats.Tagged(base, tags...)
	}
	return clean(name, ":|")
}

// splitTags separates a name from its tags. A value from a request that resembles a
// tag stays in the name: the values that stats.Tagged writes have no dots.
func splitTags(name string) (string, []stats.Tag) {
	base, tags := stats.SplitTags(name)
	invalid := func(t stats.Tag) bool { return t.Name == "" || strings.Contains(t.Value, ".") }
	if base == "" || slices.ContainsFunc(tags, invalid) {
		return name, nil
	}
	return base, tags
}

// clean replaces control characters and those of bad by "_". The reference service
// sends control characters, with which a client could write lines of its own.
func clean(s, bad string) string {
	isBad := func(c byte) bool { return c < ' ' || c == 0x7f || strings.IndexByte(bad, c) >= 0 }
	b := []byte(s)
	for i, c := range b {
		if isBad(c) {
			b[i] = '_'
		}
	}
	return string(b)
}
