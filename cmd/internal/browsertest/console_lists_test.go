package browsertest_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// choose chooses a value of a select element as a user does.
func choose(t *testing.T, page *Page, selector, value string) {
	t.Helper()
	var chosen string
	page.Eval(`(() => { const s = document.querySelector("`+selector+`"); s.value = "`+value+`"; s.dispatchEvent(new Event("change", {bubbles: true})); return s.value })()`, &chosen)
	require.Equal(t, value, chosen)
}

// TestConsoleLists: somebody searches, filters, sorts and chooses columns, and the address has all of it.
func TestConsoleLists(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 120)
	s.api("POST", "/devices", map[string]any{"hostname": "a-first", "model": `a < b & "c"`, "role": "lab", "tags": []string{"lab"}}, nil)
	page := s.open("admin", "/r/devices", nil)
	page.AwaitText(".lists-count", "1–50 of 121 devices")
	page.AwaitText("#lists-rows tbody tr", `a < b & "c"`)
	s.looks(page, "lists-devices")

	page.Type("#lists-q", "lon1")
	page.AwaitText(".lists-count", "1–23 of 23 devices")
	require.Equal(t, s.url+"/console/r/devices?q=lon1", page.Address())
	page.Click(".lists-filter summary")
	choose(t, page, "#lists-field", "role")
	page.Await("#lists-suggestions a")
	s.looks(page, "lists-filter")
	page.Type("#lists-value", "cess-sw")
	page.AwaitText("#lists-suggestions li:only-child", "access-switch")
	page.Submit("#lists-suggestions a")
	require.Equal(t, s.url+"/console/r/devices?q=lon1&role=access-switch", page.Address())
	page.AwaitText(".lists-chips", "Role is access-switch")
	page.AwaitText(".lists-count", "1–4 of 4 devices")

	page.Submit(`.lists-table th a[href*="ip%3Aasc"]`)
	page.Submit(`.lists-table th[aria-sort="ascending"] a[href*="ip%3Adesc"]`)
	page.Await(`.lists-table th[aria-sort="descending"]`)
	page.AwaitText("#lists-rows tbody tr", "lon1-acc-04")
	page.Click(`.popover summary:has(+ form)`)
	page.Click(`.lists-columns input[value="os"]`)
	page.Keep("lists-columns")
	page.Submit(".lists-apply .button-main")
	page.AwaitText(".lists-table thead", "OS")
	page.AwaitText("#lists-rows tbody tr", "lon1-acc-04")

	var file, name string
	page.Eval(`fetch(document.querySelector('.lists-menu a[href*="format=csv"]').href).then(async r => { window.disposition = r.headers.get("Content-Disposition"); return r.text() })`, &file)
	page.Eval(`window.disposition`, &name)
	require.Regexp(t, `^attachment; filename="devices-\d{4}-\d\d-\d\d\.csv"$`, name)
	lines := strings.Split(strings.TrimSpace(file), "\r\n")
	require.Equal(t, "hostname,ip,model,os,status,role,location_id", lines[0])
	require.Len(t, lines, 5)
	require.Contains(t, lines[1], "lon1-acc-04")

	page.Submit(`.lists-chips a[aria-label^="Remove the filter Role"]`)
	page.AwaitText(".lists-count", "1–23 of 23 devices")
	page.Click("#lists-rows tbody tr [data-select]")
	page.AwaitText(".lists-selection", "1 selected")
	page.Keep("lists-selected")
	page.Goto(s.url + "/console/r/devices?limit=25")
	page.Submit(`.pager a[rel="next"]`)
	page.AwaitText(".lists-count", "26–50 of 121 devices")
	page.Submit(`.pager a[rel="next"]`)
	page.Submit(`.pager a[rel="prev"]`)
	page.AwaitText(".lists-count", "26–50 of 121 devices")

	page.Goto(s.url + "/console/r/devices?q=nowhere")
	page.AwaitText(".empty", "No devices match")
	s.looks(page, "lists-empty")
	page.Goto(s.url + "/console/r/devices?frob=1&sortby=tags:asc")
	page.AwaitText(".problems", "is no filter of this list")
	page.Expected("400")
	s.looks(page, "lists-problem")
	page.Submit(".problems a.button")
	require.Equal(t, s.url+"/console/r/devices", page.Address())
	page.Silent()
}

// TestConsoleListsLive: a change of another user is shown and marked, the palette finds a device, and the search all records.
func TestConsoleListsLive(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 20)
	page := s.open("editor", "/r/devices", nil)
	page.Await(`[data-live-state="open"]`)
	device := s.first("/devices?sortby=hostname:asc&limit=1")
	id, hostname := device["id"].(string), device["hostname"].(string)
	s.api("PATCH", "/devices/"+id, map[string]any{"model": "Another model"}, nil)
	page.AwaitText(`tr.changed[data-id="`+id+`"]`, "Another model")
	page.Silent()

	page.Press("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	page.Type("#palette-input", "new")
	page.AwaitText("#palette-results", "New link")
	page.Keep("lists-palette-commands")
	page.Type("#palette-input", kb.Backspace+kb.Backspace+kb.Backspace+hostname)
	page.AwaitText(`#palette-results [aria-selected="true"]`, hostname)
	page.Keep("lists-palette")
	page.Press(kb.Escape)
	var open bool
	page.Eval(`document.querySelector("#palette").open`, &open)
	require.False(t, open, "one Escape closes the palette, whatever its field has")
	page.Press("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	page.Type("#palette-input", hostname)
	page.AwaitText(`#palette-results [aria-selected="true"]`, hostname)
	page.Accessible()
	page.Silent()
	page.Press(kb.Enter)
	require.Eventually(t, func() bool { return page.Address() == s.url+"/console/r/devices/"+id }, timeout, tick)
	page.Await("#device-interfaces")
	other := s.first("/devices?sortby=hostname:desc&limit=1")
	page.Press("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
	page.Type("#palette-input", other["hostname"].(string)+"\n") // before there are results
	require.Eventually(t, func() bool { return page.Address() == s.url+"/console/r/devices/"+other["id"].(string) }, timeout, tick)
}

// TestConsoleListsRights: a viewer sees records and nothing to change them, and a list needs no script.
func TestConsoleListsRights(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 20)
	page := s.open("viewer", "/r/devices", nil)
	page.Await(".lists-table")
	var offered int
	page.Eval(`document.querySelectorAll("[data-key=new], [data-select], [data-selection], a[href$=new]").length`, &offered)
	require.Zero(t, offered)
	page.Goto(s.url + "/console/r/users")
	page.Expected("403")
	page.Goto(s.url + "/console/search?q=ber1")
	page.AwaitText("main", "ber1-wan-01")
	s.looks(page, "lists-search")

	plain := s.open("editor", "/r/devices?limit=25&add-field=status&add-op=eq", &Options{NoScript: true})
	plain.Submit(`#lists-suggestions a[href*="status=active"]`)
	require.Contains(t, plain.Text(".lists-chips"), "active")
	plain.Keep("lists-no-script")
	plain.Type("#lists-q", "ber1\n")
	plain.Await(`#lists-q[value="ber1"]`)
	require.Contains(t, plain.Address(), "q=ber1")
	require.Contains(t, plain.Text(".lists-count"), "devices")
}
