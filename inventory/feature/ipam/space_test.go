package ipam_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/ipam"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

// TestSpace compares the space of prefixes with a model that has a state for each address.
func TestSpace(t *testing.T) { featuretest.OnStores(t, testSpace, ipam.New) }

func testSpace(t *testing.T, g *featuretest.API) {
	random := rand.New(rand.NewPCG(1, 2))
	row := regexp.MustCompile(`(?s)<li class="ipam-(\w+)">.*?(?:<small class="mono">|<strong>)(10[0-9./]+)(?: – ([0-9.]+))?</`)
	for n := range 6 {
		network := netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/20", n))
		at := func(i int) netip.Addr {
			b := network.Addr().As4()
			b[2], b[3] = byte(i>>8), byte(i)
			return netip.AddrFrom4(b)
		}
		id := g.Create("/prefixes", object{"prefix": network.String(), "status": "container"})["id"].(string)
		states := make([]string, 1<<12)
		set := func(p netip.Prefix, state string) {
			for i := range states {
				if p.Contains(at(i)) {
					states[i] = state
				}
			}
		}
		var addresses, prefixes []object
		for i := range states {
			if random.IntN([]int{2, 6, 60}[n%3]) == 0 {
				states[i] = []string{"used", "reserved"}[random.IntN(2)]
				addresses = append(addresses, object{"address": at(i).String() + "/20", "status": map[string]string{"used": "active", "reserved": "reserved"}[states[i]]})
			}
		}
		seen := map[netip.Prefix]bool{}
		for range n * 2 {
			p, _ := at(random.IntN(len(states))).Prefix(22 + random.IntN(9))
			if len(seen) == 0 {
				p, _ = at(0).Prefix(22) // with more addresses than are read
			}
			if !seen[p] {
				seen[p] = true
				prefixes = append(prefixes, object{"prefix": p.String()})
			}
		}
		for p := range seen {
			set(p, "used")
		}
		for _, all := range []struct {
			path string
			of   []object
		}{{"/prefixes", prefixes}, {"/addresses", addresses}} {
			for len(all.of) > 0 {
				part := all.of[:min(500, len(all.of))]
				body, _ := json.Marshal(part)
				g.Create(all.path, string(body))
				all.of = all.of[len(part):]
			}
		}
		_, space, _ := strings.Cut(g.Page("root", "/r/prefixes/"+id), `class="ipam-ranges"`)
		space, _, _ = strings.Cut(space, "</section>")
		next := network.Addr()
		for _, m := range row.FindAllStringSubmatch(space, -1) {
			var first, last netip.Addr
			if p, err := netip.ParsePrefix(m[2]); err == nil {
				first, last = p.Addr(), inventory.LastAddress(p)
			} else {
				first, last = netip.MustParseAddr(m[2]), netip.MustParseAddr(cmp.Or(m[3], m[2]))
			}
			require.Equal(t, next, first, "%s: a hole", network)
			for ; first.Compare(last) <= 0; first = first.Next() {
				b := first.As4()
				want := states[int(b[2])<<8|int(b[3])]
				if want == "" {
					want = "free"
				}
				require.Equal(t, want, m[1], "%s in %v", first, m[1:])
			}
			next = last.Next()
		}
		if _, from, more := strings.Cut(space, "What begins at"); more {
			require.Contains(t, from[:80], next.String())
			require.Greater(t, network.Addr().Compare(next), -2)
		} else {
			require.Equal(t, inventory.LastAddress(network).Next(), next)
		}
	}
}
