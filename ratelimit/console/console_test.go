package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
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
	log    logtest.Log
	cookie string
	token  string
	from   string // address of the browser
}

func newBench(t *testing.T, opts *console.Options, rules ...ratelimit.Rule) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Unix(1_000_000, 0), from: loopback}
	clock := func() time.Time { return b.now }
	b.engine = ratelimit.MustNew(memstore.MustNew(&memstore.Options{Now: clock}), &ratelimit.Options{Stats: stats.New(nil), TopKeys: true, Now: clock})
	b.use(rules...)
	o := console.Options{}
	if opts != nil {
		o = *opts
	}
	o.Now, o.Log = clock, b.log.Logger()
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

// rates reads what the page reads every two seconds.
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

// TestRates: hits become rates when a page is opened; a long time between is averaged, and other rules do not
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
// has no points.
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
	try := "/try?domain=d&d0k0=a&d0v0=x"
	require.Contains(t, b.get(try), "5 of 5")
	form := func(word string) url.Values {
		return url.Values{"domain": {"d"}, "d0k0": {"a"}, "d0v0": {"x"}, "secret": {word}}
	}
	require.Equal(t, http.StatusForbidden, b.post("/try/reset", form("")).Code)
	b.from = "192.0.2.1:5000"
	w := b.post("/try/reset", form(secret))
	require.Equal(t, http.StatusForbidden, w.Code)
	require.Contains(t, w.Body.String(), "without a proxy")
	b.from = loopback
	token := b.token
	b.token = "0"
	require.Equal(t, http.StatusForbidden, b.post("/try/reset", form(secret)).Code, "without the token of the form")
	require.Equal(t, http.StatusForbidden, b.post("/try/send", url.Values{"domain": {"d"}, "d0k0": {"a"}, "d0v0": {"x"}, "n": {"1"}}).Code)
	b.token = token
	require.Contains(t, b.get(try), "5 of 5", "nothing was changed")
	require.Equal(t, http.StatusOK, b.post("/try/reset", form(secret)).Code)
	require.Contains(t, b.get(try), "0 of 5")
	require.Contains(t, b.log.String(), `msg="counters changed" change=Reset`)
	for range 10 {
		b.post("/try/reset", form("wrong-wrong-wrong"))
	}
	require.Equal(t, http.StatusTooManyRequests, b.post("/try/reset", form("wrong-wrong-wrong")).Code)
	require.Equal(t, http.StatusOK, b.post("/try/reset", form(secret)).Code, "strangers can't lock the holder out")
	require.NotContains(t, b.log.String(), secret)
	require.Equal(t, http.StatusForbidden, newBench(t, nil).post("/try/reset", form(secret)).Code)
	_, err := console.New(b.engine, &console.Options{ResetToken: "short"})
	require.ErrorContains(t, err, "ResetToken")
}

// TestSends: sends are bounded, and release their permits.
func TestSends(t *testing.T) {
	b := newBench(t, nil, ratelimit.Rule{Key: "p", Limit: &ratelimit.Limit{RequestsPerUnit: 3, Unit: ratelimit.Hour, Algorithm: ratelimit.Concurrency}})
	b.get("/try")
	form := url.Values{"domain": {"d"}, "d0k0": {"p"}, "d0v0": {"x"}, "n": {"10"}}
	page := b.post("/try/send", form).Body.String()
	require.Contains(t, page, `aria-label="Results in order: 3 allowed, 7 refused"`)
	require.Contains(t, page, "0 of 3", "the permits are released")
	for _, n := range []string{"0", "101", "x", ""} {
		form.Set("n", n)
		require.Equal(t, http.StatusBadRequest, b.post("/try/send", form).Code, n)
	}
	form = url.Values{"domain": {"d"}, "d0k0": {strings.Repeat("x", 1001)}, "n": {"1"}}
	require.Equal(t, http.StatusBadRequest, b.post("/try/send", form).Code)
}

// TestConfiguration: files are shown in the order of their names, those with faults with the lines around them.
func TestConfiguration(t *testing.T) {
	long := strings.Repeat("# x\n", 1000) + "domain: [\n"
	files := func() ([]config.File, error) {
		list := []config.File{{Name: "b.yaml", Data: []byte("domain: b\n")}, {Name: "a.yaml", Data: []byte(long)}}
		_, err := config.Parse(list, nil)
		return list, err
	}
	page := newBench(t, &console.Options{Files: files}).get("/configuration")
	require.Regexp(t, `(?s)a\.yaml.*b\.yaml`, page)
	require.Contains(t, page, `<li value="997" class="limits-gap"`)
	require.NotContains(t, page, `<li value="996"`)
	require.NotContains(t, page, "<code>domain: b</code>", "a file without a fault")
	require.Contains(t, newBench(t, &console.Options{Files: files}).get("/configuration?file=b.yaml"), "<code>domain: b</code>")
	missing := func() ([]config.File, error) { return nil, os.ErrNotExist }
	require.Contains(t, newBench(t, &console.Options{Files: missing}).get("/configuration"), os.ErrNotExist.Error())
	require.Contains(t, newBench(t, nil).get("/configuration"), "not come from files")
}

// The page of a rule says how its limit counts, whatever the algorithm.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for want, limit := range map[string]ratelimit.Limit{
		"full units":               {RequestsPerUnit: 2, Unit: ratelimit.Hour},
		"start of 1970":            {RequestsPerUnit: 2, Unit: ratelimit.Week},
		"calendar in UTC":          {RequestsPerUnit: 2, Unit: ratelimit.Day, Align: ratelimit.AlignCalendar},
		"in any 1 minute":          {RequestsPerUnit: 2, Unit: ratelimit.Minute, Algorithm: ratelimit.SlidingWindow},
		"bucket of 3 tokens":       {RequestsPerUnit: 2, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket, Burst: 3},
		"expires after 10 minutes": {RequestsPerUnit: 2, Unit: ratelimit.Minute, UnitMultiplier: 10, Algorithm: ratelimit.Concurrency},
		"without being counted":    {Unlimited: true},
	} {
		b := newBench(t, nil, ratelimit.Rule{Key: "k", Limit: &limit})
		id := regexp.MustCompile(`/rules/(\w+)`).FindStringSubmatch(b.get("/"))[1]
		require.Contains(t, b.get("/rules/"+id), want)
	}
}
