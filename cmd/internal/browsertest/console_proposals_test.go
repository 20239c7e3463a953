package browsertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestConsoleProposals: a form and an import are proposed where the setting requires it; another user applies one of them, and
// sees the fields of a record that has changed since.
func TestConsoleProposals(t *testing.T) {
	t.Parallel()
	s := startConsoleWith(t, 3, func(settings *server.Settings, _ string) { settings.Review = []string{"devices:admin"} })
	s.user("ann", map[string]any{"role": "admin"})
	known := s.first("/devices?limit=1&sortby=hostname:asc")
	form := "/r/devices/" + known["id"].(string) + "/edit"
	page := s.open("ann", form, nil)
	propose := func(notes, comment string) {
		page.Type("#f-notes", notes)
		page.Click("details.disclosure:has(#propose-comment) summary")
		page.Type("#propose-comment", comment)
		page.Submit(`button[formaction$="propose=yes"]`)
		page.AwaitText("main", "Another user has to apply it")
	}
	page.Type("#f-notes", "direct")
	page.Submit("main form .button-main")
	page.AwaitText(".problems", "propose")
	page.Expected("403")
	s.looks(page, "proposal-form")
	page.Goto(s.url + "/console" + form)
	propose("first", "Notes of the first device")
	s.looks(page, "proposal-own")
	page.Goto(s.url + "/console" + form)
	propose("second", "Notes that come too late")
	page.Goto(s.url + "/console/import?resource=vrfs")
	page.Upload("#file", writeFile(t, "vrfs.csv", "name,rd\nred,65000:1\nblue,65000:2\n"))
	page.Submit("#import-form .button-main")
	page.Click("details.disclosure:has(#propose-comment) summary")
	page.Type("#propose-comment", "Two VRFs")
	s.looks(page, "proposal-import")
	page.Submit(`button[formaction$="propose=yes"]`)
	page.AwaitText("main", "65000:2")
	require.Zero(t, s.number("/vrfs?name=red"))

	other := s.open("admin", "/proposals", nil)
	s.looks(other, "proposals")
	other.Submit("tbody tr:nth-child(3) a")
	s.looks(other, "proposal")
	other.Submit(`form[action$="/apply"] button`)
	other.AwaitText("main", "applied by admin")
	require.Equal(t, "first", s.first("/devices?id__in=" + known["id"].(string))["notes"])
	other.Goto(s.url + "/console/proposals")
	other.Submit("tbody tr:nth-child(2) a")
	other.AwaitText("main", "When proposed")
	s.looks(other, "proposal-conflict")
	other.Type(`input[name="reason"]`, "Too late")
	other.Submit(`form[action$="/refuse"] button`)
	other.AwaitText("main", "refused by admin")
	other.Silent()
	page.Silent()
}
