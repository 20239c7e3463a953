package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// CheckState reports what a package keeps at package level although it can
// change, and its init functions. An error is a file that cannot be read.
func CheckState(p *Package) ([]Violation, error) {
	fset := token.NewFileSet()
	files, err := parse(fset, p.Dir, slices.Concat(p.GoFiles, p.TestGoFiles))
	if err != nil {
		return nil, err
	}
	return State(fset, files), nil
}

// parse reads the named files of a directory.
func parse(fset *token.FileSet, dir string, names []string) ([]*ast.File, error) {
	files := make([]*ast.File, len(names))
	for i, name := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files[i] = f
	}
	return files, nil
}

// State is CheckState on files that were parsed already: all of one package, with
// its internal tests. What tests declare is their own affair; what they write
// is not, since a variable that a test replaces can change.
func State(fset *token.FileSet, files []*ast.File) []Violation {
	s := &state{fset: fset, info: &types.Info{
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{},
	}}
	// Imports are left blank, so there are errors; names are resolved all the same.
	config := types.Config{Importer: blank{}, Error: func(error) {}, FakeImportC: true}
	s.pkg, _ = config.Check("p", fset, files, s.info)
	for _, f := range files {
		if !s.inTest(f) {
			s.declarations(f)
		}
		ast.Inspect(f, s.visit)
	}
	return s.found
}

// state is the inspection of one package.
type state struct {
	fset  *token.FileSet
	info  *types.Info
	pkg   *types.Package
	found []Violation
}

func (s *state) inTest(n ast.Node) bool {
	return strings.HasSuffix(s.fset.Position(n.Pos()).Filename, "_test.go")
}

func (s *state) report(at token.Pos, format string, args ...any) {
	s.found = append(s.found, Violation{
		Law:  "state",
		What: fmt.Sprintf("%s: %s", s.fset.Position(at), fmt.Sprintf(format, args...)),
		Fix:  "keep it in a value that the caller makes and holds",
	})
}

// declarations looks at what a file declares at package level.
func (s *state) declarations(f *ast.File) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == "init" && d.Recv == nil {
				s.report(d.Pos(), "func init runs for whoever imports the package")
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					s.variables(v)
				}
			}
		}
	}
}

// variables reports those whose type is there to be changed.
func (s *state) variables(v *ast.ValueSpec) {
	for _, name := range v.Names {
		obj := s.info.Defs[name]
		if obj == nil || name.Name == "_" {
			continue
		}
		if part := changing(obj.Type(), map[types.Type]bool{}); part != "" {
			s.report(name.Pos(), "variable %s holds a %s", name.Name, part)
		}
	}
}

// changing names the part of a type that exists to be changed: a channel, or
// something of package sync or sync/atomic.
func changing(t types.Type, seen map[types.Type]bool) string {
	if t == nil || seen[t] {
		return ""
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil && locks(pkg.Path()) != nil {
			return pkg.Name() + "." + t.Obj().Name()
		}
		return changing(t.Underlying(), seen)
	case *types.Pointer:
		return changing(t.Elem(), seen)
	case *types.Array:
		return changing(t.Elem(), seen)
	case *types.Slice:
		return changing(t.Elem(), seen)
	case *types.Map:
		return changing(t.Elem(), seen)
	case *types.Chan:
		return "channel"
	case *types.Struct:
		for f := range t.Fields() {
			if part := changing(f.Type(), seen); part != "" {
				return part
			}
		}
	}
	return ""
}

// locks is the names of the types that hold state, in the packages that have some.
func locks(importPath string) []string {
	switch importPath {
	case "sync":
		return []string{"Cond", "Map", "Mutex", "Once", "Pool", "RWMutex", "WaitGroup"}
	case "sync/atomic":
		return []string{"Bool", "Int32", "Int64", "Pointer", "Uint32", "Uint64", "Uintptr", "Value"}
	}
	return nil
}

// blank imports nothing but the names of types that hold state.
type blank struct{}

func (blank) Import(importPath string) (*types.Package, error) {
	names := locks(importPath)
	if names == nil {
		return nil, errors.New("left blank")
	}
	pkg := types.NewPackage(importPath, importPath[strings.LastIndex(importPath, "/")+1:])
	for _, name := range names {
		obj := types.NewTypeName(token.NoPos, pkg, name, nil)
		named := types.NewNamed(obj, types.NewStruct(nil, nil), nil)
		if name == "Pointer" {
			param := types.NewTypeName(token.NoPos, pkg, "T", nil)
			named.SetTypeParams([]*types.TypeParam{types.NewTypeParam(param, types.Universe.Lookup("any").Type())})
		}
		pkg.Scope().Insert(obj)
	}
	pkg.MarkComplete()
	return pkg, nil
}
