package browsertest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChangeAllThatMatch: five clicks and a choice change all devices that match a filter, on several pages of the list. A
// change that was stopped goes on, and the audit log has it as one row.
func TestChangeAllThatMatch(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 150)
	n := s.count("/devices?vendor__isnull=false&status=active")
	page := s.open("admin", "/r/devices?status=active&limit=25", nil)
	var range3 string
	page.Eval(`(() => { const all = [...document.querySelectorAll("tbody [data-select]")];
		for (const [i, shiftKey] of [[1, false], [3, true]]) all[i].dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey }));
		const n = document.querySelector("[data-selection-count]").textContent;
		for (const box of all) if (box.checked) box.click();
		return n; })()`, &range3)
	require.Equal(t, "3", range3, "with Shift the rows between are selected")
	page.Click("[data-select-all]")
	require.Contains(t, visible(page, ".lists-every"), "that match")
	s.looks(page, "every-list")
	page.Click("[name=_all]")
	page.Click("tbody [data-select]")
	page.Click("tbody [data-select]")
	page.Click("[name=_all]") // it was for all, and one is not selected any more
	page.Click(`#lists-selection button[value="edit"]`)
	page.AwaitText("main", "Status is active")
	page.Type("#f-os_version", "9.9.9")
	page.Click(`button[value="preview"]`)
	page.AwaitText("main", "would be changed")
	require.Contains(t, visible(page, "main"), "OS version")
	s.looks(page, "every-preview")
	stop := `(() => { const form = document.querySelector(".change-every form"), stop = document.createElement("input"); stop.name = "_stop"; form.append(stop); form.querySelector("[value=apply]").click(); })()`
	page.Eval(stop, new(any))
	page.AwaitText("main", "Stopped after 0")
	require.Zero(t, s.count("/devices?os_version=9.9.9"))
	s.looks(page, "every-stopped")
	page.Click("[data-further]")
	page.AwaitText("main", "are changed")
	page.Spent(5 + 3) // the last one is Apply without the stop
	s.looks(page, "every-result")
	require.GreaterOrEqual(t, s.count("/devices?os_version=9.9.9"), n)
	page.Goto(s.url + "/console/activity")
	require.Regexp(t, `changed \d+ devices`, visible(page, "main"))
	page.Silent()

	// Without JavaScript the choice is always there, and a viewer has none.
	plain := s.open("admin", "/r/devices?os_version=9.9.9&limit=25", &Options{NoScript: true})
	plain.Click("[name=_all]")
	plain.Submit(`#lists-selection button[value="delete"]`)
	goOn := func() {
		for strings.Contains(plain.HTML(), "data-go-on") {
			plain.Submit("[data-further]")
		}
	}
	goOn()
	plain.AwaitText("main", "would be deleted")
	plain.Submit(`button[value="apply"]`)
	goOn()
	plain.AwaitText("main", "are deleted")
	require.Zero(t, s.count("/devices?os_version=9.9.9"))
	viewer := s.open("viewer", "/r/devices?limit=25", nil)
	require.NotContains(t, viewer.HTML(), `name="_all"`)
}
