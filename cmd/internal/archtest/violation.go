package archtest

import (
	"slices"
	"strings"
)

// Violation is one breach of the law.
type Violation struct {
	// Law is the part of the law: "rows", "floors", "third party", "tests",
	// "names", "state", "face" or "examples".
	Law string
	// What is wrong, and where.
	What string
	// Chain leads from the package where it starts to the import that is at fault;
	// empty where no import is.
	Chain []string
	// Fix is what to do.
	Fix string
}

// moveImport is the way out of every wrong import.
const moveImport = "move the import, do not edit the table"

// String is several lines: what is wrong, the chain, what to do.
func (v Violation) String() string {
	var b strings.Builder
	b.WriteString(v.Law + ": " + v.What + "\n")
	for i, p := range v.Chain {
		arrow := "   "
		if i > 0 {
			arrow = "-> "
		}
		b.WriteString("    " + arrow + p + "\n")
	}
	b.WriteString("    " + v.Fix)
	return b.String()
}

// chain is the shortest way to a package from one of the module that none of the
// others imports, followed by what it imports in the end. For most packages that
// way starts in a program, and tells who is hurt by the import.
func (g *Graph) chain(from string, rest ...string) []string {
	next := map[string]string{from: ""} // the way down, by import path
	top := from
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		importers := g.importers(queue[0])
		if len(importers) == 0 {
			top = queue[0]
			break
		}
		for _, importer := range importers {
			if _, seen := next[importer]; !seen {
				next[importer] = queue[0]
				queue = append(queue, importer)
			}
		}
	}
	var way []string
	for p := top; p != ""; p = next[p] {
		way = append(way, p)
	}
	return append(way, rest...)
}

// importers is which of the module's packages import the path, tests aside.
func (g *Graph) importers(importPath string) []string {
	var importers []string
	for _, p := range g.Own() {
		if slices.Contains(p.Imports, importPath) {
			importers = append(importers, p.ImportPath)
		}
	}
	return importers
}
