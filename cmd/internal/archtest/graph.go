package archtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is what the law has to know of one package, in the words of go list.
type Package struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool
	ForTest    string

	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string

	Imports      []string
	TestImports  []string
	XTestImports []string

	Module *struct {
		Path string
		Main bool
	}
}

// AllTestImports is what the tests import, those inside and outside the package.
func (p *Package) AllTestImports() []string {
	return slices.Concat(p.TestImports, p.XTestImports)
}

// Graph is the packages of one module and all that they depend on.
type Graph struct {
	module   string // its path
	packages map[string]*Package
	own      []string // import paths of the module's packages, sorted
}

// NewGraph builds a graph for the module with the path. A package is the
// module's own if its import path says so.
func NewGraph(module string, packages []*Package) *Graph {
	g := &Graph{module: module, packages: make(map[string]*Package, len(packages))}
	for _, p := range packages {
		g.packages[p.ImportPath] = p
		if _, ok := g.Rel(p.ImportPath); ok {
			g.own = append(g.own, p.ImportPath)
		}
	}
	slices.Sort(g.own)
	return g
}

// Own is the module's own packages, in the order of their import paths.
func (g *Graph) Own() []*Package {
	own := make([]*Package, len(g.own))
	for i, path := range g.own {
		own[i] = g.packages[path]
	}
	return own
}

// Rel is the import path below the module's path, "." for the module's path
// itself; ok is false for packages of others.
func (g *Graph) Rel(importPath string) (rel string, ok bool) {
	if importPath == g.module {
		return ".", true
	}
	return strings.CutPrefix(importPath, g.module+"/")
}

// ThirdParty reports whether the package is neither the module's own nor the
// standard library's.
func (g *Graph) ThirdParty(importPath string) bool {
	if _, own := g.Rel(importPath); own || importPath == "C" {
		return false
	}
	if p, ok := g.packages[importPath]; ok {
		return !p.Standard
	}
	return strings.Contains(strings.Split(importPath, "/")[0], ".")
}

// Load asks go list for the packages of the module whose root is dir.
func Load(ctx context.Context, dir string) (*Graph, error) {
	if err := touch(dir); err != nil {
		return nil, err
	}
	const fields = "-json=ImportPath,Name,Dir,Standard,ForTest,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Module"
	out, err := goCommand(ctx, dir, "list", fields, "-deps", "-test", "./...")
	if err != nil {
		return nil, err
	}
	return decodeGraph(out)
}

// decodeGraph reads the packages that go list printed. Variants of packages that
// were recompiled for a test, and the test programs, are left out: the package
// itself lists what its tests import.
func decodeGraph(out string) (*Graph, error) {
	var packages []*Package
	module := ""
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		p := new(Package)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		if p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		if p.Module != nil && p.Module.Main {
			module = p.Module.Path
		}
		packages = append(packages, p)
	}
	if module == "" {
		return nil, errors.New("go list named no package of the main module")
	}
	return NewGraph(module, packages), nil
}

// goCommand is the output of a go command that runs in dir.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), dir, err, &stderr)
	}
	return string(out), nil
}

// touch opens every directory of the module. go test takes a result from its
// cache if nothing has changed that the test opened; what go list opens does
// not count, and so this test would be stale whenever it matters.
func touch(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // a temporary file of a test that runs next to this one
		}
		return err
	})
}
