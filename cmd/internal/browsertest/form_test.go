package browsertest_test

import (
	"bytes"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve serves a page and a script.
func serve(t *testing.T, policy, page, script string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, page)
		case "/script.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, script)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

const form = `<!DOCTYPE html><html lang="en"><link rel="icon" href="data:,"><title>Form</title>
<form><input name="who"><button>Greet</button></form><p id="answer" hidden></p><script src="script.js"></script></html>`

const greet = `document.querySelector("form").addEventListener("submit", event => {
	event.preventDefault();
	const answer = document.getElementById("answer");
	answer.textContent = "Hello, " + event.target.who.value;
	answer.hidden = false;
});`

// TestForm fills in a form of a page without errors.
func TestForm(t *testing.T) {
	t.Parallel()
	page := Open(t, serve(t, "script-src 'self'", form, greet), nil)
	page.Type("input[name=who]", "Jane")
	page.Click("button")
	page.Await("#answer")
	page.AwaitText("#answer", "Jane")
	assert.Equal(t, "Hello, Jane", page.Text("#answer"))
	assert.Contains(t, page.HTML(), `<p id="answer">Hello, Jane</p>`)
	assert.Len(t, page.Requests(), 2)
	assert.Equal(t, page.Requests()[0], page.Address())
	page.Silent()
	assert.Empty(t, page.Errors())
}

// TestPhone checks the emulation of a phone, and that Overflows detects a page that is too wide.
func TestPhone(t *testing.T) {
	t.Parallel()
	const wide = `<!DOCTYPE html><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">` +
		`<p style="width: 500px; height: 2000px">wide</p>`
	page := Open(t, serve(t, "", wide, ""), &Options{Width: 390, Height: 844})
	var width, touch int
	page.Eval("window.screen.width", &width)
	page.Eval("navigator.maxTouchPoints", &touch)
	assert.Equal(t, 390, width)
	assert.Positive(t, touch)
	assert.True(t, page.Overflows())

	shot, err := png.DecodeConfig(bytes.NewReader(page.Screenshot()))
	require.NoError(t, err)
	assert.Equal(t, [2]int{390, 844}, [2]int{shot.Width, shot.Height})
	whole, err := png.DecodeConfig(bytes.NewReader(page.WholeScreenshot()))
	require.NoError(t, err)
	assert.Greater(t, whole.Height, 2000)
}

// TestErrors checks that violations of the policy, script errors and requests to other origins
// are recorded.
func TestErrors(t *testing.T) {
	t.Parallel()
	const noisy = `<!DOCTYPE html><link rel="icon" href="data:,"><script>document.title = "inline"</script>` +
		`<img src="http://outside.example/pixel.png"><script src="script.js"></script><p>noisy</p>`
	const script = `console.error("oh", 1); console.warn("fine"); setTimeout(() => { throw new Error("thrown") });`
	page := Open(t, serve(t, "script-src 'self'", noisy, script), nil)
	page.Await("p")
	require.Eventually(t, func() bool { return len(page.Errors()) == 4 }, timeout, tick, "%q", page.Errors())
	all := ""
	for _, e := range page.Errors() {
		all += e + "\n"
	}
	for _, want := range []string{`console: "oh" 1`, "Content Security Policy", "thrown", "net::ERR_NAME_NOT_RESOLVED"} {
		assert.Contains(t, all, want)
	}
	assert.Equal(t, []string{"http://outside.example/pixel.png"}, page.Outside())
}
