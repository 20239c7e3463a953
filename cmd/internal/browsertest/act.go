package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
)

// Await returns when an element can be seen.
func (p *Page) Await(selector string) {
	p.t.Helper()
	p.do("wait to see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// AwaitText returns when a text can be seen in an element, on this page or on the next one
// if a click has led there. Blanks count.
func (p *Page) AwaitText(selector, text string) {
	p.t.Helper()
	quoted := []any{quote(selector), quote(text)}
	script := fmt.Sprintf("Boolean(document.querySelector(%s)?.innerText.includes(%s))", quoted...)
	ask(p, fmt.Sprintf("wait for %q in %s", text, selector), func(ctx context.Context) (bool, error) {
		for {
			seen, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(timeout)))
			if err == nil || ctx.Err() != nil || !leftPage(err) {
				return seen, err
			}
		}
	})
}

// leftPage reports whether something failed because the page has given way to the next one.
func leftPage(err error) bool {
	return strings.Contains(err.Error(), "navigated") || strings.Contains(err.Error(), "Cannot find context")
}

// quote makes a literal of a script.
func quote(text string) string {
	literal, _ := json.Marshal(text) // a text
	return string(literal)
}

// Click clicks on an element, once it can be seen.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do("click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Type gives a field of a form the focus and presses the keys of a text. "\n" is Enter.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.do("type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Text is what can be seen of an element's text.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return get(p, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// HTML is the document as it is now.
func (p *Page) HTML() string {
	p.t.Helper()
	return get(p, "read the document", chromedp.OuterHTML(chromedp.CSS("html")))
}

// Address is that of the page as it is now.
func (p *Page) Address() string {
	p.t.Helper()
	return get(p, "read its address", chromedp.Location())
}

// Eval stores the value of a script's expression in what into points to, by way of JSON.
// A promise is waited for. undefined is null.
func (p *Page) Eval(script string, into any) {
	p.t.Helper()
	whole := "(async () => JSON.stringify((await (" + script + ")) ?? null))()"
	doc := get(p, "run "+script, chromedp.Evaluate[string](whole, chromedp.EvalAwaitPromise))
	if err := json.Unmarshal([]byte(doc), into); err != nil {
		p.t.Fatalf("browsertest: %s: %s is %s: %v", p.url, script, doc, err)
	}
}

// Overflows reports whether the page is wider than the window, so that it must be moved
// sideways to be read.
func (p *Page) Overflows() bool {
	p.t.Helper()
	var wide bool
	p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth", &wide)
	return wide
}

// Screenshot is what the window shows, as a PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	return get(p, "take a picture", chromedp.CaptureScreenshot())
}

// WholeScreenshot is all of the page, as a PNG.
func (p *Page) WholeScreenshot() []byte {
	p.t.Helper()
	const png = 100 // a lower quality is a JPEG
	return get(p, "take a picture of all", chromedp.FullScreenshot(png))
}
