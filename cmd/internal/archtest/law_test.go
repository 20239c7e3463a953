package archtest_test

import (
	"path"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/archtest"
)

// The synthetic module that the laws are tried on.
const module = "example.org/house"

// pkg is a package of the synthetic module or, with a full path, of others.
func pkg(importPath string, imports ...string) *archtest.Package {
	return &archtest.Package{
		ImportPath: full(importPath),
		Name:       path.Base(importPath),
		Standard:   !strings.HasPrefix(importPath, "/") && !strings.Contains(importPath, "."),
		Imports:    fulls(imports),
	}
}

// tested adds imports of the package's internal and external tests.
func tested(p *archtest.Package, internal, external []string) *archtest.Package {
	p.TestImports, p.XTestImports = fulls(internal), fulls(external)
	return p
}

// full puts the module's path before one that begins with a slash.
func full(importPath string) string {
	if below, ok := strings.CutPrefix(importPath, "/"); ok {
		return strings.TrimSuffix(module+"/"+below, "/")
	}
	return importPath
}

func fulls(paths []string) []string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = full(p)
	}
	return list
}

// law is a small house: two domains, something on each floor.
func law() *archtest.Law {
	return &archtest.Law{
		Rows: []archtest.Row{
			{Path: ".", Floor: archtest.Top},
			{Path: "core", Floor: archtest.Ground},
			{Path: "domain", Floor: archtest.Ground, Uses: []string{"lib.org/id"}},
			{Path: "core/mem", Floor: archtest.First, Plain: true},
			{Path: "core/red", Floor: archtest.First, Uses: []string{"lib.org/red/v9"}},
			{Path: "core/storetest", Floor: archtest.First},
			{Path: "core/mid", Floor: archtest.Second},
			{Path: "core/util", Floor: archtest.First},
			{Path: "core/server", Floor: archtest.Third},
			{Path: "cmd/internal/cli", Floor: archtest.Inside},
			{Path: "cmd/internal/e2e", Floor: archtest.Inside},
			{Path: "cmd/d", Floor: archtest.Top},
			{Path: "examples/*", Floor: archtest.Top},
		},
		TestLibraries: []string{"lib.org/check"},
		Refused:       []string{"util", "base"},
	}
}

// others is what the synthetic module depends on.
func others() []*archtest.Package {
	return []*archtest.Package{
		pkg("fmt"), pkg("testing"), pkg("testing/fstest", "testing"), pkg("net/http"),
		pkg("lib.org/id"), pkg("lib.org/id/v2x"), pkg("lib.org/red/v9"), pkg("lib.org/red/v9/sub"), pkg("lib.org/check/assert"),
	}
}

// trial is a few packages of the synthetic module.
type trial struct {
	why      string
	packages []*archtest.Package
	want     []string // parts of the one violation; none for a house in order
}

// try holds the packages of each trial to the law.
func try(t *testing.T, trials []trial) {
	t.Helper()
	for _, tc := range trials {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			graph := archtest.NewGraph(module, append(others(), tc.packages...))
			compare(t, law().Check(graph), tc.want)
		})
	}
}

// TestOrder says that the law can be kept.
func TestOrder(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"a house in order", []*archtest.Package{
			tested(pkg("/"), nil, []string{"/core", "/core/server", "/core/red"}),
			tested(pkg("/core", "fmt"), []string{"testing"}, []string{"testing/fstest", "/core", "/core/mem"}),
			tested(pkg("/domain", "lib.org/id"), []string{"lib.org/id"}, nil),
			tested(pkg("/core/mem", "/core"), nil, []string{"/core/storetest"}),
			tested(pkg("/core/red", "/core", "lib.org/red/v9/sub"), []string{"lib.org/check/assert"}, []string{"/core/storetest", "/core/server"}),
			pkg("/core/storetest", "testing", "/core"),
			pkg("/core/mid", "/core/mem", "net/http", "C"),
			pkg("/core/server", "/core/mid", "/core/red", "/domain"),
			pkg("/cmd/internal/cli", "fmt"),
			tested(pkg("/cmd/internal/e2e"), []string{"/core/server"}, nil),
			tested(pkg("/cmd/d", "/core/server", "/cmd/internal/cli"), []string{"lib.org/check/assert", "/cmd/internal/e2e"}, nil),
			pkg("/examples/one", "/core/server"),
		}, nil},
	})
}

