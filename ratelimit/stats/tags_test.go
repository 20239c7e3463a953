package stats_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

func TestTagged(t *testing.T) {
	for _, c := range []struct {
		name string
		tags []stats.Tag
		want string
	}{
		{"n", nil, "n"},
		{"n", []stats.Tag{{"code", "miss"}}, "n.__code=miss"},
		{"n.m", []stats.Tag{{"zone", "1"}, {"area", "2"}}, "n.m.__area=2.__zone=1"},
		{"n", []stats.Tag{{"host", "10.0.0.1:80|x"}}, "n.__host=10_0_0_1_80_x"},
		{"n", []stats.Tag{{"a=b", "c=d"}}, "n.__a_b=c=d"},
		{"n", []stats.Tag{{"a", "b\nc"}}, "n.__a=b_c"},
	} {
		require.Equal(t, c.want, stats.Tagged(c.name, c.tags...))
	}
}

func TestSplitTags(t *testing.T) {
	for _, c := range []struct {
		full, name string
		tags       []stats.Tag
	}{
		{"n", "n", nil},
		{"n.__a=1.__b=2", "n", []stats.Tag{{"a", "1"}, {"b", "2"}}},
		{"n.__a", "n.__a", nil},
		{"n.__a=1.__b", "n.__a=1.__b", nil},
	} {
		name, tags := stats.SplitTags(c.full)
		require.Equal(t, c.name, name)
		require.Equal(t, c.tags, tags)
	}
}

func FuzzTags(f *testing.F) {
	f.Add("name.part", "tag", "value")
	f.Add("n", "a.:|=", "10.0.0.1:80")
	f.Fuzz(func(t *testing.T, name, tag, value string) {
		full := stats.Tagged(name, stats.Tag{Name: tag, Value: value})
		if strings.Contains(name, ".__") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, "._") || strings.HasPrefix(tag, "_") {
			return // the first ".__" is not that of the tag
		}
		back, tags := stats.SplitTags(full)
		if back != name || len(tags) != 1 || stats.Tagged(back, tags...) != full {
			t.Errorf("%q is split into %q and %v", full, back, tags)
		}
	})
}
