package browsertest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNavigation: the navigation has few entries, and a button beside one shows the others of its group.
func TestNavigation(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 20)
	page := s.open("admin", "/", nil)
	shown := func(page *Page, at string) (n int) {
		page.Eval(`[...document.querySelectorAll("`+at+` a")].filter((a) => a.checkVisibility()).length`, &n)
		return n
	}
	require.LessOrEqual(t, shown(page, ".side"), 11)
	require.Greater(t, page.links(".side"), 20)
	page.Click(`.side summary[aria-label="More of Devices"]`)
	page.Submit(`.side a[href$="/r/front-ports"]`)
	page.Await(`.side a[href$="/r/rear-ports"]`) // the group of the page is open
	s.looks(page, "frame")
	page.Resize(390, 844, false)
	page.Click(`summary[aria-label="Navigation"]`)
	s.looks(page, "frame-drawer")
	viewer := s.open("viewer", "/", nil)
	viewer.Await(".side")
	require.LessOrEqual(t, shown(viewer, ".side"), 11)
}

// links returns the number of links in an element, the hidden ones too.
func (p *Page) links(at string) (n int) {
	p.t.Helper()
	p.Eval(`document.querySelectorAll("`+at+` a").length`, &n)
	return n
}

// TestErrorPages: the pages in place of others have the navigation and lead back.
func TestErrorPages(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 3)
	page := s.open("viewer", "/", nil)
	for name, path := range map[string]string{"403": "/r/custom-fields", "404": "/r/devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "400": "/r/devices?status=nonsense"} {
		page.Goto(s.url + "/console" + path)
		page.Await(".side")
		page.Expected(name)
		s.looks(page, "error-"+name)
	}
}
