package statsd_test

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/stats/statsd"
)

// rateLimit is the mogrifier of the reference service's documentation.
func rateLimit() statsd.Mogrifier {
	return statsd.Mogrifier{
		Name:    "TAG",
		Pattern: regexp.MustCompile(`^ratelimit\.service\.rate_limit\.(.*)\.(.*)\.(.*)$`),
		Metric:  "ratelimit.service.rate_limit.$3",
		Tags:    []string{"domain:$1", "descriptor:$2"},
	}
}

// metric is a metric as an agent understands it.
type metric struct {
	name, value, kind string
	rate              string
	tags              []string
}

// decode reads a line of the protocol with tags.
func decode(t testing.TB, line string) metric {
	t.Helper()
	fields := strings.Split(line, "|")
	require.GreaterOrEqual(t, len(fields), 2, "%q", line)
	name, value, ok := strings.Cut(fields[0], ":")
	require.True(t, ok && name != "", "%q", line)
	_, err := strconv.ParseFloat(value, 64)
	require.NoError(t, err, "%q", line)
	require.Contains(t, []string{"c", "g", "ms"}, fields[1], "%q", line)
	h := metric{name: name, value: value, kind: fields[1], rate: "1"}
	for _, f := range fields[2:] {
		switch {
		case strings.HasPrefix(f, "@"):
			h.rate = f[1:]
		case strings.HasPrefix(f, "#"):
			h.tags = strings.Split(f[1:], ",")
		default:
			t.Fatalf("field %q in %q", f, line)
		}
	}
	return h
}

// agentLines returns the lines that an agent receives in one flush.
func agentLines(t testing.TB, r *stats.Registry, opts *statsd.Options, fill func()) []string {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s, err := statsd.NewAgent(r, l.LocalAddr().String(), opts)
	require.NoError(t, err)
	if fill != nil {
		fill()
	}
	s.Flush()
	s.Close()
	_, err = l.(*net.UDPConn).WriteTo([]byte("end"), l.LocalAddr())
	require.NoError(t, err)
	var lines []string
	buf := make([]byte, 1<<16)
	for {
		require.NoError(t, l.SetReadDeadline(time.Now().Add(timeout)))
		n, _, err := l.ReadFrom(buf)
		require.NoError(t, err)
		if text := string(buf[:n]); text == "end" {
			slices.Sort(lines)
			return lines
		} else if text != "\n" {
			lines = append(lines, strings.Split(strings.TrimSuffix(text, "\n"), "\n")...)
		}
	}
}

func TestMogrifiers(t *testing.T) {
	first := func(pattern, metric string, tags ...string) statsd.Mogrifier {
		return statsd.Mogrifier{Name: "M", Pattern: regexp.MustCompile(pattern), Metric: metric, Tags: tags}
	}
	for _, tt := range []struct {
		what, name string
		mogrifiers []statsd.Mogrifier
		tags       []stats.Tag
		want       string
	}{
		{
			"the reference service's", "ratelimit.service.rate_limit.mongo_cps.database_users.within_limit",
			[]statsd.Mogrifier{rateLimit()},
			nil,
			"ratelimit.service.rate_limit.within_limit:1|c|#domain:mongo_cps,descriptor:database_users",
		},
		{
			"greedy groups", "ratelimit.service.rate_limit.d.k_a.l_b.over_limit",
			[]statsd.Mogrifier{rateLimit()},
			nil,
			"ratelimit.service.rate_limit.over_limit:1|c|#domain:d.k_a,descriptor:l_b",
		},
		{"no match", "ratelimit.service.config_load_success", []statsd.Mogrifier{rateLimit()}, nil, "ratelimit.service.config_load_success:1|c"},
		{"none", "a.b", nil, nil, "a.b:1|c"},
		{
			"tags of the name and of the sink", "ratelimit.service.rate_limit.d.k.total_hits.__code=x",
			[]statsd.Mogrifier{rateLimit()},
			[]stats.Tag{{Name: "zone", Value: "eu.1"}, {Name: "code", Value: "y"}},
			"ratelimit.service.rate_limit.total_hits:1|c|#code:x,zone:eu_1,domain:d,descriptor:k",
		},
		{"the first match applies", "a.b", []statsd.Mogrifier{first("^x", "no"), first("^a", "one"), first("b$", "two")}, nil, "one:1|c"},
		{"part of the name", "a.b.c", []statsd.Mogrifier{first(`\.(b)\.`, "$1")}, nil, "b:1|c"},
		{"the whole match", "a.b.c", []statsd.Mogrifier{first(`b.`, "x$0", "name:$0")}, nil, "xb.:1|c|#name:b."},
		{"a group without a match", "a", []statsd.Mogrifier{first(`a(b)?`, "m$1", "t:$1")}, nil, "m:1|c|#t:"},
		{"mapped to an empty name", "a", []statsd.Mogrifier{first(`a(b)?`, "$1", "t:x")}, nil, "a:1|c"},
		{"a literal dollar", "a", []statsd.Mogrifier{first(`a`, "$m$")}, nil, "$m$:1|c"},
		{"leading zeros", "a", []statsd.Mogrifier{first(`(a)`, "m$01")}, nil, "ma:1|c"},
		{"commas and bars in a value", "k_a,evil:tag|x.hits", []statsd.Mogrifier{first(`^k_(.*)\.hits$`, "hits", "k:$1")}, nil, "hits:1|c|#k:a_evil_tag_x"},
		{"lines in a template", "a", []statsd.Mogrifier{first(`a`, "m\n:1|c", "t:\nx:1|c,y")}, nil, "m__1_c:1|c|#t:_x:1_c_y"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			r := stats.New(nil)
			r.Counter(tt.name).Add(1)
			lines := agentLines(t, r, &statsd.Options{Mogrifiers: tt.mogrifiers, Tags: tt.tags}, nil)
			require.Equal(t, []string{tt.want}, lines)
			decode(t, lines[0])
		})
	}
}

