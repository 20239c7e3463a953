package replay_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func compile(t *testing.T, rules ...ratelimit.Rule) *ratelimit.Ruleset {
	t.Helper()
	set, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: rules}}, nil)
	require.NoError(t, err)
	return set
}

// perKey limits each value of a key.
func perKey(t *testing.T, key string, n uint32, unit ratelimit.Unit) *ratelimit.Ruleset {
	t.Helper()
	limit := ratelimit.Per(n, unit)
	return compile(t, ratelimit.Rule{Key: key, Limit: &limit})
}

func run(t *testing.T, log string, rules *ratelimit.Ruleset, opts *replay.Options) *replay.Report {
	t.Helper()
	r, err := replay.Run(t.Context(), strings.NewReader(log), rules, opts)
	require.NoError(t, err)
	return r
}

// names returns the names of keys, sorted.
func names(keys []replay.Key) (all []string) {
	for _, k := range keys {
		all = append(all, k.Name)
	}
	slices.Sort(all)
	return all
}

// TestFields reads one line of each format and shows which value a field has.
func TestFields(t *testing.T) {
	const (
		combined = `192.0.2.1 - ann [02/Jan/2026:03:04:05 +0100] "GET /a/b?c=d HTTP/1.1" 404 12 "https://example.com/" "curl \"8\" \x41" 0.003`
		common   = `host.example - - [02/Jan/2026:03:04:05 +0100] "POST http://h/p HTTP/1.0" 200 -`
		envoy    = `{"start_time":"2026-01-02T02:04:05.123Z","method":"PUT","path":"/x?y","response_code":200,"downstream_remote_address":"[2001:db8::1]:443","authority":"h.example","remote_addr":"not this"}`
		vhost    = `h.example:443 192.0.2.1 - - [02/Jan/2026:03:04:05 +0100] "GET /v HTTP/2.0" 200 512 "-" "curl"`
		text     = `[2026-01-02T02:04:05.123Z] "GET /e?q HTTP/1.1" 429 RL 0 18 1 - "192.0.2.1, 10.0.0.1" "curl/8" "id" "h.example" "-" more`
		istio    = `[2026-01-02T02:04:05.123Z] "POST /i HTTP/2" 200 - via_upstream - "-" 3 12 9 8 "-" "ua" "id" "h.example" "10.0.0.9:80" outbound|80||s 10.0.0.3:4 10.0.0.3:8 192.0.2.1:5 h.example default`
		noPath   = `[2026-01-02T02:04:05.123Z] "- - HTTP/1.1" 400 DPE 0 11 0 - "-" "-" "-" "-" "-"`
		garbage  = `192.0.2.1 - - [02/Jan/2026:03:04:05 +0100] "\x16\x03" 400 1 "-" "-"`
		alb      = `https 2026-01-02T02:04:05.186641Z app/lb/1 192.0.2.1:2817 - 0.0 0.0 0.0 200 - 34 366 "GET https://h.example:443/a HTTP/1.1" "curl" c TLSv1.2 arn "Root=1" "h.example" "-" 0 x "forward" "-" "-"`
		elb      = `2026-01-02T02:04:05.186641Z lb 192.0.2.1:2817 10.0.0.1:80 0.0 0.0 0.0 200 200 0 29 "GET http://h.example:80/c HTTP/1.1" "curl" - -`
		gateway  = `{":authority":"h.example","downstream_remote_address":"192.0.2.1:6","method":"GET","response_code":200,"start_time":"2026-01-02T02:04:05Z","user-agent":"curl","x-envoy-origin-path":"/gw"}`
		traefik  = `{"ClientAddr":"192.0.2.1:5","ClientHost":"192.0.2.1","DownstreamStatus":200,"RequestHost":"h.example","RequestMethod":"GET","RequestPath":"/t","StartUTC":"2026-01-02T02:04:05.1Z"}`
		elastic  = `{"@timestamp":"2026-01-02T02:04:05Z","source":{"ip":"192.0.2.1"},"http":{"request":{"method":"GET"},"response":{"status_code":200}},"url":{"original":"/x?y","domain":"h.example"}}`
		gateway2 = `{"requestTime":"02/Jan/2026:02:04:05 +0000","ip":"192.0.2.1","httpMethod":"GET","resourcePath":"/r","status":200}`
		line     = `{"time_iso8601":"2026-01-02T02:04:05+00:00","remote_addr":"192.0.2.1","request":"GET /n?a HTTP/1.1","http_user_agent":"curl"}`
		nested   = `{"ts":1767319445.5,"request":{"remote_ip":"192.0.2.9","uri":"/caddy","headers":{"X-Key":["k"]}},"a":{"b.c":{"d":true}},"n":-1.5e3,"e":"\u00e9\n","null":null}`
	)
	for _, c := range []struct {
		line, format, field, want string
	}{
		{combined, "combined", "remote_address", "192.0.2.1"},
		{combined, "combined", "user", "ann"},
		{combined, "combined", "method", "GET"},
		{combined, "combined", "path", "/a/b"},
		{combined, "combined", "target", "/a/b?c=d"},
		{combined, "combined", "protocol", "HTTP/1.1"},
		{combined, "combined", "status", "404"},
		{combined, "combined", "bytes", "12"},
		{combined, "combined", "referer", "https://example.com/"},
		{combined, "combined", "user_agent", `curl "8" A`},
		{common, "combined", "remote_address", "host.example"},
		{common, "combined", "path", "/p"},
		{common, "combined", "user_agent", ""},
		{envoy, "envoy", "remote_address", "2001:db8::1"},
		{envoy, "envoy", "path", "/x"},
		{envoy, "envoy", "target", "/x?y"},
		{envoy, "envoy", "host", "h.example"},
		{envoy, "envoy", "status", "200"},
		{vhost, "vhost_combined", "host", "h.example"},
		{vhost, "vhost_combined", "path", "/v"},
		{vhost, "vhost_combined", "remote_address", "192.0.2.1"},
		{text, "envoy_text", "path", "/e"},
		{text, "envoy_text", "remote_address", "192.0.2.1"},
		{text, "envoy_text", "response_flags", "RL"},
		{text, "envoy_text", "status", "429"},
		{text, "envoy_text", "bytes", "18"},
		{text, "envoy_text", "host", "h.example"},
		{istio, "istio", "path", "/i"},
		{istio, "istio", "remote_address", "192.0.2.1"},
		{istio, "istio", "protocol", "HTTP/2"},
		{istio, "istio", "route_name", "default"},
		{noPath, "envoy_text", "path", ""},
		{noPath, "envoy_text", "method", ""},
		{garbage, "combined", "path", ""},
		{alb, "alb", "path", "/a"},
		{alb, "alb", "remote_address", "192.0.2.1"},
		{alb, "alb", "host", "h.example"},
		{elb, "elb", "path", "/c"},
		{elb, "elb", "user_agent", "curl"},
		{gateway, "envoy", "path", "/gw"},
		{gateway, "envoy", "user_agent", "curl"},
		{gateway, "envoy", "host", "h.example"},
		{traefik, "json", "path", "/t"},
		{traefik, "json", "method", "GET"},
		{traefik, "json", "host", "h.example"},
		{traefik, "json", "remote_address", "192.0.2.1"},
		{traefik, "json", "status", "200"},
		{elastic, "json", "path", "/x"},
		{elastic, "json", "method", "GET"},
		{elastic, "json", "remote_address", "192.0.2.1"},
		{elastic, "json", "status", "200"},
		{gateway2, "json", "path", "/r"},
		{gateway2, "json", "method", "GET"},
		{line, "json", "path", "/n"},
		{line, "json", "method", "GET"},
		{line, "json", "protocol", "HTTP/1.1"},
		{nested, "json", "remote_address", "192.0.2.9"},
		{nested, "json", "path", "/caddy"},
		{nested, "json", "a.b.c.d", "true"},
		{nested, "json", "n", "-1.5e3"},
		{nested, "json", "e", "\u00e9\n"},
		{nested, "json", "null", ""},
		{nested, "json", "request", ""},
		{nested, "json", "request.headers.X-Key", ""},
	} {
		m := &replay.Mapping{Descriptors: []replay.Descriptor{{Entries: []replay.Entry{{Key: "k", Value: replay.Value{Field: c.field}}}}}}
		r := run(t, c.line, perKey(t, "k", 1, ratelimit.Year), &replay.Options{Mapping: m})
		assert.Equal(t, c.format, string(r.Format), c.line)
		assert.Zero(t, r.Unreadable, "%v", r.BadLines)
		want := []string(nil)
		if c.want != "" {
			assert.Equal(t, time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC), r.First.Truncate(time.Second), c.line)
			want = []string{"k=" + c.want}
		}
		assert.Equal(t, want, names(r.Result.Rules[0].Keys), "%s of %s", c.field, c.line)
	}
}

