package archtest

import (
	"path"
	"strings"
)

// Floor is how high in the house a package stands. Packages import lower floors.
type Floor int

// The floors.
const (
	Ground Floor = 0 // the domains: standard library only, and never each other
	First  Floor = 1 // what sits on one domain
	Second Floor = 2 // what puts those together
	Third  Floor = 3 // settings -> running server
	Inside Floor = 4 // cmd/internal: for programs, and for nobody else
	Top    Floor = 5 // programs, examples, the map at the root: imported by nobody
)

// Law is what a module's packages are held to.
type Law struct {
	// Rows has one row for every package. Rows for packages that are not there do
	// no harm.
	Rows []Row
	// TestLibraries are the prefixes of import paths for tests, and for packages
	// whose name ends in "test".
	TestLibraries []string
	// Refused are names that say nothing about what a package is for.
	Refused []string
}

// Row is what one package may do.
type Row struct {
	// Path is the import path below the module's path; "." is the module's path.
	// A "*" stands for one element of the path, or for a part of one.
	Path  string
	Floor Floor
	// Uses are the prefixes of the third-party import paths that the package and
	// its tests may import.
	Uses []string
	// Plain holds the tests to Uses as well, so that test libraries are out, and
	// with them every package that imports any. On the ground floor that is
	// always so.
	Plain bool
}

// plain reports whether the tests are held to Uses.
func (r Row) plain() bool { return r.Plain || r.Floor == Ground }

// row finds the first row for a package, by its path below the module's.
func (l *Law) row(rel string) (Row, bool) {
	for _, row := range l.Rows {
		if ok, err := path.Match(row.Path, rel); ok && err == nil {
			return row, true
		}
	}
	return Row{}, false
}

// under reports whether the import path is one of the prefixes or below one.
func under(importPath string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if importPath == prefix || strings.HasPrefix(importPath, strings.TrimSuffix(prefix, "/")+"/") {
			return true
		}
	}
	return false
}

// forTests reports whether a package, by name or by path, is one that exists
// for tests and so may link the test framework.
func forTests(nameOrPath string) bool { return strings.HasSuffix(nameOrPath, "test") }
