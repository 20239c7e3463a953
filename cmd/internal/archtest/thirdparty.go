package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// CheckThirdParty reports third-party imports that a package's row does not name.
// What tests of plain rows import is left to [Law.Reach].
func (l *Law) CheckThirdParty(g *Graph) []Violation {
	var vs []Violation
	for _, p := range g.Own() {
		rel, _ := g.Rel(p.ImportPath)
		row, ok := l.row(rel)
		if !ok {
			continue
		}
		may := row.Uses
		if forTests(p.Name) {
			may = slices.Concat(may, l.TestLibraries)
		}
		vs = append(vs, g.foreign(p, p.Imports, "", may)...)
		if !row.plain() {
			vs = append(vs, g.foreign(p, p.AllTestImports(), " in a test", slices.Concat(row.Uses, l.TestLibraries))...)
		}
	}
	return vs
}

// foreign reports the third-party imports among those given that are not allowed.
func (g *Graph) foreign(p *Package, imports []string, where string, may []string) []Violation {
	var vs []Violation
	for _, imported := range imports {
		if g.ThirdParty(imported) && !under(imported, may) {
			vs = append(vs, Violation{
				Law:   "third party",
				What:  fmt.Sprintf("%s imports %s%s; it may import %s", p.ImportPath, imported, where, allowed(may)),
				Chain: g.chain(p.ImportPath, imported+where),
				Fix:   moveImport,
			})
		}
	}
	return vs
}

// allowed lists what a package may import.
func allowed(prefixes []string) string {
	if len(prefixes) == 0 {
		return "the standard library only"
	}
	return "the standard library, " + strings.Join(prefixes, ", ")
}

// CheckTesting reports imports of the test framework outside of tests: package
// testing and those below it, and this module's packages that may link it.
func (l *Law) CheckTesting(g *Graph) []Violation {
	var vs []Violation
	for _, p := range g.Own() {
		if forTests(p.Name) {
			continue
		}
		for _, imported := range p.Imports {
			_, own := g.Rel(imported)
			if under(imported, []string{"testing"}) || own && forTests(imported) {
				vs = append(vs, Violation{
					Law:   "tests",
					What:  fmt.Sprintf("%s imports %s outside of its tests", p.ImportPath, imported),
					Chain: g.chain(p.ImportPath, imported),
					Fix:   moveImport + "; it belongs in a _test.go file or in a package whose name ends in test",
				})
			}
		}
	}
	return vs
}

// Reach reports what the tests of plain packages import beyond their row, directly
// or through packages of this module. These are the imports that go mod tidy
// follows for whoever imports the package.
func (l *Law) Reach(g *Graph) []Violation {
	var vs []Violation
	for _, p := range g.Own() {
		rel, _ := g.Rel(p.ImportPath)
		if row, ok := l.row(rel); ok && row.plain() {
			vs = append(vs, g.reach(p, row)...)
		}
	}
	return vs
}

// reach walks breadth first, so the chains it reports are the shortest.
func (g *Graph) reach(p *Package, row Row) []Violation {
	type step struct {
		imports []string
		chain   []string
	}
	var vs []Violation
	seen := map[string]bool{p.ImportPath: true}
	queue := []step{{p.AllTestImports(), []string{p.ImportPath + " in a test"}}}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, imported := range queue[0].imports {
			if seen[imported] {
				continue
			}
			seen[imported] = true
			chain := append(slices.Clone(queue[0].chain), imported)
			if g.ThirdParty(imported) && !under(imported, row.Uses) {
				vs = append(vs, Violation{
					Law: "third party",
					What: fmt.Sprintf("tests of %s reach %s; they may reach %s, as go mod tidy follows them for every importer",
						p.ImportPath, imported, allowed(row.Uses)),
					Chain: chain,
					Fix:   moveImport + "; a test that needs it goes into a package of its own",
				})
			}
			if next, ok := g.packages[imported]; ok && !next.Standard && !g.ThirdParty(imported) {
				queue = append(queue, step{next.Imports, chain})
			}
		}
	}
	return vs
}
