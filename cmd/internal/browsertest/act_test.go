package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
)

// Await waits until an element is visible.
func (p *Page) Await(selector string) {
	p.t.Helper()
	p.do("wait to see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// AwaitText waits until an element contains a visible text, on this page or on the next one after
// a click. White space must match.
func (p *Page) AwaitText(selector, text string) {
	p.t.Helper()
	quoted := []any{quote(selector), quote(text)}
	script := fmt.Sprintf("Boolean(document.querySelector(%s)?.innerText.includes(%s))", quoted...)
	call(p, fmt.Sprintf("wait for %q in %s", text, selector), func(ctx context.Context) (bool, error) {
		for {
			seen, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(timeout)))
			if err == nil || ctx.Err() != nil || !leftPage(err) {
				return seen, err
			}
		}
	})
}

// leftPage reports whether an error is caused by navigation to another page.
func leftPage(err error) bool {
	return strings.Contains(err.Error(), "navigated") || strings.Contains(err.Error(), "Cannot find context")
}

// quote returns a string as a JavaScript literal.
func quote(text string) string {
	literal, _ := json.Marshal(text) // a string can always be encoded
	return string(literal)
}

// Click waits until an element is visible and clicks on it.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.clicks++
	p.do("click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// ShiftClick is Click while the Shift key is held.
func (p *Page) ShiftClick(selector string) {
	p.t.Helper()
	p.clicks++
	get(p, "click with Shift on "+selector, chromedp.QueryAfter(chromedp.CSS(selector), func(ctx context.Context, t *chromedp.Target, nodes []*chromedp.Node) (chromedp.Void, error) {
		return chromedp.MouseClickNode(nodes[0], chromedp.ButtonModifiers(chromedp.ModifierShift))(ctx, t)
	}, chromedp.NodeVisible))
}

// Spent requires that what was done since Spent was last called, or since the page was opened, took
// at most so many clicks.
func (p *Page) Spent(clicks int) {
	p.t.Helper()
	if p.clicks > clicks {
		p.t.Errorf("%d clicks for what takes at most %d", p.clicks, clicks)
	}
	p.clicks = 0
}

// Type focuses a form field and types a text. "\n" presses Enter.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	// Not chromedp.SendKeys, which reads attributes while events of the page may change them.
	p.do("type into "+selector, chromedp.WaitVisible(chromedp.CSS(selector)), chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent(text))
}

// Paste sets the text of a form field at once.
func (p *Page) Paste(selector, text string) {
	p.t.Helper()
	p.Await(selector)
	p.Eval(fmt.Sprintf("void (document.querySelector(%s).value = %s)", quote(selector), quote(text)), new(any))
}

// Text returns the visible text of an element.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return get(p, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// HTML returns the current document.
func (p *Page) HTML() string {
	p.t.Helper()
	return get(p, "read the document", chromedp.OuterHTML(chromedp.CSS("html")))
}

// Address returns the current URL of the page.
func (p *Page) Address() string {
	p.t.Helper()
	return get(p, "read its address", chromedp.Location())
}

// Eval evaluates a JavaScript expression and decodes its value, encoded as JSON, into the pointer
// into. It awaits a promise, and encodes undefined as null.
func (p *Page) Eval(script string, into any) {
	p.t.Helper()
	whole := "(async () => JSON.stringify((await (" + script + ")) ?? null))()"
	doc := get(p, "run "+script, chromedp.Evaluate[string](whole, chromedp.EvalAwaitPromise))
	if err := json.Unmarshal([]byte(doc), into); err != nil {
		p.t.Fatalf("browsertest: %s: decode the value of %s, %s: %v", p.url, script, doc, err)
	}
}

// Overflows reports whether the page is wider than the window, so that it scrolls horizontally.
func (p *Page) Overflows() bool {
	p.t.Helper()
	var wide bool
	p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth", &wide)
	return wide
}

// Screenshot returns a PNG of the window.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	return get(p, "take a screenshot", chromedp.CaptureScreenshot())
}

// WholeScreenshot returns a PNG of the whole page.
func (p *Page) WholeScreenshot() []byte {
	p.t.Helper()
	const png = 100 // a lower quality is a JPEG
	return get(p, "take a screenshot of the whole page", chromedp.FullScreenshot(png))
}
