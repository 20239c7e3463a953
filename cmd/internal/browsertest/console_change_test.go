package browsertest_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// mainButton sends the form of a page that changes something.
const mainButton = ".change-actions .button-main"

// write replaces the text of an input, as a user who types does.
func write(page *Page, selector, text string) {
	page.Eval(`(() => { const i = document.querySelector("`+selector+`"); i.value = ""; i.focus(); })()`, new(any))
	if text != "" {
		page.Type(selector, text)
	}
}

// pick chooses a value of a select.
func pick(page *Page, selector, value string) {
	page.Eval(`(() => { const i = document.querySelector("`+selector+`"); i.value = "`+value+`"; i.dispatchEvent(new Event("change", {bubbles: true})); })()`, new(any))
}

// landed returns the id of the record that the page has led to after a change.
func (s *consoleServer) landed(page *Page, resource, done string) string {
	s.t.Helper()
	m := regexp.MustCompile(`/console/r/` + resource + `/([0-9a-f-]{36})\?done=` + done + `$`).FindStringSubmatch(page.Address())
	require.NotNil(s.t, m, page.Address())
	return m[1]
}

// record reads a record through the API.
func (s *consoleServer) record(path string) map[string]any {
	s.t.Helper()
	var rec map[string]any
	s.api("GET", path, nil, &rec)
	return rec
}

// count returns how many records of a list there are.
func (s *consoleServer) count(path string) int {
	s.t.Helper()
	var list struct {
		Meta struct {
			Total int `json:"total_count"`
		}
	}
	s.api("GET", path, nil, &list)
	return list.Meta.Total
}

// TestConsoleChangeForms: an admin declares a field, creates a device with it, a reference and difficult texts,
// corrects what the API refuses, and edits and deletes it.
func TestConsoleChangeForms(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 12)
	place := s.first("/locations?limit=1")
	name := place["name"].(string)

	page := s.open("admin", "/r/custom-fields/new?resource=devices", nil)
	s.looks(page, "change-custom-field")
	page.Type("#f-name", "cost_centre")
	pick(page, "#f-type", "choice")
	page.Type("#f-label", "Cost centre")
	page.Type("#f-choices", "lab, core")
	page.Submit(mainButton)
	field := s.landed(page, "custom-fields", "created")

	const nasty = `"quoted" & 'single' 🚀 a<b`
	page = s.open("admin", "/r/devices/new?location_id="+place["id"].(string), nil)
	s.looks(page, "change-new")
	require.Equal(t, "f-device_type_id", focused(page))
	page.Type("#f-hostname", "bad-address")
	page.Type("#f-ip", "300.1.1.1")
	page.Type("#f-notes", nasty+"\nsecond line")
	page.Submit(mainButton)
	page.Expected("400")
	page.AwaitText(".problems a[href='#f-ip']", "IP")
	page.AwaitText("#f-ip-e", "must be an IP address")
	require.Equal(t, "f-ip", focused(page), "the first wrong field has the focus")
	s.looks(page, "change-invalid")
	write(page, "#f-ip", "192.0.2.77")
	write(page, "#f-location_id", "")
	page.Type("#f-location_id", name[:3])
	page.AwaitText("#f-location_id-list:not([hidden])", name)
	page.Keep("change-pick")
	page.Accessible()
	page.Press(kb.Escape)
	write(page, "#f-location_id", name)
	page.Await("#f-location_id-list:not([hidden]) [aria-selected=true]")
	page.Press(kb.Enter)
	page.Type("#f-tags", "core, edge")
	pick(page, "#f-cost_centre", "lab")
	page.Submit(mainButton)
	id := s.landed(page, "devices", "created")
	made := s.record("/devices/" + id)
	require.Equal(t, nasty+"\nsecond line", made["notes"])
	require.Equal(t, []any{"core", "edge"}, made["tags"])
	require.Equal(t, place["id"], made["location_id"])
	require.Equal(t, "lab", made["cost_centre"])
	require.Equal(t, "active", made["status"], "an untouched choice has its default")

	page = s.open("admin", "/r/devices/"+id+"/edit", nil)
	s.looks(page, "change-edit")
	pick(page, "#f-status", "maintenance")
	write(page, "#f-ip", "")
	page.Submit(mainButton)
	s.landed(page, "devices", "saved")
	edited := s.record("/devices/" + id)
	require.Equal(t, []any{"maintenance", "", nasty + "\nsecond line", 2.0}, []any{edited["status"], edited["ip"], edited["notes"], edited["version"]})

	s.api("POST", "/interfaces", []map[string]any{{"device_id": id, "name": "eth0"}, {"device_id": id, "name": "eth1"}}, nil)
	page = s.open("admin", "/r/devices/"+id+"/delete", nil)
	page.AwaitText("main", "Would delete 1 device and 2 interfaces")
	page.AwaitText("main", "eth1 @ bad-address")
	s.looks(page, "change-delete")
	page.Submit(".change-actions .button-bad")
	require.Contains(t, page.Address(), "/console/r/devices?done=deleted")
	require.Zero(t, s.count("/devices?hostname=bad-address"))

	page = s.open("admin", "/r/custom-fields/"+field+"/delete", nil)
	page.AwaitText("main", "the values of cost_centre of 0 devices")
}

