package browsertest_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// Options configures a page. Nil means the defaults.
type Options struct {
	// Width and Height are the size of the window in pixels. A window narrower than 600 pixels
	// emulates a phone with a touch screen. Default: 1280 by 800.
	Width, Height int64
	// Dark says that the system prefers dark colours.
	Dark bool
	// NoScript switches JavaScript off. Then Eval and the methods that use it do not work.
	NoScript bool
}

const (
	// timeout limits each action. It is long because the machine may be slow and busy.
	timeout = 2 * time.Minute
	// tick is the pause between two polls.
	tick = 10 * time.Millisecond
	// phoneWidth is the width in pixels below which a window emulates a phone.
	phoneWidth = 600
)

// find returns the path of the browser. It skips the test if there is none.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const why = "THIS TEST DID NOT RUN: chromium is not on the PATH"
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// flags returns the flags of the browser. The sandbox does not work for root; without it, the
// browser opens only pages of the test.
func flags(path string) []chromedp.ExecAllocatorOption {
	all := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(timeout),
		chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"),
	)
	if os.Geteuid() == 0 {
		all = append(all, chromedp.NoSandbox)
	}
	return all
}

// browser is the Chromium that all tests share. The first page starts it, TestMain stops it.
type browser struct {
	start sync.Once
	ctx   context.Context // identifies the browser for chromedp
	stop  func()
	err   error
}

var chromium browser

func TestMain(m *testing.M) {
	scaletest.Only("TestConsoleSignIn")
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (b *browser) run(path string) {
	ctx, end := chromedp.NewExecAllocator(context.Background(), flags(path)...)
	ctx, closeBrowser := chromedp.NewContext(ctx)
	// The first call starts the browser, which runs until its context is canceled.
	b.ctx, b.err = ctx, chromedp.Do(ctx)
	b.stop = func() {
		closeBrowser()
		end()
		chromedp.FromContext(ctx).Allocator.Wait()
	}
}

// Open opens a URL and returns when the page has loaded. opts may be nil.
func Open(t testing.TB, url string, opts *Options) *Page {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	width, height := cmp.Or(o.Width, 1280), cmp.Or(o.Height, 800)
	path := find(t)
	chromium.start.Do(func() { chromium.run(path) })
	if chromium.err != nil {
		t.Fatalf("browsertest: %s does not start: %v", path, chromium.err)
	}
	p := &Page{t: t, url: url}
	var closePage context.CancelFunc
	p.ctx, closePage = chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.handleEvent))
	t.Cleanup(closePage)
	if err := chromedp.Do(p.ctx); err != nil { // opens the tab, which lives as long as this context
		t.Fatalf("browsertest: open a tab: %v", err)
	}
	actions := []chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(width, height, viewport(width)...), scheme(o.Dark)}
	if o.NoScript {
		actions = append(actions, command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	}
	p.do("open the page", append(actions, chromedp.Navigate(url))...)
	return p
}

// scheme says which colours the system prefers.
func scheme(dark bool) chromedp.Action[chromedp.Void] { return media("", dark) }

// media says which medium the page is for, such as "print", and which colours the system prefers.
func media(medium string, dark bool) chromedp.Action[chromedp.Void] {
	value := "light"
	if dark {
		value = "dark"
	}
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media:    medium,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}},
	})
}

// command returns an action that sends a command of the DevTools protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, c, params)
		return chromedp.Void{}, err
	}
}

// viewport returns the options that emulate a phone if the window is narrow.
func viewport(width int64) []chromedp.EmulateViewportOption {
	if width >= phoneWidth {
		return nil
	}
	return []chromedp.EmulateViewportOption{chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait}
}
