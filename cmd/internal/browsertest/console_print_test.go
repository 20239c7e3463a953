package browsertest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConsolePrint: on paper pages have their content, dark on white in every theme, and no navigation and buttons.
func TestConsolePrint(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 60)
	n := s.detailNetwork()
	page := s.open("admin", "/", nil)
	for _, shot := range []struct{ name, path, wait string }{
		{"home", "/", ".facts"},
		{"list", "/r/devices?limit=50&status=active", ".lists-table"},
		{"device", "/r/devices/" + n.sw1 + "?tab=measurements&range=1h", ".chart canvas"},
		{"map", "/map?location=" + n.site, "canvas"},
		{"prefixes", "/prefixes", ".maps-tree"},
		{"rack", "/elevation/" + n.rack, ".maps-rack"},
		{"trace", "/trace/interfaces/" + n.eth0, ".detail-path"},
		{"history", "/r/devices/" + n.sw1 + "/history", ".entry"},
	} {
		page.Resize(1280, 800, true)
		page.Goto(s.url + "/console" + shot.path)
		page.Await(shot.wait)
		page.KeepPDF("print-" + shot.name)
		page.Print(true)
		var seen []string
		page.Eval(`[...document.querySelectorAll("button, input, select, summary, .button, .side, [role=search], [data-live-state]")]
			.filter(e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 1).map(e => e.outerHTML.slice(0, 80))`, &seen)
		assert.Empty(t, seen, shot.name)
		var colours []string
		page.Eval(`[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector("h1")).color, getComputedStyle(document.documentElement).colorScheme]`, &colours)
		assert.Equal(t, "rgb(255, 255, 255)", colours[0], shot.name)
		assert.NotEqual(t, "rgb(232, 234, 236)", colours[1], shot.name)
		assert.False(t, page.Overflows(), shot.name)
	}
	page.Silent()
}
