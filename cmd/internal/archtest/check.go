package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Check holds every package of the module to all that can be told from imports
// and names. It is empty if the law is kept.
func (l *Law) Check(g *Graph) []Violation {
	return slices.Concat(
		l.CheckRows(g), l.CheckNames(g), l.CheckFloors(g), l.CheckThirdParty(g), l.CheckTesting(g), l.Reach(g))
}

// CheckRows reports packages without a row.
func (l *Law) CheckRows(g *Graph) []Violation {
	var vs []Violation
	for _, p := range g.Own() {
		rel, _ := g.Rel(p.ImportPath)
		if _, ok := l.row(rel); !ok {
			vs = append(vs, Violation{
				Law:  "rows",
				What: fmt.Sprintf("package %s has no row", rel),
				Fix:  "add one to the table in cmd/internal/archtest/house.go, on the lowest floor that works",
			})
		}
	}
	return vs
}

// CheckNames reports packages whose name says nothing, or whose directory's does.
func (l *Law) CheckNames(g *Graph) []Violation {
	var vs []Violation
	for _, p := range g.Own() {
		for _, name := range slices.Compact([]string{p.Name, path.Base(p.ImportPath)}) {
			if slices.Contains(l.Refused, name) {
				vs = append(vs, Violation{
					Law:  "names",
					What: fmt.Sprintf("package %s is called %s", p.ImportPath, name),
					Fix:  "name it after what it provides, or move its parts to where they are used",
				})
			}
		}
	}
	return vs
}

// CheckFloors reports imports within the module that do not lead downwards.
func (l *Law) CheckFloors(g *Graph) []Violation {
	var vs []Violation
	l.eachOwnImport(g, func(e edge) {
		if why := e.wrong(); why != "" {
			vs = append(vs, e.violation(g, why))
		}
	})
	return vs
}

// edge is an import of one package of the module by another.
type edge struct {
	from, to       Row
	fromRel, toRel string
	importer       string // import path of from
	imported       string // import path of to
	test           bool   // the import is in a _test.go file
}

// eachOwnImport visits the imports within the module, those of packages without
// a row left aside: these are reported by CheckRows.
func (l *Law) eachOwnImport(g *Graph, visit func(edge)) {
	for _, p := range g.Own() {
		for _, imported := range p.Imports {
			l.visitEdge(g, p.ImportPath, imported, false, visit)
		}
		for _, imported := range p.AllTestImports() {
			l.visitEdge(g, p.ImportPath, imported, true, visit)
		}
	}
}

func (l *Law) visitEdge(g *Graph, importer, imported string, test bool, visit func(edge)) {
	e := edge{importer: importer, imported: imported, test: test}
	toRel, own := g.Rel(imported)
	if !own || importer == imported {
		return
	}
	e.toRel = toRel
	e.fromRel, _ = g.Rel(importer)
	var ok1, ok2 bool
	e.from, ok1 = l.row(e.fromRel)
	e.to, ok2 = l.row(e.toRel)
	if ok1 && ok2 {
		visit(e)
	}
}

// wrong says why the import breaks the law of floors, empty if it does not.
func (e edge) wrong() string {
	if e.test {
		return e.testing()
	}
	return e.production()
}

// production says why the import is wrong outside of tests, empty if it is not.
func (e edge) production() string {
	switch {
	case e.to.Floor < e.from.Floor:
		return ""
	case e.to.Floor == Top:
		return "nothing imports programs, examples and the root"
	case e.to.Floor == Inside && e.from.Floor < Inside:
		return "cmd/internal is for programs"
	case e.to.Floor == e.from.Floor && e.to.Floor == Ground:
		return "packages of the ground floor never import each other"
	case e.to.Floor == e.from.Floor:
		return "sideways on the same floor"
	default:
		return "upwards"
	}
}

// testing says why the import is wrong in a test. A test may look at any library:
// a store's tests run the conformance suite that stands next to it, and an
// example shows what a package is for. The ground floor stays within its domain.
func (e edge) testing() string {
	switch {
	case e.from.Floor >= Inside || e.to.Floor >= Inside:
		return e.production()
	case e.from.Floor == Ground && !strings.HasPrefix(e.toRel, e.fromRel+"/"):
		return "tests of the ground floor stay within their domain"
	}
	return ""
}

func (e edge) violation(g *Graph, why string) Violation {
	tests := ""
	if e.test {
		tests = " in a test"
	}
	return Violation{
		Law: "floors",
		What: fmt.Sprintf("%s (floor %d) imports %s (floor %d)%s: %s",
			e.fromRel, e.from.Floor, e.toRel, e.to.Floor, tests, why),
		Chain: g.chain(e.importer, e.imported+tests),
		Fix:   moveImport,
	}
}
