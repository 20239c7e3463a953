package browsertest

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

// Page is a page in a browser. One goroutine may use it. Selectors are those of CSS, and
// mean the first element that matches.
type Page struct {
	t   testing.TB
	url string
	ctx context.Context // of the browser, which is how chromedp names it

	mu       sync.Mutex
	errors   []string
	requests []string
}

// hear takes what the browser tells.
func (p *Page) hear(event any) {
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
			p.errors = append(p.errors, "console: "+said(e.Args))
		}
	}
}

// said is what a script wrote to the console.
func said(args []*runtime.RemoteObject) string {
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

// Errors are what the console has shown in red: errors of scripts, violations of the
// Content-Security-Policy, files that did not load.
func (p *Page) Errors() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errors)
}

// Requests are the addresses of all that was asked for, the page itself first. Data that
// stands in its own address is not asked for.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.requests), func(s string) bool {
		return strings.HasPrefix(s, "data:") || strings.HasPrefix(s, "blob:")
	})
}

// Outside are those of Requests that went to another origin than the page's.
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

// Silent fails the test if there are any Errors, or any request to the Outside. It tells of
// all, and the test goes on.
func (p *Page) Silent() {
	p.t.Helper()
	// The console is told of what has happened when the page answers once more.
	p.Eval("0", new(int))
	if errors := p.Errors(); len(errors) > 0 {
		p.t.Errorf("browsertest: %s has errors in its console:\n%s", p.url, strings.Join(errors, "\n"))
	}
	if outside := p.Outside(); len(outside) > 0 {
		p.t.Errorf("browsertest: %s asks others:\n%s", p.url, strings.Join(outside, "\n"))
	}
}

// do acts on the page. It ends the test if that fails, or takes longer than timeout.
func (p *Page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ask(p, what, func(ctx context.Context) (chromedp.Void, error) {
		return chromedp.Void{}, chromedp.Do(ctx, actions...)
	})
}

// get is do for what has a value.
func get[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	return ask(p, what, func(ctx context.Context) (T, error) { return chromedp.Run(ctx, action) })
}

func ask[T any](p *Page, what string, f func(context.Context) (T, error)) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	value, err := f(ctx)
	if err != nil {
		p.t.Fatalf("browsertest: %s: %s: %v; the console has %q", p.url, what, err, p.Errors())
	}
	return value
}
