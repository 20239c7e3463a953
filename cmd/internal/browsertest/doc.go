// Package browsertest opens pages in a real browser, for tests of user interfaces.
//
//	page := browsertest.Open(t, server.URL+"/docs/", &browsertest.Options{Width: 390, Height: 844})
//	page.Await("h1")
//	page.Type("input[name=username]", "jane")
//	page.Click("button")
//	page.Silent() // no error in the console, no request to another origin
//
// Each page has its own headless Chromium with a temporary profile. The browser resolves only
// localhost: requests to other hosts fail and are listed by [Page.Requests].
//
// A test is skipped if Chromium is not on the PATH, or fails if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// A browser per page takes a second longer than a tab of a shared one, but isolates tests: they
// share no cookies, no cache and no crashes.
//
// Tests control the browser over the DevTools protocol, because they must wait for elements, click,
// and record requests, which a dump of the document does not allow.
//
// Methods end the test if they fail. The message contains what the method waited for and the errors
// in the console.
package browsertest
