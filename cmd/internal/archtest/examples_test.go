package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/archtest"
)

// TestExamples says that a newcomer finds for every constructor how to call it.
func TestExamples(t *testing.T) {
	t.Parallel()
	violations, err := house(t).CheckExamples(archtest.Unshown())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// shop is the package whose constructors are looked for.
const shop = `package shop
type Shop struct{}
func New() *Shop { return nil }
func Open(path string) (*Shop, error) { return nil, nil }
func NewPage[T any](data []T) []T { return data }
func ParsePrice(s string) int { return 0 }
func Compile(rules []string) *Shop { return nil }
func Loaded() bool { return false }
func Newest() *Shop { return nil }
func newShop() *Shop { return nil }
func (*Shop) New() *Shop { return nil }
`

func TestWithoutExample(t *testing.T) {
	t.Parallel()
	all := []string{"New", "Open", "NewPage", "ParsePrice", "Compile"}
	const imported = `import "example.org/house/shop"
`
	const runs = "\n// Output: 1\n}" // the end of an example
	for _, tc := range []struct {
		why  string
		text string
		want []string
	}{
		{"no example", ``, all},
		{"one for each", imported + `func Example() { s := shop.New(); s, _ = shop.Open("x"); shop.NewPage[int](nil)` + runs + `
			func ExampleParsePrice() { go func() { println(shop.ParsePrice("1")) }(); defer shop.Compile(nil)` + runs, nil},
		{"one that is compiled and not run", imported + `func ExampleNew() { shop.New() }`, all},
		{"one that prints nothing", imported + "func ExampleNew() { shop.New()\n// Output:\n}", all[1:]},
		{"one that prints in any order", imported + "func ExampleNew() { shop.New()\n// Unordered output: 2 1\n}", all[1:]},
		{"a method does not do", imported + `func Example() { s, _ := shop.Open("x"); s.New()` + runs, []string{"New", "NewPage", "ParsePrice", "Compile"}},
		{"a mention is no call", imported + `func Example() { f := shop.New; _ = f` + runs, all},
		{"a helper is not shown", imported + `func make() { shop.New() }; func Example() { make()` + runs, all},
		{"a test is no example", imported + `import "testing"; func TestNew(t *testing.T) { shop.New()` + runs, all},
		{"an example has no parameters", imported + `func ExampleNew(n int) { shop.New()` + runs, all},
		{"a word that begins with Example", imported + `func Examples() { shop.New()` + runs, all},
		{"a method called Example", imported + `type T struct{}; func (T) Example() { shop.New()` + runs, all},
		{"a method beside an example", imported + `type T struct{}; func (T) Example() { shop.New() }; func Example() {` + runs, all},
		{"a variable of the name", imported + `type s struct{}; func (s) New() {}; func Example() { shop := s{}; shop.New()` + runs, all},
		{"another package of the name", `import "example.org/other/shop"; func Example() { shop.New()` + runs, all},
		{"another name of the package", `import store "example.org/house/shop"; func Example() { store.New()` + runs, all[1:]},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			if got := withoutExample(t, "package shop_test\n"+tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("without an example are %q, want %q", got, tc.want)
			}
		})
	}
}

// withoutExample is the constructors of shop that the test file does not show.
func withoutExample(t *testing.T, test string) []string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, text := range []string{shop, test} {
		f, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var names []string
	for _, f := range archtest.WithoutExample("example.org/house/shop", fset, files[:1], files[1:]) {
		names = append(names, f.Name.Name)
	}
	return names
}

// shopGraph is a module of packages that all have a New, and no example but for Open.
func shopGraph(t *testing.T) *archtest.Graph {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shop.go":      "package shop\nfunc New() int { return 0 }\nfunc Open() int { return 0 }\n",
		"shop_test.go": "package shop_test\nimport \"example.org/house/shop\"\nfunc ExampleOpen() {\n\tshop.Open()\n\t// Output:\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packages []*archtest.Package
	for rel, name := range map[string]string{"shop": "shop", "shop/shoptest": "shoptest", "shop/internal/x": "x", "cmd/shop": "main"} {
		packages = append(packages, &archtest.Package{
			ImportPath: module + "/" + rel, Name: name, Dir: dir,
			GoFiles: []string{"shop.go"}, XTestGoFiles: []string{"shop_test.go"},
		})
	}
	return archtest.NewGraph(module, packages)
}

func TestCheckExamples(t *testing.T) {
	t.Parallel()
	graph := shopGraph(t)
	for _, tc := range []struct {
		why     string
		unshown map[string]string
		want    []string
	}{
		{"public packages only", nil, []string{"shop.go:2:1: no example that runs calls shop.New\n    call it in a func ExampleNew "}},
		{"an exception", map[string]string{"shop.New": "needs a machine that is elsewhere"}, nil},
		{"an exception without a reason", map[string]string{"shop.New": ""}, []string{"no example that runs calls shop.New"}},
		{
			"exceptions without a cause",
			map[string]string{"shop.New": "so", "shop.Open": "so", "shop.Make": "so"},
			[]string{"shop.Make is an exception without a cause", "shop.Open is an exception without a cause"},
		},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			violations, err := graph.CheckExamples(tc.unshown)
			if err != nil {
				t.Fatal(err)
			}
			if len(violations) != len(tc.want) {
				t.Fatalf("%d violations, want %d: %v", len(violations), len(tc.want), violations)
			}
			for i, part := range tc.want {
				compare(t, violations[i:i+1], []string{"examples: ", part})
			}
		})
	}
}

func TestCheckExamplesReadsFiles(t *testing.T) {
	t.Parallel()
	for _, p := range []*archtest.Package{
		{ImportPath: module + "/face", Name: "face", Dir: "testdata/face", GoFiles: []string{"gone.go"}},
		{ImportPath: module + "/face", Name: "face", Dir: "testdata/face", GoFiles: []string{"face.go"}, XTestGoFiles: []string{"gone.go"}},
	} {
		_, err := archtest.NewGraph(module, []*archtest.Package{p}).CheckExamples(nil)
		if err == nil || !strings.Contains(err.Error(), "gone.go") {
			t.Errorf("a file that is not there gave the error %v", err)
		}
	}
}