// TestTimes reads the usual forms of a time.
func TestTimes(t *testing.T) {
	for text, want := range map[string]string{
		`"2026-01-02T03:04:05Z"`:          "2026-01-02T03:04:05Z",
		`"2026-01-02T03:04:05.25+01:00"`:  "2026-01-02T02:04:05.25Z",
		`"2026-01-02T03:04:05,5-0130"`:    "2026-01-02T04:34:05.5Z",
		`"2026-01-02 03:04:05"`:           "2026-01-02T03:04:05Z",
		`"2026-01-02 03:04:05.123456789"`: "2026-01-02T03:04:05.123456789Z",
		`"02/Jan/2026:03:04:05 -0800"`:    "2026-01-02T11:04:05Z",
		`1767323045`:                      "2026-01-02T03:04:05Z",
		`1767323045.25`:                   "2026-01-02T03:04:05.25Z",
		`"1767323045250"`:                 "2026-01-02T03:04:05.25Z",
		`1767323045250001`:                "2026-01-02T03:04:05.250001Z",
		`1767323045250001002`:             "2026-01-02T03:04:05.250001002Z",
		`"yesterday"`:                     `field time is "yesterday"`,
		`"1969-12-31T23:59:59Z"`:          "1970 to 2261",
		`"9999-12-31T23:59:59Z"`:          "1970 to 2261",
		`-1`:                              "no time",
		`1e300`:                           "no time",
		`{}`:                              "no field time",
	} {
		good := `{"time":"2026-01-02T03:04:05Z","k":"v"}`
		r := run(t, good+"\n"+`{"k":"v","time":`+text+"}\n"+good, perKey(t, "k", 1, ratelimit.Year), nil)
		if r.Unreadable > 0 {
			require.Len(t, r.BadLines, 1)
			assert.Equal(t, uint64(2), r.BadLines[0].Line)
			assert.Contains(t, r.BadLines[0].Reason, want, text)
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, want)
		require.NoError(t, err, "%s was read as %v", text, r.First)
		assert.Contains(t, []time.Time{r.First, r.Last}, at, text)
	}
	m := &replay.Mapping{Time: "t", TimeLayout: time.RFC850, Descriptors: []replay.Descriptor{{Entries: []replay.Entry{{Key: "k", Value: replay.Value{Constant: "v"}}}}}}
	r := run(t, `{"t":"Friday, 02-Jan-26 03:04:05 UTC"}`, perKey(t, "k", 1, ratelimit.Year), &replay.Options{Mapping: m})
	require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), r.First)
}

