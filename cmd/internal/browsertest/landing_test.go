package browsertest_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLandingPage checks the landing page of ashlar: it is complete, looks right, and its links and commands work.
func TestLandingPage(t *testing.T) {
	t.Parallel()
	home, signIn := startAshlar(t, 20)
	page := Open(t, home, nil)
	for _, id := range []string{"#inventory", "#limits", "#manifest", "#registry", "#catalog"} {
		page.Await(id)
	}
	(&consoleServer{t: t}).looks(page, "home")
	var links []string
	page.Eval("Array.from(document.links, a => a.href)", &links)
	require.GreaterOrEqual(t, len(links), 8)
	for _, link := range links {
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(link)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusOK, response.StatusCode, link)
	}
	page.Goto(home)
	page.AwaitText("#numbers", "20\ndevices")
	copied := copies(page)
	require.Len(t, copied, 2)
	for _, line := range copied { // both are commands that work
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Dir = "../../.."
		text, err := command.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, text)
	}
	page.AwaitText("#numbers", "of 6 decisions refused")
	var rate string
	page.Eval(`(async () => { for (;;) { const n = document.querySelector("#numbers .fact:nth-child(2) strong").textContent; if (n !== "0") return n; await new Promise((f) => setTimeout(f, 20)); } })()`, &rate)
	require.Regexp(t, `^\d+(\.\d)?$`, rate, "decisions a second")
	page.Goto(signIn)
	page.Await(".frame:not(.frame-single)")
	assert.True(t, strings.HasSuffix(page.Address(), "/console/"), page.Address())
	assert.Empty(t, page.Errors())
}

// copies clicks on all buttons that copy and returns what they put into the clipboard.
func copies(page *Page) (all []string) {
	page.Eval(`(async () => { const all = []; navigator.clipboard.writeText = async (text) => { all.push(text); };
		for (const b of document.querySelectorAll("[data-copy-from]")) { const n = all.length; b.click(); while (all.length === n) await new Promise((f) => setTimeout(f, 20)); }
		return all; })()`, &all)
	page.AwaitText("#toasts", "Copied.")
	return all
}

// TestPastedManifest types manifests into the form.
func TestPastedManifest(t *testing.T) {
	t.Parallel()
	home, _ := startAshlar(t, 20)
	page := Open(t, home, nil)
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

	plain := Open(t, home, &Options{NoScript: true})
	plain.Submit("#validate")
	require.Contains(t, plain.Text("#result"), "line 5, column 14", "without JavaScript")
	plain.Click(`summary[aria-label="Theme"]`)
	plain.Submit(`button[value="dark"]`)
	plain.Await(`html[data-theme="dark"]`)
}

// TestAPIPages opens the documentation of the APIs of ashlar.
func TestAPIPages(t *testing.T) {
	t.Parallel()
	home, _ := startAshlar(t, 1)
	page := Open(t, home, nil)
	var docs struct{ Inventory, Books string }
	page.Eval(`(() => { const links = Array.from(document.links, (a) => a.href);
		return {inventory: links.find((l) => l.endsWith("/docs/")), books: new URL("/docs", links.find((l) => l.includes("/api/books"))).href}; })()`, &docs)
	inventory := Open(t, docs.Inventory, nil)
	inventory.AwaitText("#docs", "Network inventory")
	inventory.Type(".operation-filter-input", "devices") // the page shows operations as they come into view
	inventory.Await("#operations-devices-listDevices")
	inventory.Silent()
	books := Open(t, docs.Books, nil)
	books.AwaitText("#docs", "Book catalog")
	books.Await("#operations-books-listBooks")
	books.Silent()
}
