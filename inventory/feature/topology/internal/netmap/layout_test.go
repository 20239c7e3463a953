package netmap_test

import (
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/netmap"
)

// star returns a network of hubs that are linked to each other in a ring, each with leaves.
func star(hubs, leaves int) netmap.Net {
	n := make(netmap.Net, hubs*(leaves+1))
	link := func(a, b int) { n[a], n[b] = append(n[a], b), append(n[b], a) }
	for h := range hubs {
		if h > 0 {
			link(h-1, h)
		}
		for l := range leaves {
			link(h, hubs+h*leaves+l)
		}
	}
	return n
}

// TestLayout: the same network has the same layout, no two devices are at one position, and linked ones are near
// each other, whatever the network.
func TestLayout(t *testing.T) {
	t.Parallel()
	lonely := make(netmap.Net, 7)
	for name, n := range map[string]netmap.Net{
		"one": make(netmap.Net, 1), "pair": {{1}, {0}}, "lonely": lonely, "star": star(1, 60), "ring": star(12, 20),
		"line": star(200, 0), "large": star(40, 49), "parts": append(star(3, 5), lonely...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			points := netmap.Layout(n, make([]int, len(n)), make([]int, len(n)), 1)
			require.Less(t, time.Since(begin), 20*time.Second)
			require.Equal(t, points, netmap.Layout(n, make([]int, len(n)), make([]int, len(n)), 1))
			for i := range points {
				require.False(t, math.IsNaN(points[i].X) || math.IsInf(points[i].X, 0) || math.IsNaN(points[i].Y) || math.IsInf(points[i].Y, 0))
				for j := range i {
					require.Greater(t, math.Hypot(points[i].X-points[j].X, points[i].Y-points[j].Y), 15.0, "%d and %d", i, j)
				}
			}
		})
	}
	require.Empty(t, netmap.Layout(netmap.Net{}, nil, nil, 0))
}

// TestGroups: the devices of a location are in a rectangle of their own.
func TestGroups(t *testing.T) {
	t.Parallel()
	n := star(6, 10)
	group := make([]int, len(n))
	for i := range n {
		group[i] = i % 3
	}
	points := netmap.Layout(n, group, make([]int, len(n)), 3)
	var low, high [3]netmap.Point
	for g := range 3 {
		low[g], high[g] = netmap.Point{math.Inf(1), math.Inf(1)}, netmap.Point{math.Inf(-1), math.Inf(-1)}
	}
	for i, p := range points {
		g := group[i]
		low[g] = netmap.Point{min(low[g].X, p.X), min(low[g].Y, p.Y)}
		high[g] = netmap.Point{max(high[g].X, p.X), max(high[g].Y, p.Y)}
	}
	for a := range 3 {
		for b := range a {
			apart := high[a].X < low[b].X || high[b].X < low[a].X || high[a].Y < low[b].Y || high[b].Y < low[a].Y
			require.True(t, apart, "groups %d and %d overlap", a, b)
		}
	}
}

// TestTree: devices are below those that are nearer to the core, and each beside those of its own kind.
func TestTree(t *testing.T) {
	t.Parallel()
	roles := []string{"access-point", "core-switch", "core-switch", "distribution-switch", "distribution-switch", "access-switch", "access-switch", "server", "firewall", "wan-router"}
	n, ranks := make(netmap.Net, len(roles)), make([]int, len(roles))
	for i, role := range roles {
		ranks[i] = netmap.Rank(role)
	}
	for _, l := range [][2]int{{9, 8}, {8, 1}, {8, 2}, {1, 2}, {1, 3}, {2, 3}, {1, 4}, {2, 4}, {3, 5}, {4, 5}, {3, 6}, {4, 6}, {5, 0}, {6, 7}} {
		n[l[0]], n[l[1]] = append(n[l[0]], l[1]), append(n[l[1]], l[0])
	}
	points := netmap.Layout(n, make([]int, len(n)), ranks, 1)
	rows := [][]int{{9}, {8}, {1, 2}, {3, 4}, {5, 6}, {0, 7}}
	for at, row := range rows {
		for _, i := range row {
			require.Equal(t, points[row[0]].Y, points[i].Y, roles[i])
			if at > 0 {
				require.Greater(t, points[i].Y, points[rows[at-1][0]].Y, roles[i])
			}
		}
	}
	require.InDelta(t, points[9].X, (points[1].X+points[2].X)/2, 1, "the border is above the middle of the core")
}