func TestAgentLines(t *testing.T) {
	r := sampleRegistry()
	lines := agentLines(t, r, &statsd.Options{Tags: []stats.Tag{{Name: "zone", Value: "a"}}, MaxTimerLines: 2}, func() {
		for i := range 4 {
			r.Timer("t").Record(time.Duration(i) * time.Second)
		}
		r.Timer("u").Record(1_500 * time.Microsecond)
	})
	require.Equal(t, []string{
		"evil_name_1_c_#x_y:3|c|#zone:a",
		"ratelimit.memcache.multiget:2|c|#code:success,zone:a",
		"ratelimit.redis_pool.cx_active:10|g|#zone:a",
		"ratelimit.service.config_load_success:1|c|#zone:a",
		"t:1000|ms|@0.5|#zone:a",
		"t:3001|ms|@0.5|#zone:a",
		"u:1|ms|#zone:a",
		"zero:0|g|#zone:a",
	}, lines)
}

func TestBadMogrifiers(t *testing.T) {
	one := regexp.MustCompile(`(a)`)
	for _, tt := range []struct {
		m    statsd.Mogrifier
		want []string
	}{
		{statsd.Mogrifier{Metric: "m"}, []string{"Pattern", "missing"}},
		{statsd.Mogrifier{Pattern: one}, []string{"Metric", "empty"}},
		{statsd.Mogrifier{Pattern: one, Metric: "m.$2"}, []string{"Metric", `"m.$2"`, "$2", "use $0 to $1"}},
		{statsd.Mogrifier{Pattern: one, Metric: "$99999999999999999999"}, []string{"Metric", "use $0 to $1"}},
		{statsd.Mogrifier{Pattern: one, Metric: "m", Tags: []string{"a:b", "x:$10"}}, []string{"Tags", `"x:$10"`, "use $0 to $1"}},
		{statsd.Mogrifier{Pattern: one, Metric: "m", Tags: []string{":b"}}, []string{"Tags", `":b"`, "<tag>:<value>"}},
		{statsd.Mogrifier{Pattern: one, Metric: "m", Tags: []string{"a:"}}, []string{"Tags", `"a:"`, "<tag>:<value>"}},
		{statsd.Mogrifier{Pattern: one, Metric: "m", Tags: []string{""}}, []string{"Tags", `""`, "<tag>:<value>"}},
	} {
		tt.m.Name = "TAG"
		_, err := statsd.NewAgent(stats.New(nil), "localhost:8125", &statsd.Options{Mogrifiers: []statsd.Mogrifier{rateLimit(), tt.m}})
		require.Error(t, err, "%+v", tt.m)
		for _, want := range append(tt.want, `mogrifier "TAG"`) {
			require.ErrorContains(t, err, want)
		}
	}
}
