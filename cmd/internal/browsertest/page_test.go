package browsertest_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Page is a page in a browser. It is not safe for concurrent use. Selectors are CSS selectors and
// refer to the first matching element. Methods end the test if they fail.
type Page struct {
	t   testing.TB
	url string
	ctx context.Context // identifies the browser for chromedp

	clicks   int // since Spent
	mu       sync.Mutex
	errors   []string
	requests []string
}

// handleEvent records requests and errors.
func (p *Page) handleEvent(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		p.requests = append(p.requests, e.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.errors = append(p.errors, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.errors = append(p.errors, "console: "+consoleMessage(e.Args))
		}
	}
}

// consoleMessage formats the arguments of a call such as console.error.
func consoleMessage(args []*runtime.RemoteObject) string {
	var all []string
	for _, arg := range args {
		if arg.Description != "" {
			all = append(all, arg.Description)
			continue
		}
		all = append(all, string(arg.Value))
	}
	return strings.Join(all, " ")
}

// Errors returns the errors in the console: script errors, violations of the
// Content-Security-Policy, failed requests.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errors)
}

// Expected forgets the errors so far that contain a text, such as the status of a form that the server refuses,
// which browsers report. It fails the test if there is none.
func (p *Page) Expected(text string) {
	p.t.Helper()
	p.Eval("0", new(int)) // as in Silent
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.errors)
	p.errors = slices.DeleteFunc(p.errors, func(e string) bool { return strings.Contains(e, text) })
	if len(p.errors) == before {
		p.t.Errorf("browsertest: %s has no error with %q in its console", p.url, text)
	}
}

// Requests returns the URLs of all requests, the page itself first, without data: and blob: URLs.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.requests), func(s string) bool {
		return strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "blob:")
	})
}

// Outside returns the requests to other origins than that of the page.
func (p *Page) Outside() []string {
	home, err := url.Parse(p.url)
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(p.Requests(), func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.Scheme == home.Scheme && u.Host == home.Host
	})
}

// Silent fails the test, without ending it, if there are Errors or requests to the Outside. It
// reports all of them.
func (p *Page) Silent() {
	p.t.Helper()
	// All earlier events have been received when the page responds to this call.
	p.Eval("0", new(int))
	if errors := p.Errors(); len(errors) > 0 {
		p.t.Errorf("browsertest: %s has errors in its console:\n%s", p.url, strings.Join(errors, "\n"))
	}
	if outside := p.Outside(); len(outside) > 0 {
		p.t.Errorf("browsertest: %s sends requests to other origins:\n%s", p.url, strings.Join(outside, "\n"))
	}
}

// do runs actions on the page. It ends the test if they fail or exceed the timeout.
func (p *Page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	call(p, what, func(ctx context.Context) (chromedp.Void, error) {
		return chromedp.Void{}, chromedp.Do(ctx, actions...)
	})
}

// get is like do, but returns the value of one action.
func get[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	return call(p, what, func(ctx context.Context) (T, error) { return chromedp.Run(ctx, action) })
}

func call[T any](p *Page, what string, f func(context.Context) (T, error)) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	value, err := f(ctx)
	if err != nil {
		p.t.Fatalf("browsertest: %s: %s: %v; errors in the console: %q", p.url, what, err, p.Errors())
	}
	return value
}
