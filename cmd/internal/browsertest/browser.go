package browsertest

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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

// Open opens a URL and returns when the page has loaded. opts may be nil.
func Open(t testing.TB, url string, opts *Options) *Page {
	t.Helper()
	var o Options
	if opts != nil {
		o = *opts
	}
	width, height := cmp.Or(o.Width, 1280), cmp.Or(o.Height, 800)
	path := find(t)
	p := &Page{t: t, url: url}
	ctx, end := chromedp.NewExecAllocator(context.Background(), flags(path)...)
	t.Cleanup(func() {
		end()
		chromedp.FromContext(p.ctx).Allocator.Wait()
	})
	var closeBrowser context.CancelFunc
	p.ctx, closeBrowser = chromedp.NewContext(ctx, chromedp.WithListener(p.handleEvent))
	t.Cleanup(closeBrowser)
	// The first call starts the browser, which runs until its context is canceled.
	if err := chromedp.Do(p.ctx); err != nil {
		t.Fatalf("browsertest: %s does not start: %v", path, err)
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
