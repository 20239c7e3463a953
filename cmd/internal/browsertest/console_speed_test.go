package browsertest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The loads of a page of which the speed test prints the median, and the most bytes that a page and all that it
// loads may have, compressed.
const (
	speedLoads    = 5
	maxPageWeight = 150_000
)

// load has the measurements of a browser while it loaded a page.
type load struct {
	Paint  float64 // milliseconds until the first contentful paint, from the start of the navigation
	Server float64 // until the first byte of the page
	Bytes  int     // the page and all that it loads, compressed, without what the cache had
	Loads  int     // requests
}

// measured returns the measurements of the last navigation. The first paint may follow the event load.
const measured = `new Promise(done => new PerformanceObserver(list => {
	const paint = list.getEntriesByName("first-contentful-paint")[0];
	if (!paint) return;
	const all = performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"));
	done({Paint: paint.startTime, Server: all[0].responseStart, Loads: all.length,
		Bytes: all.reduce((sum, e) => sum + (e.transferSize > 0 ? e.encodedBodySize : 0), 0)});
}).observe({type: "paint", buffered: true}))`

// TestConsoleSpeed prints how fast pages are painted, with an empty cache and with a full one, and checks how many
// bytes they take. The time depends on the machine, so that it is no reason to fail.
func TestConsoleSpeed(t *testing.T) {
	s := startConsole(t, 200)
	device := s.first("/devices?sortby=hostname:asc")["id"].(string)
	for _, of := range []struct{ name, path string }{
		{"sign-in", "/signin"}, {"home", "/"}, {"list", "/r/devices?limit=100"}, {"device", "/r/devices/" + device},
	} {
		open := func() *Page {
			if of.name == "sign-in" {
				return Open(t, s.url+"/console/signin", nil)
			}
			return s.open("admin", "/account", nil)
		}
		page := open()
		address := s.url + "/console" + of.path
		cold, warm := s.loads(page, address, true), s.loads(page, address, false)
		page.Silent()
		t.Logf("%-8s cold: %s; warm: %s", of.name, median(cold), median(warm))
		for _, l := range cold {
			require.Greater(t, l.Loads, 3, of.name)
			require.Less(t, l.Bytes, maxPageWeight, of.name)
		}
		for _, l := range warm {
			require.Less(t, l.Bytes, cold[0].Bytes/2, "%s: assets are not taken from the cache", of.name)
		}
	}
}

// loads loads a page several times.
func (s *consoleServer) loads(page *Page, address string, cold bool) (all []load) {
	s.t.Helper()
	page.Cache(true)
	page.Goto(address)
	page.Cache(!cold)
	for range speedLoads {
		page.Goto("about:blank")
		page.Goto(address)
		var l load
		page.Eval(measured, &l)
		all = append(all, l)
	}
	page.Cache(true)
	return all
}

// median describes the median of loads.
func median(all []load) string {
	all = slices.SortedFunc(slices.Values(all), func(a, b load) int { return int(1000 * (a.Paint - b.Paint)) })
	l := all[len(all)/2]
	return fmt.Sprintf("first paint after %.0f ms (best %.0f), first byte %.0f ms, %d bytes", l.Paint, all[0].Paint, l.Server, l.Bytes)
}