// hit is a line of a made-up log.
type hit struct {
	second int64
	key    string
	n      uint64
}

func logOf(hits []hit) string {
	var b strings.Builder
	for _, h := range hits {
		key, _ := json.Marshal(h.key)
		fmt.Fprintf(&b, `{"time":%d,"k":%s,"n":%d}`+"\n", h.second, key, h.n)
	}
	return b.String()
}

// counted is a mapping for logOf.
func counted() *replay.Mapping {
	return &replay.Mapping{Descriptors: []replay.Descriptor{{
		Entries: []replay.Entry{{Key: "k", Value: replay.Value{Field: "k"}}},
		Hits:    replay.Value{Field: "n"},
	}}}
}

// model counts fixed windows: it returns the refusals and the most hits of a key in a window.
func model(hits []hit, limit uint64, unit int64) (refused, most uint64) {
	counts := make(map[string]uint64)
	for _, h := range hits {
		window := fmt.Sprint(h.key, " ", h.second/unit)
		counts[window] += h.n
		most = max(most, counts[window])
		if counts[window] > limit {
			refused++
		}
	}
	return refused, most
}

// TestRefusalsEqualModel replays random logs, of which some lines are late, and compares with an
// independent model of fixed windows. The smallest limit refuses none, and one less refuses some.
func TestRefusalsEqualModel(t *testing.T) {
	units := map[ratelimit.Unit]int64{ratelimit.Second: 1, ratelimit.Minute: 60, ratelimit.Hour: 3600, ratelimit.Day: 86400}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 1))
		var hits []hit
		now := int64(1_700_000_000)
		for range 1 + random.IntN(1000) {
			now += random.Int64N(20)
			h := hit{now, fmt.Sprint("key", random.IntN(1+random.IntN(30))), 1 + uint64(random.IntN(3))}
			if random.IntN(5) == 0 {
				h.second -= random.Int64N(600)
			}
			hits = append(hits, h)
		}
		for unit, seconds := range units {
			limit := uint64(1 + random.IntN(8))
			refused, most := model(hits, limit, seconds)
			opts := &replay.Options{Mapping: counted(), Top: 100}
			r := run(t, logOf(hits), perKey(t, "k", uint32(limit), unit), opts)
			rule := r.Result.Rules[0]
			require.Equal(t, []uint64{uint64(len(hits)), refused, refused, most},
				[]uint64{r.Requests, r.Result.Refused, rule.OverLimit, rule.SmallestLimit}, "seed %d, %v", seed, unit)
			byKey := uint64(0)
			for _, k := range rule.Keys {
				byKey += k.OverLimit
			}
			require.Equal(t, refused, byKey)

			slices.Reverse(hits)
			reversed := run(t, logOf(hits), perKey(t, "k", uint32(limit), unit), opts)
			require.Equal(t, most, reversed.Result.Rules[0].SmallestLimit, "a log may have the newest line first")
			require.Equal(t, rule.Requests, reversed.Result.Rules[0].Requests)
			slices.Reverse(hits)

			none := run(t, logOf(hits), perKey(t, "k", uint32(most), unit), opts)
			require.Zero(t, none.Result.Refused, "the smallest limit refuses none")
			some := run(t, logOf(hits), perKey(t, "k", uint32(most)-1, unit), opts)
			require.NotZero(t, some.Result.Refused, "one less refuses some")
		}
	}
}

