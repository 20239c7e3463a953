package main

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"

	"github.com/ashlar-go/ashlar/cmd/internal/browsertest"
)

var startHere = regexp.MustCompile(`start here +(http://\S+/)`)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// TestLandingPage opens the page in a browser, in light and dark, wide and narrow: it is complete,
// accessible, fits the window, requests nothing from other hosts, and its links work.
func TestLandingPage(t *testing.T) {
	welcome, stop := start(t)
	defer func() { require.Zero(t, stop()) }()
	page := browsertest.Open(t, startHere.FindStringSubmatch(welcome)[1], nil)
	for name, size := range map[string]struct {
		width, height int64
		dark          bool
	}{"home": {1280, 800, false}, "home-dark": {1280, 800, true}, "home-narrow": {390, 844, false}, "home-narrow-dark": {390, 844, true}} {
		page.Resize(size.width, size.height, size.dark)
		for _, id := range []string{"#inventory", "#limits", "#catalog", "#manifest"} {
			page.Await(id)
		}
		assert.False(t, page.Overflows(), "%s: the page scrolls horizontally", name)
		page.Accessible()
		look(t, name, page)
	}
	page.Silent()
	var links []string
	page.Eval("Array.from(document.links, a => a.href)", &links)
	require.GreaterOrEqual(t, len(links), 8)
	for _, link := range links {
		code, _ := get(t, link)
		assert.Equal(t, http.StatusOK, code, link)
	}
	page.Goto(startHere.FindStringSubmatch(welcome)[1])
	page.AwaitText("#numbers", "20\ndevices")
	copied := copies(page)
	require.Len(t, copied, 2)
	for _, line := range copied { // both are commands that work
		if strings.HasPrefix(line, "go run") || hasCurl() {
			shell(t, line)
		}
	}
	page.AwaitText("#numbers", "of 6 decisions refused")
	var rate string
	page.Eval(`(async () => { for (;;) { const n = document.querySelector("#numbers .fact:nth-child(2) strong").textContent; if (n !== "0") return n; await new Promise((f) => setTimeout(f, 20)); } })()`, &rate)
	require.Regexp(t, `^\d+(\.\d)?$`, rate, "decisions a second")
	page.Submit("#sign-in")
	page.Await(".frame:not(.frame-single)")
	assert.True(t, strings.HasSuffix(page.Address(), "/console/"), page.Address())
	assert.Empty(t, page.Errors())
}

// copies clicks on all buttons that copy and returns what they put into the clipboard.
func copies(page *browsertest.Page) (all []string) {
	page.Eval(`(async () => { const all = []; navigator.clipboard.writeText = async (text) => { all.push(text); };
		for (const b of document.querySelectorAll("[data-copy-from]")) { const n = all.length; b.click(); while (all.length === n) await new Promise((f) => setTimeout(f, 20)); }
		return all; })()`, &all)
	page.AwaitText("#toasts", "Copied.")
	return all
}

// fetch sends a request for a host, with headers given as name, value, name, value.
func fetch(t *testing.T, method, url, host string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(page)
}

var (
	signInLink = regexp.MustCompile(`/sign-in\?code=[A-Z2-7]+`)
	tokenShown = regexp.MustCompile(`<pre id="token"[^>]*>([^<]+)</pre>`)
)

// TestSignIn checks that the password is neither printed nor on the page, and that a sign-in link
// works once.
func TestSignIn(t *testing.T) {
	dir := t.TempDir()
	welcome, stop := start(t, "-data", dir)
	defer func() { require.Zero(t, stop()) }()
	url := strings.TrimSuffix(startHere.FindStringSubmatch(welcome)[1], "/")
	inventory := regexp.MustCompile(`inventory +(http://\S+)/console/`).FindStringSubmatch(welcome)[1]
	password := savedPassword(t, dir)
	_, page := fetch(t, "GET", url, "")
	for _, text := range []string{welcome, page} {
		require.NotContains(t, text, password)
		link := url + signInLink.FindString(text)
		response, _ := fetch(t, "HEAD", link, "")
		require.Equal(t, http.StatusOK, response.StatusCode, "a check of the link")
		response, signedIn := fetch(t, "GET", link+"&for=token", "")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
		require.NotContains(t, signedIn, password)
		token := tokenShown.FindStringSubmatch(signedIn)[1]
		response, _ = fetch(t, "GET", inventory+"/users", "", "Authorization", "Bearer "+token)
		require.Equal(t, http.StatusOK, response.StatusCode)
		response, again := fetch(t, "GET", link, "")
		require.Equal(t, http.StatusGone, response.StatusCode, again)
	}
	response, _ := fetch(t, "GET", url+"/sign-in?code=", "")
	require.Equal(t, http.StatusGone, response.StatusCode)

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Jar: jar}
	_, page = fetch(t, "GET", url, "")
	response, err = browser.Get(url + signInLink.FindString(page))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, inventory+"/console/", response.Request.URL.String(), "the console, signed in")
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// TestSignInStaysHere checks that the landing page shows a sign-in link only to direct requests from
// this machine with a local host name, that others cannot use one, and that hosts of others get
// nothing.
func TestSignInStaysHere(t *testing.T) {
	welcome, stop := start(t, "-allowed-hosts", "me.example")
	defer func() { require.Zero(t, stop()) }()
	url := strings.TrimSuffix(startHere.FindStringSubmatch(welcome)[1], "/")
	books := regexp.MustCompile(`book catalog +(http://\S+)`).FindStringSubmatch(welcome)[1]
	others := regexp.MustCompile(`(?m)^  (?:inventory|rate limits) +(http://[^/\s]+)`).FindAllStringSubmatch(welcome, -1)
	require.Len(t, others, 2, welcome)
	for host, status := range map[string]int{
		"": 200, "localhost": 200, "127.0.0.1:8888": 200, "[::1]:8888": 200, "me.example": 200,
		"evil.example": 421, "evil.example:8888": 421, "192.0.2.1:8888": 421, "localhost.evil.example": 421,
	} {
		response, page := fetch(t, "GET", url, host)
		require.Equal(t, status, response.StatusCode, host)
		require.Equal(t, status == 200 && host != "me.example", signInLink.MatchString(page), host)
		response, _ = fetch(t, "GET", books, host)
		require.Equal(t, status, response.StatusCode, host)
		for _, other := range others {
			response, _ = fetch(t, "GET", other[1]+"/stats", host)
			require.Equal(t, status == 421, response.StatusCode == 421, "%s of %s", other[1], host)
		}
	}
	link := url + signInLink.FindString(welcome)
	for _, header := range []string{"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "X-Real-Ip", "Via", "Cf-Connecting-Ip", "True-Client-Ip"} {
		_, page := fetch(t, "GET", url, "", header, "")
		require.NotRegexp(t, signInLink, page, header)
		response, _ := fetch(t, "GET", link, "", header, "127.0.0.1")
		require.Equal(t, http.StatusForbidden, response.StatusCode, header)
	}
	response, _ := fetch(t, "GET", link, "")
	require.Equal(t, http.StatusOK, response.StatusCode, "refusals do not use it up")
}

