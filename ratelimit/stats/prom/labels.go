package prom

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

type label struct{ name, value string }

// labelSet is what the series of one limit have in common.
type labelSet struct {
	id     string
	pairs  []*dto.LabelPair
	series int
}

// statisticLabel tells statistics apart that would otherwise be one series.
const statisticLabel = "statistic"

// marked adds the statistic's name to the labels, in place of a label of a mapping file
// that happens to be called so.
func marked(labels []label, statistic string) []label {
	others := slices.DeleteFunc(labels, func(l label) bool { return l.name == statisticLabel })
	return shown(append(others, label{statisticLabel, quoted(statistic)}))
}

// quoted is the name itself if it can be shown, and never the same for two names.
func quoted(name string) string {
	if valid(name) != name || name == "" || name[0] == '"' {
		return strconv.Quote(name)
	}
	return name
}

// shown is the labels as they are shown: a label without a value is the same as none.
func shown(labels []label) []label {
	all := make([]label, 0, len(labels))
	for _, l := range labels {
		if l.value = valid(l.value); l.value != "" {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b label) int { return cmp.Compare(a.name, b.name) })
	return all
}

// identity is the same for two sets of labels only if they are: no UTF-8 text has the
// byte 255.
func identity(labels []label) string {
	var b strings.Builder
	for _, l := range labels {
		b.WriteString(l.name)
		b.WriteByte(0xff)
		b.WriteString(l.value)
		b.WriteByte(0xff)
	}
	return b.String()
}

func pairs(labels []label) []*dto.LabelPair {
	all := make([]*dto.LabelPair, len(labels))
	for i := range labels {
		all[i] = &dto.LabelPair{Name: new(labels[i].name), Value: new(labels[i].value)}
	}
	return all
}
