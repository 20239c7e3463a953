package console_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/console"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

const (
	loopback = "127.0.0.1:5000"
	secret   = "0123456789abcdef"
)

// bench is a console over an engine with a clock of its own.
type bench struct {
	t      *testing.T
	now    time.Time
	engine *ratelimit.Engine
	pages  *console.Console
	log    strings.Builder
	cookie string
	token  string
	from   string // address of the browser
}

func newBench(t *testing.T, opts *console.Options, rules ...ratelimit.Rule) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Unix(1_000_000, 0), from: loopback}
	clock := func() time.Time { return b.now }
	b.engine = ratelimit.New(memstore.New(&memstore.Options{Now: clock}), &ratelimit.Options{Stats: stats.New(nil), TopKeys: true, Now: clock})
	b.use(rules...)
	o := console.Options{}
	if opts != nil {
		o = *opts
	}
	o.Now, o.Log = clock, slog.New(slog.NewTextHandler(&b.log, nil))
	var err error
	b.pages, err = console.New(b.engine, &o)
	require.NoError(t, err)
	return b
}

func (b *bench) use(rules ...ratelimit.Rule) {
	b.t.Helper()
	set, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: rules}}, nil)
	require.NoError(b.t, err)
	b.engine.Use(set)
}

// hit sends requests with one entry.
func (b *bench) hit(n int, key, value string) {
	b.t.Helper()
	for range n {
		_, err := b.engine.Decide(b.t.Context(), request(key, value))
		require.NoError(b.t, err)
	}
}

func request(key, value string) *ratelimit.Request {
	return &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: key, Value: value}}}}}
}

func (b *bench) do(r *http.Request) *httptest.ResponseRecorder {
	r.RemoteAddr = b.from
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	w := httptest.NewRecorder()
	b.pages.ServeHTTP(w, r)
	return w
}

