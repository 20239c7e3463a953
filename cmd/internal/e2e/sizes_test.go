//go:build unix

package e2e_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
)

var fullSizes = flag.Bool("sizes", false, "measure TestSizes with large numbers, as make table-sizes does")

// TestSizes prints what docs/sizes.md has: memory, disk and CPU of ratelimitd by rules and keys, and of inventoryd by devices.
func TestSizes(t *testing.T) {
	rules, keys, calls, devices := []int{10, 1000}, []int{1000}, 2000, []int{50}
	if *fullSizes {
		rules, keys, calls, devices = []int{10, 10_000, 100_000}, []int{1000, 100_000, 1_000_000}, 100_000, []int{1000, 10_000, 50_000}
	}
	for _, n := range rules {
		s := serve(t, map[string]string{"many.yaml": manyRules(n)}, nil)
		took := s.cpuOf(calls, func() {
			s.flood(0, calls, func(call int) *ratelimitv3.RateLimitRequest { return newRequest("many", fmt.Sprint("k", call%n), "x") })
		})
		t.Logf("ratelimitd, %7d rules: %4d MiB, a call %.0f us of CPU", n, s.memory()>>20, took)
		s.terminate()
	}
	for _, n := range keys {
		s := serve(t, map[string]string{"shop.yaml": yearly}, nil)
		s.flood(0, (n+99)/100, func(call int) *ratelimitv3.RateLimitRequest {
			values := make([]string, 100)
			for i := range values {
				values[i] = fmt.Sprint(call*100 + i)
			}
			return newRequest("shop", "load", values...)
		})
		t.Logf("ratelimitd, %7d keys in memory: %4d MiB", n, s.memory()>>20)
		s.terminate()
	}
	for _, n := range devices {
		file := filepath.Join(t.TempDir(), "inventory.db")
		began := time.Now()
		i := startInventory(t, file, nil, "-demo", "-devices", fmt.Sprint(n))
		filled := time.Since(began)
		get := func(path string) func() {
			return func() {
				for range min(calls, 300) {
					code, body := i.send("GET", path, "")
					require.Equal(t, http.StatusOK, code, body)
				}
			}
		}
		page, search := i.cpuOf(min(calls, 300), get("/devices?limit=50")), i.cpuOf(min(calls, 300), get("/search?q=core"))
		memory := i.memory()
		i.stop()
		info, err := os.Stat(file)
		require.NoError(t, err)
		t.Logf("inventoryd, %6d devices in SQLite, filled in %.0f s: %4d MiB, %5d MiB on disk, a page of 50 %.1f ms of CPU, a search %.1f ms",
			n, filled.Seconds(), memory>>20, info.Size()>>20, page/1000, search/1000)
	}
}

// manyRules returns rules of n keys.
func manyRules(n int) string {
	var text strings.Builder
	text.WriteString("domain: many\ndescriptors:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {key: k%d, rate_limit: {unit: year, requests_per_unit: 1000000}}\n", i)
	}
	return text.String()
}

// cpuOf returns the CPU time of the process for each of n calls that f makes, in microseconds.
func (p *process) cpuOf(n int, f func()) float64 {
	before := cpuTime(p.t, p)
	f()
	return float64((cpuTime(p.t, p) - before).Microseconds()) / float64(n)
}
