package statsd

import (
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// agent is the push protocol of agents that know tags.
type agent struct {
	tags       []stats.Tag
	mogrifiers []mogrifier
}

func (a *agent) label(name string) label {
	if name == "" {
		return label{}
	}
	base, own := split(withTags(name, a.tags))
	metric, more := a.mogrify(base)
	tags := make([]string, 0, len(own)+len(more))
	for _, t := range own {
		tags = append(tags, cleanTag(t.Name+":"+t.Value))
	}
	for _, t := range more {
		tags = append(tags, cleanTag(t))
	}
	l := label{head: metric + ":"}
	if len(tags) > 0 {
		l.tail = "|#" + strings.Join(tags, ",")
	}
	return l
}

// mogrify maps a name by the first mogrifier whose pattern it matches. One that is
// mapped to nothing keeps its name.
func (a *agent) mogrify(name string) (string, []string) {
	for i := range a.mogrifiers {
		metric, tags, ok := a.mogrifiers[i].apply(name)
		if !ok {
			continue
		}
		if metric = clean(metric, ":|"); metric != "" {
			return metric, tags
		}
		break
	}
	return name, nil
}

// cleanTag is a tag without what would end it.
func cleanTag(tag string) string { return clean(tag, ",|") }

func (*agent) begin()                         {}
func (*agent) end(b []byte) []byte            { return b }
func (*agent) line(b []byte, s sample) []byte { return appendLine(b, s) }