// get returns the body of a page, and keeps its token.
func (b *bench) get(path string) string {
	b.t.Helper()
	w := b.do(httptest.NewRequest(http.MethodGet, path, nil))
	require.Equal(b.t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	if set := w.Header().Get("Set-Cookie"); set != "" {
		b.cookie, _, _ = strings.Cut(set, ";")
	}
	if found := formToken.FindStringSubmatch(w.Body.String()); found != nil {
		b.token = found[1]
	}
	return w.Body.String()
}

var formToken = regexp.MustCompile(`name="_token" value="([0-9a-f]+)"`)

// post sends a form with the token of the last page.
func (b *bench) post(path string, form url.Values) *httptest.ResponseRecorder {
	b.t.Helper()
	form.Set("_token", b.token)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

func limited(key, value string, n uint32, below ...ratelimit.Rule) ratelimit.Rule {
	return ratelimit.Rule{Key: key, Value: value, Limit: new(ratelimit.Per(n, ratelimit.Hour)), Rules: below}
}

// rates is what the page reads every two seconds.
type rates struct {
	Total struct{ Allowed, Near, Refused string }
	Rules map[string]struct {
		Allowed, Near, Refused string
		Lines                  [][]float64
	}
}

func (b *bench) rates(id string) rates {
	b.t.Helper()
	var out rates
	require.NoError(b.t, json.Unmarshal([]byte(b.get("/rates.json?ids="+id)), &out))
	return out
}

var ruleLink = regexp.MustCompile(`data-rule="([0-9a-f]+)"`)

// TestRates: hits become rates when somebody looks; a long time between is averaged, and other rules do not
// interrupt the line of one that stays.
func TestRates(t *testing.T) {
	b := newBench(t, nil, limited("a", "", 30))
	id := ruleLink.FindStringSubmatch(b.get("/"))[1]
	b.hit(40, "a", "x")
	b.now = b.now.Add(2 * time.Second)
	r := b.rates(id)
	require.Equal(t, "15.0 5.0", r.Rules[id].Allowed+" "+r.Rules[id].Refused, "30 and 10 hits in two seconds")
	require.Equal(t, "15.0 3.0 5.0", strings.Join([]string{r.Total.Allowed, r.Total.Near, r.Total.Refused}, " "))
	require.Equal(t, r, b.rates(id), "two pages at the same time see the same")

	b.use(limited("b", "", 5), limited("a", "", 30))
	b.hit(60, "a", "y")
	b.now = b.now.Add(time.Minute)
	line := b.rates(id).Rules[id].Lines[0]
	require.Len(t, line, 90)
	require.Equal(t, []float64{0, 0, 15, 0.5, 0.5}, append(line[57:60:60], line[60], line[89]), "30 hits in a minute, after two seconds with 15 in each")
	b.now = b.now.Add(time.Hour)
	require.Equal(t, "0", b.rates(id).Total.Allowed)
	b.now = b.now.Add(-2 * time.Hour)
	require.Empty(t, b.rates(id).Rules, "a clock that was set back begins anew")
}

// TestSample: a page that nobody has opened before shows the last three minutes, and a rule without hits in that time
// takes no place.
func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, limited("a", "", 30))
		var err error
		b.pages, err = console.New(b.engine, nil)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var sampling sync.WaitGroup
		sampling.Go(func() { b.pages.Sample(ctx) })
		synctest.Wait()
		b.hit(40, "a", "x")
		time.Sleep(5 * time.Second)
		b.hit(20, "a", "y")
		time.Sleep(20 * time.Second)
		page := b.get("/")
		require.Contains(t, page, "Sampled since")
		id := ruleLink.FindStringSubmatch(page)[1]
		lines := b.rates(id).Rules[id].Lines
		first := slices.Index(lines[0], 15)
		require.Equal(t, []float64{15, 0, 10, 0}, lines[0][first:first+4])
		require.Equal(t, []float64{5, 0, 0, 0}, lines[1][first:first+4])
		time.Sleep(3 * time.Minute)
		require.NotContains(t, b.get("/"), "Sampled since")
		require.Empty(t, b.rates(id).Rules)
		stop()
		sampling.Wait()
	})
}

// TestManyRules: a page of 10,000 rules stays small, and the filter finds each of them.
func TestManyRules(t *testing.T) {
	var rules []ratelimit.Rule
	for i := range 10_000 {
		rules = append(rules, limited("tenant", fmt.Sprintf("t%04d", i), 5))
	}
	b := newBench(t, nil, append(rules, ratelimit.Rule{Key: "deep", Rules: []ratelimit.Rule{limited("below", "", 1)}})...)
	page := b.get("/")
	require.Len(t, ruleLink.FindAllString(page, -1), 200)
	require.Less(t, len(page), 400_000)
	require.Contains(t, page, "9\u202f802 more")
	page = b.get("/?q=TENANT+t9999")
	require.Len(t, ruleLink.FindAllString(page, -1), 1)
	require.Contains(t, page, "d › tenant=t9999")
	require.Len(t, ruleLink.FindAllString(b.get("/?offset=9990&domain=d"), -1), 12)
	require.Contains(t, b.get("/?q=below"), "d › deep › below")
	b.hit(3, "tenant", "t5000")
	b.now = b.now.Add(2 * time.Second)
	require.Contains(t, b.get("/?sort=allowed")[:20_000], "t5000", "the busiest rule is first")
	require.Equal(t, http.StatusBadRequest, b.do(httptest.NewRequest("GET", "/?sort=x", nil)).Code)
	require.Equal(t, http.StatusBadRequest, b.do(httptest.NewRequest("GET", "/?q="+strings.Repeat("x", 300), nil)).Code)
}

