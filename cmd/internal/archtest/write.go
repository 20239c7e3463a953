package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// visit reports writes to package-level variables below a node.
func (s *state) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			s.write(target)
		}
	case *ast.IncDecStmt:
		s.write(n.X)
	case *ast.RangeStmt:
		s.write(n.Key)
		s.write(n.Value)
	case *ast.CallExpr:
		if s.changesArgument(n) {
			s.write(n.Args[0])
		}
	case *ast.UnaryExpr:
		s.address(n)
	}
	return true
}

// changesArgument reports whether the call is one of the built-in functions that
// change their first argument.
func (s *state) changesArgument(call *ast.CallExpr) bool {
	name, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || len(call.Args) == 0 {
		return false
	}
	_, builtin := s.info.Uses[name].(*types.Builtin)
	return builtin && (name.Name == "delete" || name.Name == "clear" || name.Name == "copy")
}

// write reports the target if it is, or is part of, a package-level variable.
func (s *state) write(target ast.Expr) {
	switch owner, name := s.root(target); {
	case owner == nil:
	case owner == s.pkg:
		s.report(target.Pos(), "package-level variable %s is changed after its declaration", name)
	case !s.inTest(target):
		s.report(target.Pos(), "variable %s of package %s is changed", name, owner.Name())
	}
}

// address reports &v for a variable of basic type: a number, a string or a truth
// value has an address only to be written through it.
func (s *state) address(n *ast.UnaryExpr) {
	name, ok := ast.Unparen(n.X).(*ast.Ident)
	if !ok || n.Op != token.AND {
		return
	}
	v := s.variable(name)
	if v == nil {
		return
	}
	if basic, ok := v.Type().Underlying().(*types.Basic); ok && basic.Kind() != types.Invalid {
		s.report(n.Pos(), "package-level variable %s can be changed through its address", name.Name)
	}
}

// root finds the package-level variable that an expression is or is part of, and
// its package. A nil package means there is none.
func (s *state) root(e ast.Expr) (*types.Package, string) {
	switch e := e.(type) {
	case *ast.Ident:
		if s.variable(e) != nil {
			return s.pkg, e.Name
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if imported, ok := s.info.Uses[x].(*types.PkgName); ok {
				return imported.Imported(), e.Sel.Name
			}
		}
		return s.root(e.X)
	case *ast.IndexExpr:
		return s.root(e.X)
	case *ast.SliceExpr:
		return s.root(e.X)
	case *ast.StarExpr:
		return s.root(e.X)
	case *ast.ParenExpr:
		return s.root(e.X)
	}
	return nil, ""
}

// variable is the package-level variable of this name, declared outside of tests;
// nil if the name means anything else.
func (s *state) variable(name *ast.Ident) *types.Var {
	v, ok := s.info.Uses[name].(*types.Var)
	if !ok || s.pkg == nil || v.Parent() != s.pkg.Scope() {
		return nil
	}
	if strings.HasSuffix(s.fset.Position(v.Pos()).Filename, "_test.go") {
		return nil
	}
	return v
}
