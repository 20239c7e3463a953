package archtest_test

import (
	"context"
	"flag"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/archtest"
)

var update = flag.Bool("update", false, "rewrite the listings of public faces under testdata/api")

// checkout is the root of this module, and house its packages.
const checkout = "../../.."

var load = sync.OnceValues(func() (*archtest.Graph, error) {
	return archtest.Load(context.Background(), checkout)
})

func house(t *testing.T) *archtest.Graph {
	t.Helper()
	graph, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

func TestLaw(t *testing.T) {
	t.Parallel()
	for _, v := range archtest.House().Check(house(t)) {
		t.Error(v)
	}
}

func TestNoMutableState(t *testing.T) {
	t.Parallel()
	for _, p := range house(t).Own() {
		violations, err := archtest.CheckState(p)
		if err != nil {
			t.Error(err)
		}
		for _, v := range violations {
			t.Error(v)
		}
	}
}

func TestAPI(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "api")
	faces, err := house(t).Faces()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := archtest.UpdateFaces(dir, faces); err != nil {
			t.Fatal(err)
		}
	}
	violations, err := archtest.CompareFaces(dir, faces)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// TestHouse says that the table is in order: each row is that of a package, is found by
// its own path, and nothing above the ground floor stands on a domain that is not there.
func TestHouse(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	ground := map[string]bool{"cmd": true, "examples": true, ".": true}
	for _, row := range archtest.House().Rows {
		if seen[row.Path] {
			t.Errorf("row %s is there twice: the second is never read", row.Path)
		}
		seen[row.Path] = true
		if !slices.ContainsFunc(house(t).Own(), func(p *archtest.Package) bool {
			rel, _ := house(t).Rel(p.ImportPath)
			ok, _ := path.Match(row.Path, rel)
			return ok
		}) {
			t.Errorf("row %s: there is no such package", row.Path)
		}
		if row.Floor == archtest.Ground {
			ground[row.Path] = true
		}
	}
	for p := range seen {
		if domain, _, _ := strings.Cut(p, "/"); !ground[domain] {
			t.Errorf("row %s: %s is no package of the ground floor", p, domain)
		}
	}
}

// TestLoad says that the graph is that of this module, with what it depends on.
func TestLoad(t *testing.T) {
	t.Parallel()
	graph := house(t)
	own := map[string]*archtest.Package{}
	for _, p := range graph.Own() {
		rel, _ := graph.Rel(p.ImportPath)
		own[rel] = p
	}
	this := own["cmd/internal/archtest"]
	if this == nil || own["."] == nil {
		t.Fatalf("the graph has no cmd/internal/archtest or no root: %v", own)
	}
	if strings.Join(this.XTestImports, " ") == "" || len(this.GoFiles) == 0 {
		t.Errorf("the graph does not know the imports and files of this package: %+v", this)
	}
	if graph.ThirdParty("go/ast") || graph.ThirdParty(this.ImportPath) {
		t.Error("the standard library or this module is taken for a third party")
	}
}

func TestLoadFails(t *testing.T) {
	t.Parallel()
	if _, err := archtest.Load(context.Background(), t.TempDir()); err == nil {
		t.Error("Load found a module in an empty directory")
	}
}
