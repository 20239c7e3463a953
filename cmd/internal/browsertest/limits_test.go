package browsertest_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

const (
	limitsConfig = `domain: shop
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 40, candidate: {requests_per_unit: 20}}
  - key: path
    value: /login*
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 5, name: logins}
    descriptors:
      - key: user
        rate_limit: {unit: minute, requests_per_unit: 100, algorithm: token_bucket, burst: 20}
  - key: path
    value: /health
`
	limitsMarkup = `<img src=x onerror=alert(1)>`
	limitsToken  = "0123456789abcdef-console"
)

// limitsServer is a rate limit server with embedded counters, whose files are in dir.
type limitsServer struct {
	t    *testing.T
	srv  *server.Server
	url  string // of the console
	json string // of decisions over HTTP
	dir  string
}

func startLimits(t *testing.T) *limitsServer {
	t.Helper()
	root := t.TempDir()
	l := &limitsServer{t: t, dir: filepath.Join(root, "config")}
	require.NoError(t, os.Mkdir(l.dir, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "shop.yaml"), []byte(limitsConfig), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "blog.yaml"), []byte("domain: blog\ndescriptors:\n  - {key: ip, rate_limit: {unit: second, requests_per_unit: 50}}\n"), 0o600))
	s, err := settings.Parse(map[string]string{
		"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "DEBUG_PORT": "0", "DISABLE_STATS": "true",
		"RUNTIME_ROOT": root, "RUNTIME_WATCH_ROOT": "false", "ADMIN_TOKEN": limitsToken,
	})
	require.NoError(t, err)
	listening, ended := make(chan server.Addresses, 1), make(chan error, 1)
	l.srv, err = server.New(t.Context(), s, &server.Options{
		Log: slog.New(slog.DiscardHandler), Output: io.Discard, Listening: func(a server.Addresses) { listening <- a },
	})
	require.NoError(t, err)
	go func() { ended <- l.srv.Run(t.Context()) }()
	t.Cleanup(func() {
		require.NoError(t, l.srv.Close())
		require.NoError(t, <-ended)
		http.DefaultClient.CloseIdleConnections()
	})
	a := <-listening
	l.url = "http://" + a.Debug.String() + "/console"
	l.json = "http://" + a.HTTP.String() + "/json"
	return l
}

// ask sends requests with the entry client=value, as a client does.
func (l *limitsServer) ask(n int, value string) {
	l.t.Helper()
	for range n {
		body := fmt.Sprintf(`{"domain": "shop", "descriptors": [{"entries": [{"key": "client", "value": %q}]}]}`, value)
		response, err := http.Post(l.json, "application/json", bytes.NewReader([]byte(body)))
		require.NoError(l.t, err)
		require.NoError(l.t, response.Body.Close())
	}
}

// looks is consoleServer.looks.
func (l *limitsServer) looks(page *Page, name string) {
	l.t.Helper()
	(&consoleServer{t: l.t}).looks(page, "limits-"+name)
}

// fill replaces the text of a field.
func fill(page *Page, selector, text string) {
	page.Eval(fmt.Sprintf("(() => { const f = document.querySelector(%q); f.value = %q; f.dispatchEvent(new Event('input', {bubbles: true})); })()", selector, text), new(any))
}

// TestLimitsRules: the page of rules follows what clients do without a reload, the filter finds rules, and the page
// of a rule has its busiest keys, with what clients sent as text.
func TestLimitsRules(t *testing.T) {
	t.Parallel()
	l := startLimits(t)
	sampled := regexp.MustCompile(`limits-line-allowed" points="0\.0,\S+ [^"]*,2\.0 `)
	require.Eventually(t, func() bool { // a sample is taken every two seconds
		l.ask(1, "early")
		response, err := http.Get(l.url + "/")
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return err == nil && sampled.Match(text)
	}, timeout, 100*tick, "hits before a browser has opened the page")
	page := Open(t, l.url+"/", nil)
	page.AwaitText("main", "3 limits")
	row := `details:nth-of-type(2) tr:first-child ` // domains are sorted
	require.Equal(t, "40 per year", page.Text(row+`td[data-label="Limit"]`))
	l.ask(60, limitsMarkup)
	l.ask(3, "ann")
	page.AwaitText(`.limits-facts [data-rate-part="refused"]`, ".")
	page.AwaitText(row+`[data-rate-part="allowed"]`, ".")
	page.AwaitText(row+`[data-rate-part="refused"]`, ".")
	l.looks(page, "rules")

	page.Type("#limits-q", "LOGIN user")
	page.AwaitText("#rules", "1 rule matches")
	page.AwaitText("#rules", "shop › path=/login* › user")
	l.ask(20, limitsMarkup) // the order is that of the last seconds
	page.Goto(l.url + "/?sort=refused")
	page.AwaitText("#rules tbody tr:first-child", "shop › client")
	page.Submit("#rules tbody tr:first-child a")
	page.AwaitText("#top-keys", limitsMarkup)
	page.AwaitText("#top-keys", "40") // refused
	page.AwaitText("main", "By the candidate")
	l.looks(page, "rule")
	page.Submit("#top-keys a")
	page.AwaitText("#try", "40 per year")
	page.AwaitText("#try", limitsMarkup)
	page.Silent()
}