// focused returns the id of the element with the focus.
func focused(page *Page) (id string) {
	page.Eval("document.activeElement.id", &id)
	return id
}

// TestConsoleChangeConflict: an edit of an old version shows both versions, and saves what the user chooses.
// Without JavaScript too.
func TestConsoleChangeConflict(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 3)
	device := s.first("/devices?limit=1")["id"].(string)
	s.api("PATCH", "/devices/"+device, map[string]any{"role": "access", "notes": "old", "model": "M1"}, nil)
	page := s.open("admin", "/r/devices/"+device+"/edit", nil)
	write(page, "#f-notes", "mine")
	write(page, "#f-role", "core")
	s.api("PATCH", "/devices/"+device, map[string]any{"notes": "theirs", "model": "M2"}, nil)
	page.Submit(mainButton)
	page.Expected("412")
	page.AwaitText("main", "has been changed since you opened the form")
	page.AwaitText(".change-both", "theirs")
	page.AwaitText(".change-both", "by admin")
	s.looks(page, "change-conflict")
	var taken []string
	page.Eval(`[...document.querySelectorAll("[type=radio]:checked")].map(r => r.name + "=" + r.value).sort()`, &taken)
	require.Equal(t, []string{"take.model=theirs", "take.role=mine"}, taken, "only the field that both have changed needs a choice")
	page.Click(`[name="take.notes"][value=mine]`)
	page.Submit(mainButton)
	s.landed(page, "devices", "saved")
	rec := s.record("/devices/" + device)
	require.Equal(t, []any{"mine", "core", "M2"}, []any{rec["notes"], rec["role"], rec["model"]})

	plain := s.open("admin", "/r/devices/new", &Options{NoScript: true})
	plain.Type("#f-hostname", "no-script")
	plain.Type("#f-location_id", "nowhere at all")
	plain.Submit(mainButton)
	require.Contains(t, plain.Text("#f-location_id-e"), `no location is called "nowhere at all"`)
	place := s.first("/locations?limit=1")
	plain = s.open("admin", "/r/devices/new?hostname=no-script", &Options{NoScript: true})
	plain.Type("#f-location_id", place["name"].(string))
	plain.Submit(mainButton)
	id := s.landed(plain, "devices", "created")
	require.Equal(t, place["id"], s.record("/devices/" + id)["location_id"])
	plain = s.open("admin", "/r/devices/"+id+"/edit", &Options{NoScript: true})
	plain.Type("#f-vendor", "Acme")
	plain.Submit(mainButton)
	s.landed(plain, "devices", "saved")
	require.Equal(t, "Acme", s.record("/devices/" + id)["vendor"])
}

