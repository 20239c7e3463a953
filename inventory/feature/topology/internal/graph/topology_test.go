package graph_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/feature/topology/internal/graph"
)

// TestOperators compares all results with the reference on the networks of operators (GraphML).
func TestOperators(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	files, err := filepath.Glob(filepath.Join(dir, "topology", "*.graphml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples of networks: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".graphml"), func(t *testing.T) {
			t.Parallel()
			n := readGraphML(t, file)
			n.checkFailures(t)
			// Some pairs, the same in each run; the reference takes long on large networks.
			pairs := max(1, 2000/len(n.nodes))
			for i := range pairs {
				from, to := n.nodes[i*7%len(n.nodes)].ID, n.nodes[(i*13+len(n.nodes)/2)%len(n.nodes)].ID
				n.checkNeighbors(t, from, i%6)
				n.checkShortest(t, from, to)
				if from != to && i < 12 {
					n.checkDisjoint(t, from, to, graph.ByLink)
					n.checkDisjoint(t, from, to, graph.ByNode)
				}
			}
			t.Logf("%d nodes, %d links, %d failures", len(n.nodes), len(n.links), len(n.Failures()))
		})
	}
}

func readGraphML(t *testing.T, file string) *network {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Nodes []struct {
			ID string `xml:"id,attr"`
		} `xml:"graph>node"`
		Edges []struct {
			Source string `xml:"source,attr"`
			Target string `xml:"target,attr"`
		} `xml:"graph>edge"`
	}
	if err := xml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Nodes) == 0 || len(doc.Edges) == 0 {
		t.Fatal("no nodes or edges")
	}
	var nodes []graph.Node
	var links []graph.Link
	for _, n := range doc.Nodes {
		nodes = append(nodes, graph.Node{ID: n.ID})
	}
	for i, e := range doc.Edges {
		links = append(links, graph.Link{ID: fmt.Sprint("e", i), A: e.Source, B: e.Target})
	}
	return newNetwork(t, nodes, links)
}

// FuzzGraph compares all results with the reference on small networks with parallel links, loops,
// and things that are down.
func FuzzGraph(f *testing.F) {
	f.Add([]byte("\x05\x00ab1bc1ca1cd2"))
	f.Add([]byte("\x06\x41aa1ab1ab1bc9bd1ce1de1ef1af4"))
	f.Add([]byte("\x07\x00ab1bc1cd1de1ef1fg1ga1ce1bf1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 || len(data) > 2+3*24 {
			return
		}
		count := int(data[0])%8 + 2
		var nodes, up []graph.Node
		var links, working []graph.Link
		for i := range count {
			x := graph.Node{ID: string(rune('a' + i)), Down: data[1]>>(i%8)&1 == 1 && i > 0}
			nodes, up = append(nodes, x), append(up, graph.Node{ID: x.ID})
		}
		for i := 2; i+2 < len(data); i += 3 {
			a, b := nodes[int(data[i])%count], nodes[int(data[i+1])%count]
			l := graph.Link{ID: fmt.Sprint("e", i/3), A: a.ID, B: b.ID, Down: data[i+2]>>7 == 1}
			links = append(links, l)
			if !l.Down && !a.Down && !b.Down {
				working = append(working, l)
			}
		}
		all := newNetwork(t, nodes, links)
		rest := newNetwork(t, up, working)
		rest.Graph = all.Working()
		for _, n := range []*network{all, rest} {
			n.checkFailures(t)
			for i := range count {
				from, to := nodes[i].ID, nodes[(i+count/2)%count].ID
				n.checkNeighbors(t, from, i%4)
				n.checkShortest(t, from, to)
				if from != to {
					n.checkDisjoint(t, from, to, graph.ByLink)
					n.checkDisjoint(t, from, to, graph.ByNode)
				}
			}
		}
	})
}

// TestTrap: two disjoint paths exist although each shares a link with the shortest path.
func TestTrap(t *testing.T) {
	t.Parallel()
	var nodes []graph.Node
	for _, id := range "sabtcdef" {
		nodes = append(nodes, graph.Node{ID: string(id)})
	}
	var all []graph.Link
	for _, id := range []string{"sa", "ab", "bt", "sc", "cd", "db", "ae", "ef", "ft"} {
		all = append(all, graph.Link{ID: id, A: id[:1], B: id[1:]})
	}
	g, err := graph.New(nodes, all)
	if err != nil {
		t.Fatal(err)
	}
	one := []graph.Path{{Nodes: []string{"s", "a", "b", "t"}, Links: []string{"sa", "ab", "bt"}}}
	two := []graph.Path{
		{Nodes: []string{"s", "a", "e", "f", "t"}, Links: []string{"sa", "ae", "ef", "ft"}},
		{Nodes: []string{"s", "c", "d", "b", "t"}, Links: []string{"sc", "cd", "db", "bt"}},
	}
	if got := g.Shortest("s", "t", 5); !reflect.DeepEqual(got, one) {
		t.Errorf("the shortest paths are %v", got)
	}
	for most, want := range map[int][]graph.Path{1: one, 2: two, 9: two} {
		if got := g.Disjoint("s", "t", graph.ByNode, most); !reflect.DeepEqual(got, want) {
			t.Errorf("at most %d disjoint paths are %v", most, got)
		}
	}
	for _, pair := range [][2]string{{"s", "s"}, {"s", "x"}, {"x", "s"}} {
		if got := g.Disjoint(pair[0], pair[1], graph.ByLink, 9); len(got) > 0 {
			t.Errorf("%v: %v", pair, got)
		}
	}
	if got := g.Shortest("s", "s", 9); len(got) != 1 || len(got[0].Links) > 0 {
		t.Errorf("from s to s: %v", got)
	}
}

// TestNew checks what a graph refuses.
func TestNew(t *testing.T) {
	t.Parallel()
	for want, g := range map[string]struct {
		nodes []graph.Node
		links []graph.Link
	}{
		`duplicate node "a"`: {nodes: []graph.Node{{ID: "a"}, {ID: "a"}}},
		`link "x" "b",`:      {[]graph.Node{{ID: "a"}}, []graph.Link{{ID: "x", A: "a", B: "b"}}},
	} {
		if _, err := graph.New(g.nodes, g.links); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