// TestLimitsTry: the page explains which rule applies, sends requests that count, and resets the counter for those
// with the token.
func TestLimitsTry(t *testing.T) {
	t.Parallel()
	l := startLimits(t)
	page := Open(t, l.url+"/try", nil)
	page.Type("#try-domain", "shop")
	page.Click("#try-d0k0")
	page.Await("#try-d0k0")
	page.Eval(`(async () => { while (!document.querySelector("#list-d0k0 option[value=path]")) await new Promise(f => setTimeout(f, 20)); })()`, new(any))
	page.Type("#try-d0k0", "client")
	page.Type("#try-d0v0", "<b>bob</b>\n")
	page.AwaitText("#try", "0 of 40")
	page.AwaitText("#try", "The rule that matched at level 1 has a limit.")
	assert.Contains(t, page.Text("#try"), "shop|client|<b>bob</b>|", "the counter key")
	page.Click(`button[name=n][value="100"]`)
	page.AwaitText("#sent", "100 requests sent")
	require.Equal(t, [2]string{"40", "60"}, [2]string{page.Text("#sent-allowed"), page.Text("#sent-refused")})
	require.Contains(t, page.Text("#try"), "100 of 40")
	l.looks(page, "try")
	require.EqualValues(t, 60, l.srv.Statistics().Snapshot().Counters["ratelimit.service.rate_limit.shop.client.over_limit"], "sent requests are real ones")

	page.Click("#try details summary")
	page.Type("#reset-secret", "wrong-wrong-wrong-wrong\n")
	page.AwaitText("#toasts", "The token is missing or wrong")
	page.Expected("403")
	fill(page, "#reset-secret", limitsToken)
	page.Click("#try details .button-bad")
	page.AwaitText("#try", "0 of 40")

	page.Goto(l.url + "/try?domain=shop&d0k0=path&d0v0=%2Flogin%2F1&d0k1=usr&d0v1=ann")
	page.AwaitText("#try", "No limit applies")
	page.AwaitText("#try", "Near miss user")
	page.Silent()
}

// TestLimitsConfiguration: a faulty file is shown with its fault at its line while the old rules stay.
func TestLimitsConfiguration(t *testing.T) {
	t.Parallel()
	l := startLimits(t)
	file := filepath.Join(l.dir, "shop.yaml")
	page := Open(t, l.url+"/configuration", nil)
	page.AwaitText("main", "blog.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(limitsConfig, "unit: year", "unit: decade", 1)), 0o600))
	failures := func() uint64 { return l.srv.Statistics().Snapshot().Counters["ratelimit.service.config_load_error"] }
	require.Eventually(t, func() bool { return failures() > 0 }, timeout, tick)
	page.Goto(l.url + "/configuration")
	page.AwaitText(".problems", "The last configuration was rejected")
	page.AwaitText(".limits-lines li[data-faulty]", "unit: decade")
	page.AwaitText(".limits-lines li[data-faulty]", "invalid rate limit unit 'decade'")
	var line int
	page.Eval(`document.querySelector(".limits-lines li[data-faulty]").value`, &line)
	require.Equal(t, 4, line)
	l.looks(page, "configuration")
	page.Goto(l.url + "/")
	page.AwaitText("#rules", "40 per year")
	page.Goto(l.url + "/health")
	page.AwaitText("#health", "embedded")
	page.AwaitText("#health", "rejected")
	page.AwaitText("#health", "ratelimit.embedded.counters")
	l.looks(page, "health")
}