// TestMarkup: keys and values are shown as text on every page.
func TestMarkup(t *testing.T) {
	const markup = `"'><script>alert(1)</script>`
	b := newBench(t, nil, limited(markup, markup, 1, limited("k", "", 1)))
	b.hit(2, markup, markup)
	escaped := url.QueryEscape(markup)
	id := ruleLink.FindStringSubmatch(b.get("/"))[1]
	for _, path := range []string{"/", "/?q=" + escaped, "/rules/" + id, "/try?domain=d&d0k0=" + escaped + "&d0v0=" + escaped, "/try?domain=" + escaped + "&d0k0=a", "/try/suggest?domain=d&field=d0k0"} {
		page := b.get(path)
		require.NotContains(t, page, "<script>alert", path)
		require.Contains(t, page, "alert(1)", path)
	}
}

// TestTokens: changes need the token of the form, and that of the program over a connection that nobody else reads.
func TestTokens(t *testing.T) {
	b := newBench(t, &console.Options{ResetToken: secret}, limited("a", "", 5))
	b.hit(5, "a", "x")
	desk := "/try?domain=d&d0k0=a&d0v0=x"
	require.Contains(t, b.get(desk), "5 of 5")
	form := func(word string) url.Values {
		return url.Values{"domain": {"d"}, "d0k0": {"a"}, "d0v0": {"x"}, "secret": {word}}
	}
	require.Equal(t, http.StatusForbidden, b.post("/try/reset", form("")).Code)
	b.from = "192.0.2.1:5000"
	w := b.post("/try/reset", form(secret))
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Contains(t, w.Body.String(), "not encrypted")
	b.from = loopback
	token := b.token
	b.token = "0"
	require.Equal(t, http.StatusForbidden, b.post("/try/reset", form(secret)).Code, "without the token of the form")
	require.Equal(t, http.StatusForbidden, b.post("/try/send", url.Values{"domain": {"d"}, "d0k0": {"a"}, "d0v0": {"x"}, "n": {"1"}}).Code)
	b.token = token
	require.Contains(t, b.get(desk), "5 of 5", "nothing was changed")
	require.Equal(t, http.StatusOK, b.post("/try/reset", form(secret)).Code)
	require.Contains(t, b.get(desk), "0 of 5")
	require.Contains(t, b.log.String(), `msg="counters changed" change=Reset`)
	for range 10 {
		b.post("/try/reset", form("wrong-wrong-wrong"))
	}
	require.Equal(t, http.StatusTooManyRequests, b.post("/try/reset", form(secret)).Code)
	require.NotContains(t, b.log.String(), secret)
	require.Equal(t, http.StatusForbidden, newBench(t, nil).post("/try/reset", form(secret)).Code)
	_, err := console.New(b.engine, &console.Options{EditToken: "short"})
	require.ErrorContains(t, err, "Options.EditToken is too short")
}

// TestSends: sends are bounded, and give back the places that they take.
func TestSends(t *testing.T) {
	b := newBench(t, nil, ratelimit.Rule{Key: "p", Limit: &ratelimit.Limit{RequestsPerUnit: 3, Unit: ratelimit.Hour, Algorithm: ratelimit.Concurrency}})
	b.get("/try")
	form := url.Values{"domain": {"d"}, "d0k0": {"p"}, "d0v0": {"x"}, "n": {"10"}}
	page := b.post("/try/send", form).Body.String()
	require.Contains(t, page, `aria-label="Results in order: 3 allowed, 7 refused"`)
	require.Contains(t, page, "0 of 3", "the places are given back")
	for _, n := range []string{"0", "101", "x", ""} {
		form.Set("n", n)
		require.Equal(t, http.StatusBadRequest, b.post("/try/send", form).Code, n)
	}
	form = url.Values{"domain": {"d"}, "d0k0": {strings.Repeat("x", 1001)}, "n": {"1"}}
	require.Equal(t, http.StatusBadRequest, b.post("/try/send", form).Code)
}