// TestRows says that every package has to have a row.
func TestRows(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"a package without a row", []*archtest.Package{pkg("/core/fresh")}, []string{
			"rows: package core/fresh has no row", "cmd/internal/archtest/house.go",
		}},
		{"a row's pattern is one element", []*archtest.Package{pkg("/examples/one/deep")}, []string{"examples/one/deep has no row"}},
	})
}

// TestNames says that a name tells what a package is for.
func TestNames(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"a name that says nothing", []*archtest.Package{pkg("/core/util")}, []string{"names: package example.org/house/core/util is called util"}},
		{"a name that hides in the clause", []*archtest.Package{{ImportPath: full("/core/mem"), Name: "base"}}, []string{"core/mem is called base"}},
	})
}

// TestFloors says that imports lead downwards.
func TestFloors(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"upwards", []*archtest.Package{pkg("/core/mem", "/core/mid")}, []string{
			"floors: core/mem (floor 1) imports core/mid (floor 2): upwards", "move the import, do not edit the table",
		}},
		{"sideways", []*archtest.Package{pkg("/core/mem", "/core/red")}, []string{"floors: core/mem", "sideways on the same floor"}},
		{"domains never import each other", []*archtest.Package{pkg("/core", "/domain")}, []string{"floors: core (floor 0)", "never import each other"}},
		{"nor do their tests", []*archtest.Package{
			tested(pkg("/core"), nil, []string{"/domain"}), pkg("/domain"),
		}, []string{"floors: core (floor 0) imports domain (floor 0) in a test", "within their domain"}},
		{"a program is imported by nobody", []*archtest.Package{pkg("/examples/one", "/cmd/d")}, []string{"floors: examples/one", "nothing imports programs"}},
		{"nor is an example", []*archtest.Package{pkg("/core/server", "/examples/one")}, []string{"nothing imports programs"}},
		{"nor is a program by a test", []*archtest.Package{
			tested(pkg("/core/server"), nil, []string{"/cmd/d"}),
		}, []string{"nothing imports programs"}},
		{"nor is the root", []*archtest.Package{pkg("/core/mid", "/")}, []string{"floors: core/mid (floor 2) imports . (floor 5)"}},
		{"what programs share is for programs", []*archtest.Package{pkg("/core/server", "/cmd/internal/cli")}, []string{"cmd/internal is for programs"}},
		{"what programs share stands alone", []*archtest.Package{pkg("/cmd/internal/e2e", "/cmd/internal/cli")}, []string{"floors: cmd/internal/e2e", "sideways"}},
		{"and so do its tests", []*archtest.Package{
			tested(pkg("/cmd/internal/e2e"), []string{"/cmd/internal/cli"}, nil),
		}, []string{"in a test", "sideways"}},
	})
}

// TestThirdParty says that each third-party module has its place.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"the core is standard library only", []*archtest.Package{pkg("/core", "lib.org/id")}, []string{
			"third party: example.org/house/core imports lib.org/id; it may import the standard library only",
		}},
		{"each module has its place", []*archtest.Package{pkg("/core/mid", "lib.org/red/v9")}, []string{"third party: example.org/house/core/mid imports lib.org/red/v9"}},
		{"a prefix ends with an element", []*archtest.Package{pkg("/core/red", "lib.org/red/v91")}, []string{"imports lib.org/red/v91; it may import the standard library, lib.org/red/v9"}},
		{"test libraries are for tests", []*archtest.Package{pkg("/core/mid", "lib.org/check/assert")}, []string{"third party: ", "lib.org/check/assert; "}},
		{"tests have no other third parties", []*archtest.Package{
			tested(pkg("/core/mid"), []string{"lib.org/id"}, nil),
		}, []string{"third party: example.org/house/core/mid imports lib.org/id in a test"}},
	})
}

