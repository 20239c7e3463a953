package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// TestMapping shows which keys a mapping makes of lines.
func TestMapping(t *testing.T) {
	const lines = `{"time":1,"path":"/api/v1/users/7?x","method":"GET","n":5,"ip":"h1"}
{"time":1,"path":"/login","method":"POST","who":"ann","ip":"h2"}
{"time":1,"path":"/","method":"PUT","who":"bob","ip":"h3"}
`
	for _, c := range []struct {
		entry, rest string
		want        string // keys with hits
	}{
		{`value: all`, "", "k=all:3"},
		{`field: who`, "", "k=ann:1 k=bob:1"},
		{`field: who, default: none`, "", "k=ann:1 k=bob:1 k=none:1"},
		{`field: path, segments: 2`, "", "k=/:1 k=/api/v1:1 k=/login:1"},
		{`field: path, regexp: "^/api/v1/users/([0-9]+)$"`, "", "k=7:1"},
		{`field: path, regexp: "^/[a-z]+"`, "", "k=/api:1 k=/login:1"},
		{`field: path, prefixes: [/api/, /api/v1/, /login]`, "", "k=/api/v1/:1 k=/login:1"},
		{`field: path`, "when: [{field: method, in: [GET, PUT]}]", "k=/:1 k=/api/v1/users/7:1"},
		{`field: path`, "when: [{field: method, in: [GET, PUT], not: true}, {field: who, regexp: a}]", "k=/login:1"},
		{`field: path`, "when: [{field: target, prefix: /api/}]", "k=/api/v1/users/7:1"},
		{`value: all`, "hits: {field: n}", "k=all:7"},
		{`value: all`, "hits: 3", "k=all:9"},
	} {
		text := fmt.Sprintf("descriptors:\n  - entries: [{key: k, %s}]\n", c.entry)
		if c.rest != "" {
			text += "    " + c.rest + "\n"
		}
		m, err := replay.ParseMapping("m.yaml", []byte(text))
		require.NoError(t, err, text)
		r := run(t, lines, perKey(t, "k", 1000, ratelimit.Year), &replay.Options{Mapping: m})
		var got []string
		for _, k := range r.Result.Rules[0].Keys {
			got = append(got, fmt.Sprintf("%s:%d", k.Name, k.SmallestLimit))
		}
		slices.Sort(got)
		require.Equal(t, c.want, strings.Join(got, " "), text)
	}
}

// TestMappingOfClients names the clients of a field, worst first.
func TestMappingOfClients(t *testing.T) {
	m, err := replay.ParseMapping("m.yaml", []byte("domain: d\ntime: {field: at, layout: '2006'}\nclient: who\ndescriptors: [{entries: [{key: k, value: all}]}]\n"))
	require.NoError(t, err)
	r := run(t, strings.Repeat(`{"at":"2026","who":"a"}`+"\n", 3)+strings.Repeat(`{"at":"2026","who":"b"}`+"\n", 2), perKey(t, "k", 1, ratelimit.Year), &replay.Options{Mapping: m})
	require.Equal(t, []string{"a", "b"}, names(r.Result.Rules[0].Clients))
	require.Equal(t, []uint64{2, 2}, []uint64{r.Result.Rules[0].Clients[0].OverLimit, r.Result.Rules[0].Clients[1].OverLimit})
}

// TestMappingFaults reports all problems with file, line and column.
func TestMappingFaults(t *testing.T) {
	const text = `domian: d
time: {field: [], zone: x}
descriptors:
  - entries:
      - {kye: k, field: f}
      - {key: k}
      - {key: k, value: c, field: f}
      - {key: k, field: f, segments: 0}
      - {key: k, field: f, segments: 1, prefixes: [a]}
      - {key: k, field: f, regexp: "("}
      - {field: f}
    when: [{in: [a]}, {field: f}, {field: f, in: []}, {field: f, not: maybe}]
    hits: -1
  - {}
  - 5
`
	_, err := replay.ParseMapping("m.yaml", []byte(text))
	faults := strings.Split(err.Error(), "\n")
	for i, want := range []struct{ at, text string }{
		{"1:1", `did you mean "domain"`},
		{"2:15", "text"},
		{"2:19", "use field, layout"},
		{"5:10", `unknown key "kye" of an entry`},
		{"6:9", "use value"},
		{"7:9", "constant"},
		{"8:38", "segments"},
		{"9:9", "regexp, prefixes and segments"},
		{"10:36", "missing closing )"},
		{"11:9", "no key"},
		{"12:12", "no field"},
		{"12:23", "needs in, prefix or regexp"},
		{"12:50", "in must"},
		{"12:71", "true or false"},
		{"13:11", "hits"},
		{"14:5", "no entries"},
		{"15:5", "a map"},
	} {
		require.Less(t, i, len(faults), "the fault at %s is missing", want.at)
		require.Contains(t, faults[i], "m.yaml:"+want.at+": ")
		require.Contains(t, faults[i], want.text)
	}
	require.Len(t, faults, 17)

	for text, want := range map[string]string{
		"":                     "m.yaml:1:1: is empty",
		"domain: d\n":          "m.yaml:1:1: the mapping has no",
		"descriptors: []\n":    "m.yaml:1:1: the mapping has no",
		"domain: d\ndomain: d": "m.yaml:2:1: duplicate key \"domain\"",
		"a: [\n":               "m.yaml:2:1: is not YAML",
	} {
		_, err := replay.ParseMapping("m.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzMapping checks that no file makes the reader panic, and that a valid one can be used.
func FuzzMapping(f *testing.F) {
	f.Add("descriptors: [{entries: [{key: k, field: path, segments: 1}], when: [{field: a, in: [b]}], hits: 1}]")
	f.Add("time: {field: t, layout: '2006'}\nclient: &a c\ndomain: *a")
	rules := benchRules(f, 1)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := replay.ParseMapping("m.yaml", []byte(text))
		if err == nil {
			m.Domain = "edge"
			_, _ = replay.Run(t.Context(), strings.NewReader(`{"time":1,"path":"/a","a":"b"}`), rules, &replay.Options{Mapping: m})
		}
	})
}

// TestFallbackOfKeys reads the usual names of a client, and its address where there is none.
func TestFallbackOfKeys(t *testing.T) {
	log := `{"time":1,"client":"a:b"}` + "\n" + `{"time":1,"downstream_remote_address":"192.0.2.1:80"}` + "\n" + `{"time":1}` + "\n"
	r := run(t, log, perKey(t, "client", 1, ratelimit.Year), nil)
	require.Equal(t, []string{"client=192.0.2.1", "client=a:b"}, names(r.Result.Rules[0].Keys))
	require.Equal(t, uint64(1), r.Skipped)
	require.Equal(t, []string{"client=<client or remote_address>"}, r.Descriptors)
}
