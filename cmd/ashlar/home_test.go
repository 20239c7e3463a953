package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
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

var signInLink = regexp.MustCompile(`/sign-in\?code=[A-Z2-7]+`)

// TestSignIn checks that the terminal shows a link that works once, and the landing page none: every user of the machine can open
// that. Neither has the password.
func TestSignIn(t *testing.T) {
	dir := t.TempDir()
	welcome, stop := start(t, "-data", dir)
	defer func() { require.Zero(t, stop()) }()
	url := strings.TrimSuffix(startHere.FindStringSubmatch(welcome)[1], "/")
	inventory := regexp.MustCompile(`inventory +(http://\S+)/console/`).FindStringSubmatch(welcome)[1]
	_, page := fetch(t, "GET", url, "")
	for _, text := range []string{welcome, page} {
		require.NotContains(t, text, savedPassword(t, dir))
	}
	require.NotContains(t, page, "code=")
	link := url + signInLink.FindString(welcome)
	response, _ := fetch(t, "HEAD", link, "")
	require.Equal(t, http.StatusOK, response.StatusCode, "a check of the link")
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Jar: jar}
	response, err = browser.Get(link)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, inventory+"/console/", response.Request.URL.String(), "the console, signed in")
	require.Equal(t, http.StatusOK, response.StatusCode)
	response, err = browser.Get(inventory + "/console/r/devices")
	require.NoError(t, err)
	list, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Contains(t, string(list), "lists-views", "all features are served")
	for _, used := range []string{link, url + "/sign-in?code="} {
		response, again := fetch(t, "GET", used, "")
		require.Equal(t, http.StatusGone, response.StatusCode, again)
	}
}

// TestSignInStaysHere checks that the link works only for direct requests from this machine, and that hosts of others get nothing.
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
		response, _ := fetch(t, "GET", url, host)
		require.Equal(t, status, response.StatusCode, host)
		response, _ = fetch(t, "GET", books, host)
		require.Equal(t, status, response.StatusCode, host)
		for _, other := range others {
			response, _ = fetch(t, "GET", other[1]+"/stats", host)
			require.Equal(t, status == 421, response.StatusCode == 421, "%s of %s", other[1], host)
		}
	}
	link := url + signInLink.FindString(welcome)
	for _, header := range []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Original-Forwarded-For", "Forwarded", "X-Real-Ip", "Via", "Cf-Connecting-Ip", "True-Client-Ip", "Client-Ip",
	} {
		for _, value := range []string{"", "127.0.0.1"} {
			response, _ := fetch(t, "GET", link, "", header, value)
			require.Equal(t, http.StatusForbidden, response.StatusCode, header)
		}
	}
	response, _ := fetch(t, "GET", link, "me.example")
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	response, _ = fetch(t, "GET", link, "")
	require.Equal(t, http.StatusOK, response.StatusCode, "refusals do not use it up")
}

// TestPastedManifestVerdict sends manifests as the form does.
func TestPastedManifestVerdict(t *testing.T) {
	welcome, stop := start(t)
	defer func() { require.Zero(t, stop()) }()
	good, err := os.ReadFile(filepath.Join("..", "..", "manifest", "testdata", "examples", "local.json"))
	require.NoError(t, err)
	page := startHere.FindStringSubmatch(welcome)[1] + "manifest"
	_, verdict := post(t, page, "document="+url.QueryEscape(string(good)))
	assert.Contains(t, verdict, "The manifest is valid.")
	_, verdict = post(t, page, "document={}")
	assert.Regexp(t, `The manifest has (an error|\d errors)\.`, verdict)
	assert.Contains(t, verdict, "line 1, column 1")
	code, _ := post(t, page, "document="+strings.Repeat("a", 3<<20))
	assert.Equal(t, http.StatusOK, code, "too large for a manifest, which the page reports")
	code, _ = post(t, page, "document=%zz")
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
	require.Contains(t, out.String(), "missing in "+filepath.Join(dir, "admin-password"))
	_, stop = start(t, "-data", dir, "-fresh")
	require.Zero(t, stop())
}
