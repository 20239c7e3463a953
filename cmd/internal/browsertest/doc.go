// Package browsertest opens pages in a real browser, for tests of what people see.
//
//	page := browsertest.Open(t, server.URL+"/docs/", &browsertest.Options{Width: 390, Height: 844})
//	page.Await("h1")
//	page.Type("input[name=username]", "jane")
//	page.Click("button")
//	page.Silent() // no error in the console, no request to anywhere else
//
// The browser is Chromium without a window, one for each page, with a profile of its own
// that is gone when the test ends. It knows no name but localhost: whatever a page asks of
// the world outside fails, and is in [Page.Requests].
//
// A test is skipped where there is no Chromium on the PATH, and fails there if
// ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// A browser for each page takes a second more than a tab in a common one, and leaves
// nothing behind: no cookie, no cache, no crash of another test's page.
//
// The browser is spoken to through a pipe, by the DevTools protocol, and not asked to dump
// what it has: only so can a test wait for what it wants to see, click, and tell which
// requests there were.
//
// Methods end the test when they fail. What they were waiting for is in the message, and
// so is what the console said.
package browsertest