// TestRows: the ends of paths are at the sides, and a direct link passes no other device.
func TestRows(t *testing.T) {
	t.Parallel()
	points := netmap.Rows([][]int{{0, 1}, {0, 1}, {0, 2, 1}, {0, 3, 4, 1}}, 5)
	require.Equal(t, points[0].Y, points[1].Y)
	for i := 2; i < 5; i++ {
		require.Greater(t, points[i].X, points[0].X)
		require.Less(t, points[i].X, points[1].X)
		require.NotEqual(t, points[0].Y, points[i].Y)
	}
	seen := map[netmap.Point]bool{}
	for _, p := range points {
		require.False(t, seen[p])
		seen[p] = true
	}
}

// networks returns networks whose layouts people have to read, the samples too.
func networks(t *testing.T) map[string]netmap.Net {
	t.Helper()
	ring := star(60, 0)
	ring[0], ring[59] = append(ring[0], 59), append(ring[59], 0)
	tree := make(netmap.Net, 121)
	for i := 1; i < len(tree); i++ {
		above := (i - 1) / 3
		tree[i], tree[above] = append(tree[i], above), append(tree[above], i)
	}
	parts := append(star(60, 0), star(1, 30)...)
	for i := 60; i < len(parts); i++ {
		for j := range parts[i] {
			parts[i][j] += 60
		}
	}
	all := map[string]netmap.Net{
		"chain": star(60, 0), "short chain": star(9, 0), "chain with leaves": star(20, 3), "ring": ring, "star": star(1, 60), "parts": parts, "tree": tree,
	}
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASHLAR_SAMPLES"), "topology", "*.graphml"))
	require.NoError(t, err)
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".graphml")] = readGraphML(t, file)
	}
	return all
}

// readGraphML returns the network of a file.
func readGraphML(t *testing.T, file string) netmap.Net {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var doc struct {
		Nodes []struct {
			ID string `xml:"id,attr"`
		} `xml:"graph>node"`
		Edges []struct {
			Source string `xml:"source,attr"`
			Target string `xml:"target,attr"`
		} `xml:"graph>edge"`
	}
	require.NoError(t, xml.Unmarshal(data, &doc))
	at := map[string]int{}
	for i, n := range doc.Nodes {
		at[n.ID] = i
	}
	n := make(netmap.Net, len(doc.Nodes))
	for _, e := range doc.Edges {
		a, b := at[e.Source], at[e.Target]
		if a != b && !slices.Contains(n[a], b) {
			n[a], n[b] = append(n[a], b), append(n[b], a)
		}
	}
	return n
}

// TestReadable: networks of many shapes fill the window as it is at a width of 1280 pixels: they are not much higher than
// wide, and devices of 6 pixels do not touch each other.
func TestReadable(t *testing.T) {
	t.Parallel()
	for name, n := range networks(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := netmap.Layout(n, make([]int, len(n)), make([]int, len(n)), 1)
			low, high, nearest := points[0], points[0], math.Inf(1)
			for i, p := range points {
				low, high = netmap.Point{min(low.X, p.X), min(low.Y, p.Y)}, netmap.Point{max(high.X, p.X), max(high.Y, p.Y)}
				for _, q := range points[:i] {
					nearest = min(nearest, math.Hypot(p.X-q.X, p.Y-q.Y))
				}
			}
			width, height := high.X-low.X, high.Y-low.Y
			nearest *= min(600/(width+24), 420/(height+24), 1.25)
			require.Greater(t, nearest, 6.0, "%.0f x %.0f", width, height)
			if len(n) <= 125 {
				require.Greater(t, nearest, 12.0, "%.0f x %.0f", width, height)
			}
			if len(n) > 20 {
				require.Less(t, height, 1.5*width)
			}
		})
	}
}

// TestStrands: the devices of a chain are in rows and those of a ring in rows and a column back, each beside the next one.
func TestStrands(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]netmap.Net{"chain": networks(t)["chain"], "ring": networks(t)["ring"]} {
		points := netmap.Layout(n, make([]int, len(n)), make([]int, len(n)), 1)
		for i := range n {
			for _, j := range n[i] {
				require.LessOrEqual(t, math.Hypot(points[i].X-points[j].X, points[i].Y-points[j].Y), 2*132.0, "%s: %d and %d", name, i, j)
			}
		}
	}
}
