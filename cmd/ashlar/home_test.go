package main

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
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

// TestLandingPage opens the page in a browser with two window sizes: it is complete, fits the
// window, requests nothing from other hosts, and its links work.
func TestLandingPage(t *testing.T) {
	welcome, stop := start(t)
	defer func() { require.Zero(t, stop()) }()
	url := startHere.FindStringSubmatch(welcome)[1]
	for name, size := range map[string]browsertest.Options{"phone": {Width: 390, Height: 844}, "desktop": {Width: 1280, Height: 800}} {
		page := browsertest.Open(t, url, &size)
		for _, id := range []string{"#inventory", "#limits", "#catalog", "#manifest"} {
			page.Await(id)
		}
		assert.False(t, page.Overflows(), "%s: the page scrolls horizontally", name)
		page.Silent()
		look(t, name, page)
		if name == "desktop" {
			var links []string
			page.Eval("Array.from(document.links, a => a.href)", &links)
			require.GreaterOrEqual(t, len(links), 8)
			for _, link := range links {
				code, _ := get(t, link)
				assert.Equal(t, http.StatusOK, code, link)
			}
		}
	}
}

// TestPasswordStaysHere checks that the landing page shows the admin's password only to requests
// from this machine with a local host name.
func TestPasswordStaysHere(t *testing.T) {
	welcome, stop := start(t)
	defer func() { require.Zero(t, stop()) }()
	url := startHere.FindStringSubmatch(welcome)[1]
	password := regexp.MustCompile(`log in there as +admin, (\S+)`).FindStringSubmatch(welcome)[1]
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for host, shown := range map[string]bool{
		"": true, "localhost": true, "127.0.0.1:8888": true, "[::1]:8888": true,
		"evil.example": false, "evil.example:8888": false, "192.0.2.1:8888": false, "localhost.evil.example": false,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Host = host
		response, err := client.Do(r)
		require.NoError(t, err)
		page, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Contains(t, string(page), "log in as admin", host)
		require.Equal(t, shown, strings.Contains(string(page), password), host)
	}
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
	page.Type("textarea", `{"name":"com.example/weather","version":"^1.4.2"}`)
	page.Click("button")
	page.AwaitText("#result", "line 1, column 41")
	var typed string
	page.Eval("document.querySelector('textarea').value", &typed)
	assert.Contains(t, typed, `"com.example/weather"`, "the input is kept")
	page.Silent()

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

// TestSecondStart checks that data persists across runs without -fresh.
func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	password := regexp.MustCompile(`admin, (\S+)`)
	first, stop := start(t, "-data", dir)
	require.Zero(t, stop())
	again, stop := start(t, "-data", dir)
	require.Zero(t, stop())
	require.Equal(t, password.FindStringSubmatch(first)[1], password.FindStringSubmatch(again)[1])

	theirs := filepath.Join(dir, "letter.txt")
	require.NoError(t, os.WriteFile(theirs, []byte("mine"), 0o600))
	fresh, stop := start(t, "-data", dir, "-fresh")
	require.Zero(t, stop())
	require.NotEqual(t, password.FindStringSubmatch(first)[1], password.FindStringSubmatch(fresh)[1])
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