// TestDirectory: a file is replaced with its permissions, unless it has changed, is a link, or nothing may be saved.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o750))
	file := filepath.Join(dir, "sub", "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("domain: a\n"), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "link.yaml")))
	d := &console.Directory{Dir: config.Dir{Root: dir}, Options: &config.Options{MergeDomains: true}}
	read := d.Read()
	require.NoError(t, read.Err)
	require.Equal(t, []config.File{{Name: "link.yaml", Data: []byte("domain: a\n")}, {Name: "sub.a.yaml", Data: []byte("domain: a\n")}}, read.Files)

	was := sha256.Sum256([]byte("domain: a\n"))
	require.NoError(t, d.Save("sub.a.yaml", []byte("domain: b\n"), was))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "domain: b\n", string(data))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	require.ErrorIs(t, d.Save("sub.a.yaml", []byte("domain: c\n"), was), console.ErrChanged)
	require.ErrorContains(t, d.Save("link.yaml", nil, sha256.Sum256(data)), "symbolic link")
	require.ErrorIs(t, d.Save("../x.yaml", nil, was), os.ErrNotExist)
	require.ErrorContains(t, (&console.Directory{Dir: d.Dir, Options: d.Options, ReadOnly: "not here"}).Save("sub.a.yaml", nil, sha256.Sum256(data)), "not here")
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
	missing := (&console.Directory{Dir: config.Dir{Root: filepath.Join(dir, "none")}}).Read()
	require.ErrorIs(t, missing.Err, os.ErrNotExist)
}

// TestSaveConflict: the editor saves nothing over a file that has changed, nor a configuration with faults.
func TestSaveConflict(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	require.NoError(t, os.WriteFile(file, []byte("domain: a\n"), 0o600))
	b := newBench(t, &console.Options{EditToken: secret, Files: &console.Directory{Dir: config.Dir{Root: dir}}})
	require.NotContains(t, b.get("/configuration/edit?file=a.yaml"), secret)
	form := url.Values{"file": {"a.yaml"}, "text": {"domain: [\n"}, "secret": {secret}, "was": {fmt.Sprintf("%x", sha256.Sum256([]byte("domain: a\n")))}}
	require.Equal(t, http.StatusUnprocessableEntity, b.post("/configuration/save", form).Code)
	form.Set("text", "domain: b\r\n")
	require.NoError(t, os.WriteFile(file, []byte("domain: other\n"), 0o600))
	require.Equal(t, http.StatusConflict, b.post("/configuration/save", form).Code)
	require.NoError(t, os.WriteFile(file, []byte("domain: a\n"), 0o600))
	require.Equal(t, http.StatusSeeOther, b.post("/configuration/save", form).Code)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "domain: b\n", string(data), "line breaks are those of the file")
	require.Equal(t, http.StatusNotFound, b.do(httptest.NewRequest("GET", "/configuration/edit?file=x.yaml", nil)).Code)
}

