package archtest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unshown is the constructors that no example runs, each with the reason, by the
// import path below the module's, a dot and the name: "ratelimit.New".
func Unshown() map[string]string {
	return map[string]string{}
}

// CheckExamples reports each constructor of the public packages that no example in its
// package's external tests calls when it is run, and each exception without a cause.
// Packages that exist for tests are left out. An error is a file that cannot be read.
func (g *Graph) CheckExamples(unshown map[string]string) ([]Violation, error) {
	var vs []Violation
	used := map[string]bool{}
	for _, p := range g.Own() {
		if !g.Public(p) || forTests(p.Name) {
			continue
		}
		fset := token.NewFileSet()
		files, err := parse(fset, p.Dir, p.GoFiles)
		if err != nil {
			return nil, err
		}
		tests, err := parse(fset, p.Dir, p.XTestGoFiles)
		if err != nil {
			return nil, err
		}
		for _, f := range WithoutExample(p.ImportPath, fset, files, tests) {
			rel, _ := g.Rel(p.ImportPath)
			name := rel + "." + f.Name.Name
			if used[name] = true; unshown[name] == "" {
				vs = append(vs, missingExample(fset, f, name))
			}
		}
	}
	return append(vs, needless(unshown, used)...), nil
}

// missingExample says where the constructor is, and what to write.
func missingExample(fset *token.FileSet, f *ast.FuncDecl, name string) Violation {
	return Violation{
		Law:  "examples",
		What: fmt.Sprintf("%s: no example that runs calls %s", fset.Position(f.Pos()), name),
		Fix: fmt.Sprintf("call it in a func Example%s of the external test package that ends with an // Output: comment:"+
			" without one it is compiled and not run, and whoever reads the documentation looks there first", f.Name.Name),
	}
}

// needless is the exceptions for what has an example, or is not there.
func needless(unshown map[string]string, used map[string]bool) []Violation {
	var vs []Violation
	for name := range unshown {
		if !used[name] {
			vs = append(vs, Violation{
				Law:  "examples",
				What: name + " is an exception without a cause: it has an example, or is gone",
				Fix:  "take it out of the table of exceptions, Unshown",
			})
		}
	}
	slices.SortFunc(vs, func(a, b Violation) int { return strings.Compare(a.What, b.What) })
	return vs
}

// WithoutExample is the constructors among the files of a package that no example in
// the files of its external tests calls itself and is run, in the order of the source. A
// call in a helper does not count: it is not what a reader is shown. The files must have
// been parsed with their comments.
func WithoutExample(importPath string, fset *token.FileSet, files, tests []*ast.File) []*ast.FuncDecl {
	called := exampleCalls(importPath, fset, tests)
	var missing []*ast.FuncDecl
	for _, f := range files {
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && constructor(d) && !called[d.Name.Name] {
				missing = append(missing, d)
			}
		}
	}
	return missing
}

// constructor reports whether the name says that the function makes a value. What it
// returns is not looked at: a reader wants to see one that makes an interface, or a
// number of a text, no less.
func constructor(d *ast.FuncDecl) bool {
	if d.Recv != nil {
		return false
	}
	for _, verb := range []string{"New", "Open", "Compile", "Load", "Parse"} {
		if rest, ok := strings.CutPrefix(d.Name.Name, verb); ok && !lower(rest) {
			return true
		}
	}
	return false
}

// lower reports whether the text begins with a small letter, and so goes on with the
// word before it.
func lower(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

// exampleCalls is the names of the functions of a package that the examples in the
// files call when they are run. The type checker tells the package from a variable of
// its name.
func exampleCalls(importPath string, fset *token.FileSet, tests []*ast.File) map[string]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: blank{}, Error: func(error) {}, FakeImportC: true}
	_, _ = config.Check("p_test", fset, tests, info)
	called := map[string]bool{}
	runs := running(tests)
	for _, f := range tests {
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && runs[d.Name.Name] {
				calls(d.Body, info, importPath, called)
			}
		}
	}
	return called
}

// running is the names of the functions that go test runs as examples: those that say
// what they print.
func running(tests []*ast.File) map[string]bool {
	names := map[string]bool{}
	for _, e := range doc.Examples(tests...) {
		if e.Output != "" || e.EmptyOutput {
			names["Example"+e.Name] = true
		}
	}
	return names
}

// calls adds the names of the package's functions that the body calls.
func calls(body *ast.BlockStmt, info *types.Info, importPath string, called map[string]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := generic(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok {
			if pkg, ok := info.Uses[x].(*types.PkgName); ok && pkg.Imported().Path() == importPath {
				called[selector.Sel.Name] = true
			}
		}
		return true
	})
}

// generic is a function without its type arguments.
func generic(fun ast.Expr) ast.Expr {
	switch fun := fun.(type) {
	case *ast.IndexExpr:
		return fun.X
	case *ast.IndexListExpr:
		return fun.X
	}
	return fun
}
