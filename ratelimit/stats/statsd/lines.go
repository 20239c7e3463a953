package statsd

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// lines is the form for a log: a JSON object for each line of the push protocol,
// and one at the end of each flush.
type lines struct {
	tags []stats.Tag
	now  func() time.Time

	start []byte // of all lines of a flush
}

func (l *lines) label(name string) label {
	if name == "" {
		return label{}
	}
	quoted, err := json.Marshal(withTags(name, l.tags))
	if err != nil {
		return label{}
	}
	return label{head: string(quoted)}
}

func (l *lines) begin() {
	now := l.now()
	b := append(l.start[:0], `{"level":"debug","ts":`...)
	b = strconv.AppendInt(b, now.Unix(), 10)
	micros := strconv.Itoa(now.Nanosecond() / 1000)
	b = append(append(append(b, '.'), strings.Repeat("0", 6-len(micros))...), micros...)
	l.start = append(b, `,"logger":"ratelimit.stats","msg":"flushing `...)
}

func (l *lines) line(b []byte, s sample) []byte {
	what := [...]string{counterKind: "counter", gaugeKind: "gauge", timerKind: "timer"}[s.kind]
	b = append(append(b, l.start...), what...)
	b = append(append(b, `","json":{"name":`...), s.label.head...)
	if s.kind == timerKind && s.rate < 1 {
		b = strconv.AppendFloat(append(b, `,"rate":"`...), s.rate, 'f', -1, 64)
		b = append(b, '"')
	}
	b = append(append(b, `,"type":"`...), what...)
	b = strconv.AppendUint(append(b, `","value":"`...), s.value, 10)
	return append(b, `.000000"}}`+"\n"...)
}

func (l *lines) end(b []byte) []byte {
	return append(append(b, l.start...), `all stats","json":{"type":"all stats","value":"0.000000"}}`+"\n"...)
}