// TestCreateAndDelete: a file is created under a safe name that is free, and deleted unless it has changed. What that
// does to the rules is shown before. Without a token or a directory there is neither.
func TestCreateAndDelete(t *testing.T) {
	dir := t.TempDir()
	const first, second = "domain: a\n", "domain: b\ndescriptors: [{key: k, rate_limit: {unit: hour, requests_per_unit: 2}}]\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(first), 0o600))
	files := &console.Directory{Dir: config.Dir{Root: dir}}
	for _, o := range []*console.Options{nil, {Files: files}, {EditToken: secret, Files: &console.FixedFiles{}}, {EditToken: secret, Files: &console.Directory{Dir: files.Dir, ReadOnly: "x"}}} {
		b := newBench(t, o)
		require.NotContains(t, b.get("/configuration"), "New file")
		require.Equal(t, http.StatusForbidden, b.do(httptest.NewRequest("GET", "/configuration/new", nil)).Code)
	}
	b := newBench(t, &console.Options{EditToken: secret, Files: files})
	require.Contains(t, b.get("/configuration"), "New file")
	require.Contains(t, b.get("/configuration/new"), "new › client")
	form := func(mode, name, text, was string) url.Values {
		return url.Values{"mode": {mode}, "file": {name}, "text": {text}, "was": {fmt.Sprintf("%x", sha256.Sum256([]byte(was)))}, "secret": {secret}}
	}
	for name, status := range map[string]int{
		"": 422, "../b.yaml": 422, "sub/b.yaml": 422, ".b.yaml": 422, "b.txt": 422, "b.yaml\n": 422, strings.Repeat("b", 200) + ".yaml": 422, "a.yaml": 409,
	} {
		require.Equal(t, status, b.post("/configuration/save", form("create", name, second, "")).Code, name)
	}
	require.Equal(t, http.StatusUnprocessableEntity, b.post("/configuration/save", form("create", "b.yaml", "domain: a\n", "")).Code, "the domain is that of another file")
	wrong := form("create", "b.yaml", second, "")
	wrong.Set("secret", "wrong-wrong-wrong")
	require.Equal(t, http.StatusForbidden, b.post("/configuration/save", wrong).Code)
	require.Len(t, files.Read().Files, 1)
	require.Equal(t, http.StatusSeeOther, b.post("/configuration/save", form("create", "b.yaml", second, "")).Code)
	require.Equal(t, []config.File{{Name: "a.yaml", Data: []byte(first)}, {Name: "b.yaml", Data: []byte(second)}}, files.Read().Files)

	made, err := files.Parse(files.Read().Files)
	require.NoError(t, err)
	b.engine.Use(made.Ruleset)
	require.Contains(t, b.get("/configuration/delete?file=b.yaml"), "0 added, 0 changed, 1 removed.")
	require.Equal(t, http.StatusNotFound, b.do(httptest.NewRequest("GET", "/configuration/delete?file=c.yaml", nil)).Code)
	require.Equal(t, http.StatusConflict, b.post("/configuration/save", form("delete", "b.yaml", "", first)).Code)
	require.Equal(t, http.StatusNotFound, b.post("/configuration/save", form("delete", "", "", first)).Code)
	require.Equal(t, http.StatusSeeOther, b.post("/configuration/save", form("delete", "b.yaml", "", second)).Code)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no other file is left, nor changed")
	require.Contains(t, b.log.String(), `msg="configuration file deleted" file=b.yaml`)
}

// TestRecent: the last requests decide what a change would refuse, with limits and hits of their own.
func TestRecent(t *testing.T) {
	recent := console.NewRecent(4)
	b := newBench(t, &console.Options{Recent: recent}, limited("a", "", 100))
	keep := func(r *ratelimit.Request) { recent.Record(t.Context(), r, nil) }
	for range 10 {
		keep(request("old", "x"))
	}
	own := request("a", "own")
	own.Descriptors[0].Limit = &ratelimit.Override{RequestsPerUnit: 1, Unit: ratelimit.Hour}
	own.Descriptors[0].HitsAddend = new(uint64(5))
	keep(own)
	keep(request("a", "x"))
	two := request("a", "x")
	two.HitsAddend = 2
	keep(two)
	keep(request("a", strings.Repeat("x", 2000)))
	b.get("/configuration/edit")
	page := b.post("/configuration/check", url.Values{"text": {"domain: d\ndescriptors: [{key: a, rate_limit: {unit: hour, requests_per_unit: 2}}]\n"}}).Body.String()
	require.Contains(t, page, "<strong>1</strong> of 4 requests would be refused before, <strong>2</strong> after.")
	require.Contains(t, page, "1 were too large to keep")
	require.Contains(t, page, "0 added, 1 changed, 0 removed.")
	require.Contains(t, page, "100 per hour")
}

func BenchmarkRecord(b *testing.B) {
	recent, r := console.NewRecent(1000), request("client", "198.51.100.17")
	b.ReportAllocs()
	for b.Loop() {
		recent.Record(b.Context(), r, nil)
	}
}
