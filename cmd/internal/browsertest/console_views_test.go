package browsertest_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// TestNotSeen: three clicks show the devices that were last seen over 30 days ago, and save them as a view, in which
// the time stays relative.
func TestNotSeen(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 60)
	s.api("POST", "/devices", []map[string]any{
		{"hostname": "gone-1", "last_seen": "2020-01-31T12:00:00Z", "tags": []string{"old"}}, {"hostname": "gone-2", "last_seen": "2021-01-31T12:00:00Z", "status": "offline"},
	}, nil)
	page := s.open("viewer", "/", nil)
	page.Click(`nav a[href$="/r/devices"]`)
	page.Await(".lists-table")
	page.Click(`.lists-presets a[href*="last_seen__lt=-30d"]`)
	page.AwaitText(".lists-chips", "Last seen is more than 30 days ago")
	page.AwaitText(".lists-count", "of 2 devices")
	page.Click(".lists-views summary")
	page.Type("#lists-view-name", "Not seen")
	s.looks(page, "views-save")
	page.Press(kb.Enter)
	page.Spent(3)
	page.AwaitText(".lists-view-name", "Not seen")
	require.Contains(t, page.Address(), "last_seen__lt=-30d")

	page.Click(".lists-views summary")
	s.looks(page, "views-saved")
	page.Type("#lists-view-name", "not SEEN")
	page.Press(kb.Enter)
	page.AwaitText(".lists-save [role=alert]", "View with this name already exists")
	page.Goto(s.url + "/console/r/devices?column=hostname&column=frob&frob=1")
	page.AwaitText(".lists-lost", "frob")
	page.AwaitText(".problems", "is no filter of this list")

	other := s.open("admin", "/r/devices", nil)
	other.Click(".lists-views summary")
	require.NotContains(t, visible(other, ".lists-views"), "Not seen")
	other.Click(".lists-everybody input")
	other.Type("#lists-view-name", "All of them")
	other.Press(kb.Enter)
	other.AwaitText(".lists-view-name", "All of them")
	page.Goto(s.url + "/console/r/devices")
	page.Click(".lists-views summary")
	page.AwaitText(".lists-views", "All of them")
	page.Submit(`.lists-view a[href*="last_seen__lt=-30d"]`)
	page.AwaitText(".lists-count", "of 2 devices")
	page.Click(".lists-views summary")
	page.Submit(`.lists-view button[aria-label="Delete the view Not seen"]`)
	page.Click(".lists-views summary")
	require.NotContains(t, visible(page, ".lists-views"), "Not seen")
}

// TestFacetPanel: the panel beside a list has values with counts, and applies several conditions at once.
func TestFacetPanel(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 200)
	page := s.open("viewer", "/r/devices", nil)
	page.Click(".lists-filter summary")
	page.Submit("[data-facets]")
	page.AwaitText(".lists-panel", "Status")
	s.looks(page, "facets")
	page.Click(`.lists-panel input[value="status=active"]`)
	page.Click(`.lists-panel input[value="status=provisioning"]`)
	page.Click(`.lists-panel input[value="role=access-switch"]`)
	choose(t, page, "#lists-age", "-1d")
	page.Submit(".lists-panel .button-main")
	page.AwaitText(".lists-chips", "Status is active or provisioning")
	page.AwaitText(".lists-chips", "Role is access-switch")
	page.AwaitText(".lists-chips", "Last seen is more than 1 day ago")
	s.looks(page, "facets-applied")

	// The number of a site is that of all that lies within it, and choosing it lists these.
	page.Goto(s.url + "/console/r/devices?status=active&add-panel=open")
	first := `document.querySelector('.lists-panel input[value^="below="]')`
	var site, number string
	page.Eval(first+`.value`, &site)
	page.Eval(first+`.closest("label").querySelector(".lists-number").textContent`, &number)
	page.Click(`.lists-panel input[value="` + site + `"]`)
	page.Submit(".lists-panel .button-main")
	page.AwaitText(".lists-chips", "Location is within")
	page.AwaitText(".lists-count", "of "+number+" ")
	require.NotEmpty(t, s.all("/locations?kind=site&id="+strings.TrimPrefix(site, "below=")))
	s.looks(page, "facets-site")
	page.Submit(`.lists-panel a[aria-label="Close the filters"]`)
	page.AwaitText(".lists-chips", "Location is within")
	page.Silent()
}