// TestConsoleChangeMany: a change of several records is previewed and applied, refuses what has changed since the
// preview, and needs the right to change. A form that is sent twice creates one record.
func TestConsoleChangeMany(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 8)
	var list struct{ Data []map[string]any }
	s.api("GET", "/devices?limit=3", nil, &list)
	var ids []string
	for _, d := range list.Data {
		ids = append(ids, d["id"].(string))
	}
	s.api("PATCH", "/devices/"+ids[0], map[string]any{"tags": []string{"old"}}, nil)
	s.api("PATCH", "/devices/"+ids[2], map[string]any{"tags": []string{"window-7", "old, and older"}}, nil)
	page := s.open("admin", "/r/devices/new", nil)
	s.post(page, "/r/devices/bulk", url.Values{"do": {"edit"}, "id": ids})
	s.looks(page, "change-bulk")
	pick(page, "#f-status", "maintenance")
	page.Type("#f-tags", "window-7")
	page.Submit(mainButton)
	page.AwaitText("main", "Would update 3 devices")
	page.AwaitText(".diff", "maintenance")
	s.looks(page, "change-preview")

	s.api("PATCH", "/devices/"+ids[1], map[string]any{"notes": "in between"}, nil)
	page.Submit(mainButton)
	page.Expected("412")
	page.AwaitText("main", "Nothing was changed: 1 of 3 devices were refused")
	require.NotEqual(t, "maintenance", s.record("/devices/" + ids[0])["status"], "the change is atomic")
	s.looks(page, "change-refused")
	page.Submit(mainButton)
	page.AwaitText("main", "Would update 3 devices")
	page.Submit(mainButton)
	require.Contains(t, page.Address(), "/console/r/devices?done=applied")
	for _, id := range ids {
		rec := s.record("/devices/" + id)
		require.Equal(t, "maintenance", rec["status"])
		require.Contains(t, rec["tags"], "window-7")
	}
	require.Equal(t, []any{"old", "window-7"}, s.record("/devices/" + ids[0])["tags"], "tags are added")
	require.Equal(t, []any{"window-7", "old, and older"}, s.record("/devices/" + ids[2])["tags"], "and not twice")

	page = s.open("admin", "/r/vlans/new", nil)
	page.Type("#f-vlan_id", "3999")
	page.Type("#f-name", "twice")
	var statuses []int
	page.Eval(`Promise.all([1, 2].map(() => fetch("/console/r/vlans", {method: "POST", redirect: "manual",
		body: new URLSearchParams(new FormData(document.querySelector(".change-form")))}).then(r => r.status)))`, &statuses)
	require.Equal(t, 1, s.count("/vlans?vlan_id=3999"))
	s.post(page, "/r/vlans/bulk", url.Values{"do": {"delete"}, "id": {s.first("/vlans?vlan_id=3999")["id"].(string)}})
	page.AwaitText("main", "Would delete 1 VLAN")
	s.looks(page, "change-bulk-delete")
	s.api("PATCH", "/vlans/"+s.first("/vlans?vlan_id=3999")["id"].(string), map[string]any{"name": "thrice"}, nil)
	page.Submit(".change-actions .button-bad")
	page.AwaitText("main", "Nothing was deleted: 1 of 1 have been changed since the preview")
	page.Expected("412")
	page.Submit(".change-actions .button-bad")
	require.Zero(t, s.count("/vlans?vlan_id=3999"))

	viewer := s.open("viewer", "/account", nil)
	viewer.Goto(s.url + "/console/r/devices/new")
	viewer.AwaitText("main", "Your role may not create devices")
	viewer.Goto(s.url + "/console/r/devices/" + ids[0] + "/edit")
	viewer.AwaitText("main", "Your role may not change devices")
	viewer.Expected("403")
	viewer.Silent()
}

// post sends a form with the token of the open page, as a list with a selection does.
func (s *consoleServer) post(page *Page, path string, values url.Values) {
	s.t.Helper()
	page.Eval(`(() => { const f = document.querySelector(".change-form"); f.id = "posted"; f.innerHTML = f.querySelector("[name=_token]").outerHTML; f.action = "/console`+path+`";
		for (const [n, v] of new URLSearchParams("`+values.Encode()+`")) { const i = document.createElement("input"); i.name = n; i.value = v; f.append(i); }
		const b = document.createElement("button"); b.textContent = "Send"; f.append(b); })()`, new(any))
	page.Submit("#posted button")
	require.True(s.t, strings.HasSuffix(page.Address(), path), page.Address())
}
