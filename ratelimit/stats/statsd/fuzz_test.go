package statsd_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// FuzzNames checks that a statistic has exactly one line in each format, for any name,
// tag and template.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"a.b", "a\nb:1|c", "a.__k=v", "a.__k=v.__", "a.__k=v\n", ".__=", "a,b|#x:y", "a|@0.1", "\xff\x00", "ratelimit.service.rate_limit.d.k_v.total_hits.__c=d",
	} {
		f.Add(name, "zone", "eu", "m.$1", "k:$1$0")
	}
	f.Add("a", "\n", "|", "$$1:|\n", ",:,")
	f.Fuzz(func(t *testing.T, name, tag, value, metric, template string) {
		r := stats.New(nil)
		r.Counter(name).Add(7)
		tags := []stats.Tag{{Name: tag, Value: value}}
		if s, err := statsd.NewWriter(r, &bytes.Buffer{}, &statsd.Options{Tags: tags}); err != nil {
			require.Nil(t, s)
			tags = nil
		}
		mogrifiers := []statsd.Mogrifier{{Name: "M", Pattern: regexp.MustCompile(`^(.*)b`), Metric: metric, Tags: []string{template}}}
		if _, err := statsd.NewAgent(r, "localhost:1", &statsd.Options{Mogrifiers: mogrifiers}); err != nil {
			mogrifiers = nil
		}

		var out bytes.Buffer
		flushOnce(t, newWriter(t, r, &out, &statsd.Options{Tags: tags, Log: discard()}))
		all := parse(t, out.String())
		if name == "" || len(all) == 1 && len(name)+len(tag)+len(value) > 1000 {
			return // empty or too long
		}
		require.Len(t, all, 2, "a line, and the end")
		require.Equal(t, "7.000000", all[0].JSON.Value)

		oneLine(t, statsd.PlainLine(name, tags))
		line := statsd.AgentLine(name, tags, mogrifiers)
		if line == "" {
			require.Greater(t, len(metric)+len(template), 0, "without a mogrifier the line is as long as the plain one")
			return
		}
		oneLine(t, line)
		for _, tag := range decode(t, strings.TrimSuffix(line, "\n")).tags {
			require.NotContains(t, tag, ",")
		}
	})
}

// oneLine requires a terminated line "<name>:7|c" that a daemon cannot read as several.
func oneLine(t *testing.T, line string) {
	t.Helper()
	require.True(t, strings.HasSuffix(line, "\n"), "%q", line)
	line = strings.TrimSuffix(line, "\n")
	require.NotContains(t, line, "\n")
	name, rest, _ := strings.Cut(line, ":")
	require.NotEmpty(t, name)
	require.NotContains(t, name, "|")
	value, tags, tagged := strings.Cut(rest, "|#")
	require.Equal(t, "7|c", value, "%q", line)
	if tagged {
		require.NotContains(t, tags, "|")
	}
}
