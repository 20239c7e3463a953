// Package browsertest tests the web pages of all systems in a real browser. It has no other code.
//
//	go test ./cmd/internal/browsertest
//
// A test opens a page, waits for elements, clicks, and checks that the console has no errors and
// that no request goes to another origin:
//
//	page := Open(t, server.URL+"/docs/", &Options{Width: 390, Height: 844})
//	page.Await("h1")
//	page.Type("input[name=username]", "jane")
//	page.Click("button")
//	page.Silent()
//
// With ASHLAR_SCREENSHOTS=DIR the tests keep screenshots there. A test is skipped if Chromium is not
// on the PATH, or fails if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// All tests share one headless Chromium with a temporary profile, because starting one takes
// seconds. Each page has its own browser context: pages share no cookies and no cache. The browser
// resolves only localhost: requests to other hosts fail and are listed by Page.Requests.
//
// Tests control the browser over the DevTools protocol, because they must wait for elements, click,
// and record requests, which a dump of the document does not allow.
//
// Methods of a page end the test if they fail. The message contains what the method waited for and
// the errors in the console.
package browsertest