// TestPlainTests says that tests of the core are plain, whatever way the import goes.
func TestPlainTests(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"the core's tests are plain", []*archtest.Package{
			tested(pkg("/core"), []string{"lib.org/check/assert"}, nil),
		}, []string{"tests of example.org/house/core reach lib.org/check/assert", "go mod tidy"}},
		{"a domain's tests are plain but for what it uses", []*archtest.Package{
			tested(pkg("/domain"), nil, []string{"lib.org/check/assert"}),
		}, []string{"tests of example.org/house/domain reach lib.org/check/assert; they may reach the standard library, lib.org/id"}},
		{"the core's tests reach through packages", []*archtest.Package{
			tested(pkg("/core"), nil, []string{"/core/storetest"}),
			pkg("/core/storetest", "lib.org/check/assert"),
		}, []string{
			"tests of example.org/house/core reach lib.org/check/assert",
			"example.org/house/core in a test\n    -> example.org/house/core/storetest\n    -> lib.org/check/assert\n",
		}},
		{"a row may ask for plain tests", []*archtest.Package{
			tested(pkg("/core/mem"), []string{"lib.org/check/assert"}, nil),
		}, []string{"tests of example.org/house/core/mem reach"}},
	})
}

// TestTestFramework says that programs do not link the test framework.
func TestTestFramework(t *testing.T) {
	t.Parallel()
	try(t, []trial{
		{"the test framework is for tests", []*archtest.Package{pkg("/core/mid", "testing")}, []string{
			"tests: example.org/house/core/mid imports testing outside of its tests", "name ends in test",
		}},
		{"and so is what stands below it", []*archtest.Package{pkg("/core/mid", "testing/fstest")}, []string{"imports testing/fstest outside"}},
		{"a suite is linked by tests only", []*archtest.Package{pkg("/core/mid", "/core/storetest")}, []string{"imports example.org/house/core/storetest outside of its tests"}},
	})
}

// compare fails unless there is one violation whose text has all the parts, or
// none at all if there are no parts.
func compare(t *testing.T, got []archtest.Violation, parts []string) {
	t.Helper()
	if want := min(len(parts), 1); len(got) != want {
		t.Errorf("%d violations, want %d", len(got), want)
	}
	for _, v := range got {
		t.Log(v)
		for _, part := range parts {
			if !strings.Contains(v.String(), part) {
				t.Errorf("the violation does not say %q", part)
			}
		}
	}
}

// TestChain says that a violation tells who is hurt: the shortest way from a
// program to the import.
func TestChain(t *testing.T) {
	t.Parallel()
	graph := archtest.NewGraph(module, append(others(),
		pkg("/core", "lib.org/id"),
		pkg("/core/mem", "/core"),
		pkg("/core/mid", "/core/mem"),
		pkg("/core/server", "/core/mid", "/core/mem"),
		pkg("/cmd/d", "/core/server"),
	))
	violations := law().Check(graph)
	compare(t, violations, []string{strings.Join([]string{
		"       example.org/house/cmd/d\n",
		"    -> example.org/house/core/server\n",
		"    -> example.org/house/core/mem\n",
		"    -> example.org/house/core\n",
		"    -> lib.org/id\n",
		"    move the import, do not edit the table",
	}, "")})
}

// TestChainEnds says that a loop, which the compiler would refuse, does not hang the
// checker.
func TestChainEnds(t *testing.T) {
	t.Parallel()
	graph := archtest.NewGraph(module, []*archtest.Package{
		pkg("/core/mid", "/core/server"), pkg("/core/server", "/core/mid"),
	})
	compare(t, law().Check(graph), []string{"core/mid (floor 2) imports core/server (floor 3): upwards"})
}
