package browsertest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Goto opens another URL of the same origin.
func (p *Page) Goto(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url))
}

// Cache says whether the browser uses its cache.
func (p *Page) Cache(on bool) {
	p.t.Helper()
	p.do("switch the cache", command(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: !on}))
}

// Resize changes the size of the window and the colours that the system prefers.
func (p *Page) Resize(width, height int64, dark bool) {
	p.t.Helper()
	p.do("resize the window", chromedp.EmulateViewport(width, height, viewport(width)...), scheme(dark))
}

// paperWidth and paperHeight are the size of A4 paper in CSS pixels, 96 to an inch.
const paperWidth, paperHeight = 794, 1123

// Print shows the page as on A4 paper, until the next Resize. Keep and KeepPDF then show what would be printed.
func (p *Page) Print(dark bool) {
	p.t.Helper()
	p.do("print", chromedp.EmulateViewport(paperWidth, paperHeight), media("print", dark))
}

// KeepPDF is Keep for what is printed on A4 paper, as NAME.pdf.
func (p *Page) KeepPDF(name string) {
	p.t.Helper()
	p.keep(name+".pdf", func() []byte {
		const inch = 96.0
		printed := get(p, "print", func(ctx context.Context, t *chromedp.Target) (page.PrintToPDFResult, error) {
			return cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: paperWidth / inch, PaperHeight: paperHeight / inch})
		})
		return printed.Data
	})
}

// Press presses keys on the focused element, such as kb.Escape or "?".
func (p *Page) Press(keys string, opts ...chromedp.KeyOption) {
	p.t.Helper()
	p.do("press "+keys, chromedp.KeyEvent(keys, opts...))
}

// Upload chooses files in a field for files.
func (p *Page) Upload(selector string, paths ...string) {
	p.t.Helper()
	p.do("choose files in "+selector, chromedp.SetUploadFiles(chromedp.CSS(selector), paths))
}

// Submit clicks on an element that leads to another page, and waits until that has loaded.
func (p *Page) Submit(selector string) {
	p.t.Helper()
	call(p, "click on "+selector, func(ctx context.Context) (chromedp.Void, error) {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector)))
		return chromedp.Void{}, err
	})
}

// Keep writes a screenshot of the whole page to NAME.png in the directory of ASHLAR_SCREENSHOTS, for
// people to look at. Without that variable it does nothing.
func (p *Page) Keep(name string) {
	p.t.Helper()
	p.keep(name+".png", p.WholeScreenshot)
}

func (p *Page) keep(name string, picture func() []byte) {
	p.t.Helper()
	dir := os.Getenv("ASHLAR_SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o750); err != nil { // #nosec G703 -- named by who runs the test
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), picture(), 0o600); err != nil { // #nosec G703 -- named by who runs the test
		p.t.Fatal(err)
	}
}

// The rules of axe-core that Accessible applies: those of WCAG 2.2 AA, or the one that depends on the
// colours only.
const (
	allRules  = `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}`
	ruleColor = `{type: "rule", values: ["color-contrast"]}`
)

// Accessible fails the test, without ending it, if axe-core finds violations of WCAG 2.2 AA on the page.
// The directory of the npm package is that of ASHLAR_AXE_DIR; without it the test goes on and says so. Of
// a table it checks ten rows.
func (p *Page) Accessible() {
	p.t.Helper()
	p.accessible(allRules)
}

func (p *Page) accessible(rules string) {
	p.t.Helper()
	dir := os.Getenv("ASHLAR_AXE_DIR")
	if dir == "" {
		const why = "ACCESSIBILITY WAS NOT CHECKED: ASHLAR_AXE_DIR, the directory of the npm package axe-core, is not set"
		if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
			p.t.Fatal(why)
		}
		p.t.Log(why)
		return
	}
	var loaded bool
	if p.Eval(`"axe" in window`, &loaded); !loaded {
		script, err := os.ReadFile(filepath.Join(dir, "axe.min.js")) // #nosec G703 -- named by who runs the test
		if err != nil {
			p.t.Fatal(err)
		}
		get(p, "load axe-core", chromedp.Evaluate[json.RawMessage](string(script)+";0"))
	}
	var violations []struct {
		ID, Impact, Help string
		Nodes            []struct {
			Target  []any
			Summary string `json:"failureSummary"`
		}
	}
	p.Eval(`axe.run({exclude: [["tbody tr:nth-child(n+11)"]]}, {runOnly: `+rules+`, resultTypes: ["violations"]}).then(r => r.violations)`, &violations)
	for _, v := range violations {
		for _, n := range v.Nodes {
			at, _ := json.Marshal(n.Target)
			p.t.Errorf("browsertest: %s is not accessible: %s (%s, %s): %s: %s", p.Address(), v.Help, v.ID, v.Impact, at, strings.ReplaceAll(n.Summary, "\n", " "))
		}
	}
}

// Drag presses the mouse button on an element, moves to another one, and releases it there.
func (p *Page) Drag(from, to string) {
	p.t.Helper()
	var at [2][2]float64
	p.Eval(`[`+quote(from)+`, `+quote(to)+`].map((s, i) => { const e = document.querySelector(s); if (i === 0) e.scrollIntoView({block: "center"});
		const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + Math.min(b.height / 2, 10)]; })`, &at)
	p.do("drag "+from+" to "+to,
		chromedp.MouseEvent(chromedp.MousePressed, at[0][0], at[0][1], chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(chromedp.MouseMoved, (at[0][0]+at[1][0])/2, (at[0][1]+at[1][1])/2, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseMoved, at[1][0], at[1][1], chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, at[1][0], at[1][1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
}