// TestAgainst compares two configurations request by request.
func TestAgainst(t *testing.T) {
	var hits []hit
	for i := range 10 {
		hits = append(hits, hit{1_700_000_000, "a", 1}, hit{1_700_000_000 + int64(i), "b", 1})
	}
	strict := compile(t, rule("k", "a", 2), rule("k", "b", 100))
	loose := compile(t, rule("k", "a", 5), rule("k", "b", 9), rule("k", "c", 1))
	r := run(t, logOf(hits), strict, &replay.Options{Mapping: counted(), Against: loose})
	require.Equal(t, &replay.Difference{Both: 5, OnlyResult: 3, OnlyAgainst: 1}, r.Difference)
	require.Equal(t, uint64(8), r.Result.Refused)
	require.Equal(t, uint64(6), r.Against.Refused)
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text, false))
	require.Regexp(t, `2/hour +5/hour +10 +8 +5 +\+3 +10 +k=a\n`, text.String())
	require.Regexp(t, `- +1/hour +0 +0 +0 +\+0 +- +k=c\n`, text.String())
}

// rule limits one value of a key, by the hour.
func rule(key, value string, n uint32) ratelimit.Rule {
	limit := ratelimit.Per(n, ratelimit.Hour)
	return ratelimit.Rule{Key: key, Value: value, Limit: &limit}
}

// TestShadowMode counts what is over the limit of a rule in shadow mode, which refuses nothing.
func TestShadowMode(t *testing.T) {
	shadow := rule("k", "a", 1)
	shadow.ShadowMode = true
	hits := []hit{{1, "a", 1}, {2, "a", 1}, {3, "x", 1}}
	r := run(t, logOf(hits), compile(t, shadow), &replay.Options{Mapping: counted()})
	require.Zero(t, r.Result.Refused)
	require.Equal(t, uint64(1), r.Result.Unlimited)
	require.Equal(t, uint64(1), r.Result.Rules[0].OverLimit)
	require.True(t, r.Result.Rules[0].ShadowMode)
}