// look checks that a screenshot is not empty and writes it to the directory ASHLAR_SCREENSHOTS.
func look(t *testing.T, name string, page *browsertest.Page) {
	t.Helper()
	shot := page.WholeScreenshot()
	picture, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	colours := map[any]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			colours[picture.At(x, y)] = true
		}
	}
	assert.Greater(t, len(colours), 10, "%s: the page is empty", name)
	if dir := os.Getenv("ASHLAR_SCREENSHOTS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644))
	}
}

// TestPastedManifest types manifests into the form.
func TestPastedManifest(t *testing.T) {
	welcome, stop := start(t)
	defer func() { require.Zero(t, stop()) }()
	page := browsertest.Open(t, startHere.FindStringSubmatch(welcome)[1], nil)
	page.Click("#validate")
	page.AwaitText("#result", "line 5, column 14") // the mistake in the example
	var typed string
	page.Eval("document.querySelector('textarea').value = ''", &typed)
	page.Type("textarea", `{"name":"com.example/weather","version":"^1.4.2"}`)
	page.Click("#validate")
	page.AwaitText("#result", "line 1, column 41")
	page.Eval("document.querySelector('textarea').value", &typed)
	assert.Contains(t, typed, `"com.example/weather"`, "the input is kept")
	page.Silent()

	plain := browsertest.Open(t, startHere.FindStringSubmatch(welcome)[1], &browsertest.Options{NoScript: true})
	plain.Submit("#validate")
	require.Contains(t, plain.Text("#result"), "line 5, column 14", "without JavaScript")
	plain.Click(`summary[aria-label="Theme"]`)
	plain.Submit(`button[value="dark"]`)
	plain.Await(`html[data-theme="dark"]`)

	good, err := os.ReadFile(filepath.Join("..", "..", "manifest", "testdata", "examples", "local.json"))
	require.NoError(t, err)
	verdict := validate(good)
	assert.True(t, verdict.Valid, "%+v", verdict)
	assert.Equal(t, "The manifest is valid.", verdict.Summary)
	code, _ := post(t, startHere.FindStringSubmatch(welcome)[1]+"manifest", "document="+strings.Repeat("a", 3<<20))
	assert.Equal(t, http.StatusOK, code, "too large for a manifest, which the page reports")
	code, _ = post(t, startHere.FindStringSubmatch(welcome)[1]+"manifest", "document=%zz")
	assert.Equal(t, http.StatusBadRequest, code)
}

func post(t *testing.T, url, form string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post(url, "application/x-www-form-urlencoded", strings.NewReader(form))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// savedPassword returns the password in a data directory.
func savedPassword(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, passwordFile))
	require.NoError(t, err)
	require.Greater(t, len(text), 20)
	return strings.TrimSpace(string(text))
}

// TestSecondStart checks that data persists across runs without -fresh.
func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, "-data", dir)
	require.Zero(t, stop())
	first := savedPassword(t, dir)
	_, stop = start(t, "-data", dir)
	require.Zero(t, stop())
	require.Equal(t, first, savedPassword(t, dir))

	theirs := filepath.Join(dir, "letter.txt")
	require.NoError(t, os.WriteFile(theirs, []byte("mine"), 0o600))
	_, stop = start(t, "-data", dir, "-fresh")
	require.Zero(t, stop())
	require.NotEqual(t, first, savedPassword(t, dir))
	require.FileExists(t, theirs, "-fresh deletes only its own files")
}

// TestLostPassword checks that a database without the stored password of its admin is not
// opened, and that -fresh recovers.
func TestLostPassword(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, "-data", dir)
	require.Zero(t, stop())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "admin-password"), nil, 0o600))
	var out bytes.Buffer
	args := append(anywhere(t), "-data", dir)
	require.Equal(t, 1, cli.Run(t.Context(), "ashlar", run, cli.Env{Args: args, Stdout: &out, Stderr: &out}))
	require.Contains(t, out.String(), "the password of its admin is missing in "+filepath.Join(dir, "admin-password"))
	_, stop = start(t, "-data", dir, "-fresh")
	require.Zero(t, stop())
}
