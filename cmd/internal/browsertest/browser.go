package browsertest

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Options are the choices for a page. Nil means the defaults.
type Options struct {
	// Width and Height are those of the window, in pixels. Below a width of 600 it is that
	// of a phone, which can be touched. Default: 1280 by 800.
	Width, Height int64
}

const (
	// timeout is how long anything may take that a page does when it is asked. It is reached
	// only when something is broken: a machine may be slow, and busy with other tests.
	timeout = 2 * time.Minute
	phone   = 600
)

// find is the path of the browser. Without one the test ends here.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const why = "THIS TEST DID NOT RUN: it needs chromium on the PATH, and there is none"
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// flags are those of the browser. Root can't have a sandbox; what it opens are the pages of
// the test.
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

// Open shows an address, and returns when the page has loaded. opts may be nil.
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
	p.ctx, closeBrowser = chromedp.NewContext(ctx, chromedp.WithListener(p.hear))
	t.Cleanup(closeBrowser)
	// The first call starts the browser, which lives as long as its context.
	if err := chromedp.Do(p.ctx); err != nil {
		t.Fatalf("browsertest: %s does not start: %v", path, err)
	}
	p.do("open it", chromedp.EmulateViewport(width, height, shape(width)...), chromedp.Navigate(url))
	return p
}

// shape makes the window that of a phone.
func shape(width int64) []chromedp.EmulateViewportOption {
	if width >= phone {
		return nil
	}
	return []chromedp.EmulateViewportOption{chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait}
}