// TestUnreadableLines are counted, and the first are reported with number and reason, across
// blocks.
func TestUnreadableLines(t *testing.T) {
	good := `{"time":1700000000,"k":"v"}` + "\n"
	log := good + "\n" + `{"time":17` + "\n" + strings.Repeat(good, 30_000) + strings.Repeat("x", 3<<20) + "\n" +
		`{"time":1700000000,"k":"v"} {}` + "\r\n" + good + `["time"]`
	r := run(t, log, perKey(t, "k", 1, ratelimit.Year), nil)
	var lines []uint64
	for i, reason := range []string{"invalid JSON", "longer than 1048576 bytes", "at byte 29", "not a JSON object"} {
		lines = append(lines, r.BadLines[i].Line)
		require.Contains(t, r.BadLines[i].Reason, reason)
	}
	require.Equal(t, []uint64{3, 30_004, 30_005, 30_007}, lines)
	require.Equal(t, []uint64{30_006, 4, 30_002}, []uint64{r.Lines, r.Unreadable, r.Requests})
}

// TestGzip reads compressed logs, also of several members.
func TestGzip(t *testing.T) {
	var b bytes.Buffer
	for range 2 {
		z := gzip.NewWriter(&b)
		_, err := io.WriteString(z, logOf([]hit{{1, "a", 1}}))
		require.NoError(t, err)
		require.NoError(t, z.Close())
	}
	require.Equal(t, uint64(2), run(t, b.String(), perKey(t, "k", 1, ratelimit.Year), nil).Requests)
	_, err := replay.Run(t.Context(), strings.NewReader(b.String()[:b.Len()-5]), perKey(t, "k", 1, ratelimit.Year), nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// TestDescriptorWithoutLine names descriptors that no line makes, and the fields that lines have.
func TestDescriptorWithoutLine(t *testing.T) {
	rules := compile(t, rule("path", "/login", 1), rule("tenant", "", 1))
	for _, c := range []struct {
		lines         string
		fields, under []string
	}{
		{`{"ts":1,"uri":"/login","a":{"b":[1],"c":null,"d":"x"}}`, []string{"a.d", "ts", "uri"}, []string{"tenant=<tenant>"}},
		{`{"ts":1,"uri":"/","tenant":"x"}`, nil, nil},
		{`{"ts":1}`, []string{"ts"}, []string{"path=<path>", "tenant=<tenant>"}},
	} {
		r := run(t, c.lines, rules, nil)
		require.Equal(t, c.under, r.DescriptorsWithoutLine, c.lines)
		require.Equal(t, c.fields, r.Fields, c.lines)
	}
}

func TestErrors(t *testing.T) {
	rules := perKey(t, "k", 1, ratelimit.Year)
	two, err := ratelimit.Compile([]ratelimit.Domain{{Name: "a"}, {Name: "b"}}, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		log   string
		rules *ratelimit.Ruleset
		opts  *replay.Options
		want  string
	}{
		{"", rules, nil, "the log is empty"},
		{"\n\n", rules, nil, "the log is empty"},
		{"hello\n", rules, nil, "unknown format"},
		{"{}\n", rules, nil, "line 1: no field time"},
		{"{}\n", two, nil, "2 domains"},
		{"{}\n", rules, &replay.Options{Mapping: &replay.Mapping{Domain: "x"}}, `unknown domain "x"`},
		{
			`h - - [02/Jan/2026:03:04:05 +0000] "GET / HTTP/1.1" 200 1`, rules, nil,
			"no field for k",
		},
		{
			`h - - [02/Jan/2026:03:04:05 +0000] "GET / HTTP/1.1" 200 1`, rules,
			&replay.Options{Mapping: &replay.Mapping{Descriptors: []replay.Descriptor{{Entries: []replay.Entry{{Key: "k", Value: replay.Value{Field: "methd"}}}}}}},
			`did you mean "method"`,
		},
	} {
		_, err := replay.Run(t.Context(), strings.NewReader(c.log), c.rules, c.opts)
		require.ErrorContains(t, err, c.want)
	}
	broken := errors.New("no disk")
	_, err = replay.Run(t.Context(), io.MultiReader(strings.NewReader(logOf([]hit{{1, "a", 1}})), failing{broken}), rules, nil)
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestDefaultMapping derives descriptors from the rules.
func TestDefaultMapping(t *testing.T) {
	nested := ratelimit.Rule{Key: "path", Value: "/login", Rules: []ratelimit.Rule{rule("client", "", 1), rule("client", "x", 2)}}
	rules := compile(t, rule("remote_address", "", 1), nested, rule("generic_key", "all", 1), rule("tenant", "", 1), rule("method", "", 1))
	m, without := replay.DefaultMapping("d", replay.Combined, rules)
	var shown []string
	for i := range m.Descriptors {
		shown = append(shown, m.Descriptors[i].String())
	}
	require.Equal(t, []string{"remote_address=<remote_address>", "path=<path>,client=<remote_address>", "generic_key=all", "method=<method>"}, shown)
	require.Equal(t, []string{"tenant"}, without)
	_, without = replay.DefaultMapping("d", replay.JSON, rules)
	require.Empty(t, without)
}

// TestBoundedMemory replays more keys than there is room for: the totals of the rule stay exact as
// long as the counters do, and the report says what does not.
func TestBoundedMemory(t *testing.T) {
	var hits []hit
	for i := range 5000 {
		hits = append(hits, hit{1_700_000_000, fmt.Sprint("once", i), 1}, hit{1_700_000_000, "often", 1})
	}
	r := run(t, logOf(hits), perKey(t, "k", 10, ratelimit.Hour), &replay.Options{Mapping: counted(), MaxKeys: 100})
	require.Equal(t, uint64(4990), r.Result.Rules[0].OverLimit)
	require.Equal(t, "k=often", r.Result.Rules[0].Keys[0].Name)
	require.Equal(t, uint64(4990), r.Result.Rules[0].Keys[0].OverLimit)
	require.NotZero(t, r.Result.KeysForgotten)
	require.Zero(t, r.Result.KeysMissing, "only keys without refusals were forgotten")

	r = run(t, logOf(hits), perKey(t, "k", 10, ratelimit.Hour), &replay.Options{Mapping: counted(), MaxCounters: 100})
	require.NotZero(t, r.Result.CountersDropped)
	require.Equal(t, uint64(4990), r.Result.Rules[0].OverLimit, "counters with few hits are dropped first")
}

// TestManyWindows replays lines of arbitrary times, the newest first: the number of windows is bounded too.
func TestManyWindows(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var hits []hit
	for range 20_000 {
		hits = append(hits, hit{random.Int64N(9_000_000_000), "a", 1})
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(b.second, a.second) })
	r := run(t, logOf(hits), perKey(t, "k", 1, ratelimit.Second), &replay.Options{Mapping: counted(), MaxCounters: 1000})
	require.NotZero(t, r.Result.CountersDropped)
	require.Equal(t, uint64(20_000), r.Requests)
}

// TestText prints the tables, with colors only on request, and never what a log could do to a
// terminal.
func TestText(t *testing.T) {
	log := logOf([]hit{{60, "a\x1b[31m", 1}, {61, "a\x1b[31m", 1}, {62, "b", 1}}) + "\x1b[31m{\n"
	r := run(t, log, perKey(t, "k", 1, ratelimit.Minute), &replay.Options{Mapping: counted()})
	var plain, color bytes.Buffer
	require.NoError(t, r.WriteText(&plain, false))
	require.NoError(t, r.WriteText(&color, true))
	require.NotContains(t, plain.String(), "\x1b")
	require.Contains(t, color.String(), "\x1b[1;31m1 would have been refused (33.33 %)\x1b[0m")
	require.Equal(t, `4 lines in format json from 1970-01-01 00:01:00 to 1970-01-01 00:01:02 UTC
descriptors of domain d: k=<k>
warning: 1 line could not be read
  line 4: invalid JSON at byte 1: unexpected '\x1b': expected a value
3 requests: 1 would have been refused (33.33 %), 0 without a limit

     limit  requests  over limit        %  smallest limit     first over limit      last over limit  rule
  1/minute         3           1  33.33 %               2  1970-01-01 00:01:01  1970-01-01 00:01:01  k

k: 2 is the smallest limit that refuses none, because of k=a?[31m in the minute from 1970-01-01 00:01:00
  requests  over limit  smallest limit     first over limit      last over limit  key
         2           1               2  1970-01-01 00:01:01  1970-01-01 00:01:01  k=a?[31m
         1           0               1                    -                    -  k=b
`, plain.String())
}
