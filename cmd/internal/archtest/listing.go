package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Listing is the public face of a package, given all of its files but the tests:
// one line for every exported constant, variable, function, type, field and
// method, sorted, under a line that names the package. The names of parameters and
// the tags of fields are part of it, comments are not.
func Listing(importPath string, fset *token.FileSet, files []*ast.File) []string {
	l := &listing{types: map[string]*ast.TypeSpec{}, open: map[string]bool{}, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{},
	}}
	config := types.Config{Importer: blank{}, Error: func(error) {}, FakeImportC: true}
	_, _ = config.Check("p", fset, files, l.info)
	l.collect(files)
	for _, f := range files {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				l.function(d)
			case *ast.GenDecl:
				l.general(d)
			}
		}
	}
	slices.Sort(l.lines)
	name := ""
	if len(files) > 0 {
		name = files[0].Name.Name
	}
	return slices.Insert(slices.Compact(l.lines), 0, fmt.Sprintf("package %s // import %q", name, importPath))
}

// listing is a face in the making.
type listing struct {
	info  *types.Info
	types map[string]*ast.TypeSpec
	open  map[string]bool // names of types whose fields and methods show
	lines []string
}

func (l *listing) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// collect finds the types that show: exported ones, and what these embed, because
// an embedded type lends its exported fields and methods, whatever its own name.
func (l *listing) collect(files []*ast.File) {
	for _, f := range files {
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					spec := spec.(*ast.TypeSpec)
					l.types[spec.Name.Name] = spec
				}
			}
		}
	}
	for name := range l.types {
		if ast.IsExported(name) {
			l.show(name)
		}
	}
}

// show marks a type and those that it embeds.
func (l *listing) show(name string) {
	spec, ok := l.types[name]
	if !ok || l.open[name] {
		return
	}
	l.open[name] = true
	if t, ok := spec.Type.(*ast.StructType); ok {
		for _, field := range t.Fields.List {
			if field.Names == nil {
				l.show(baseName(field.Type))
			}
		}
	}
}

// baseName is the name of a type without pointer and type arguments; empty for
// types of other packages and those without a name.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.ParenExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	}
	return ""
}

// function adds a function, or a method of a type that shows.
func (l *listing) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	signature := typeParams(d.Type.TypeParams) + strings.TrimPrefix(types.ExprString(d.Type), "func")
	if d.Recv == nil {
		l.add("func %s%s", d.Name.Name, signature)
		return
	}
	if receiver := d.Recv.List[0].Type; l.open[baseName(receiver)] {
		l.add("method (%s) %s%s", types.ExprString(receiver), d.Name.Name, signature)
	}
}

// general adds constants, variables and types.
func (l *listing) general(d *ast.GenDecl) {
	var last *ast.ValueSpec // the one that constants without a value repeat
	for i, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if l.open[spec.Name.Name] {
				l.typ(spec)
			}
		case *ast.ValueSpec:
			if last == nil || spec.Values != nil || spec.Type != nil {
				last = spec
			}
			for at, name := range spec.Names {
				if name.IsExported() && d.Tok == token.CONST {
					l.constant(name, last, at, i)
				} else if name.IsExported() {
					l.variable(name, spec)
				}
			}
		}
	}
}

// constant adds a constant with its value or, if another package's constant is
// part of it, with the expression in the source and the value of iota there.
func (l *listing) constant(name *ast.Ident, spec *ast.ValueSpec, at, iota int) {
	typ := ""
	if spec.Type != nil {
		typ = " " + types.ExprString(spec.Type)
	}
	obj, _ := l.info.Defs[name].(*types.Const)
	switch {
	case obj != nil && obj.Val().Kind() != constant.Unknown:
		if named, ok := obj.Type().(*types.Named); ok && typ == "" {
			typ = " " + named.Obj().Name()
		}
		l.add("const %s%s = %s", name.Name, typ, obj.Val().ExactString())
	case at < len(spec.Values):
		value := types.ExprString(spec.Values[at])
		if strings.Contains(value, "iota") {
			value += fmt.Sprintf(" // iota %d", iota)
		}
		l.add("const %s%s = %s", name.Name, typ, value)
	}
}

// variable adds a variable, with its type if the source or this package says it.
func (l *listing) variable(name *ast.Ident, spec *ast.ValueSpec) {
	typ := ""
	if spec.Type != nil {
		typ = " " + types.ExprString(spec.Type)
	} else if obj := l.info.Defs[name]; obj != nil && valid(obj.Type()) {
		typ = " " + types.TypeString(obj.Type(), func(*types.Package) string { return "" })
	}
	l.add("var %s%s", name.Name, typ)
}

// valid reports whether the checker knows the type all the way down.
func valid(t types.Type) bool {
	return t != nil && !strings.Contains(t.String(), "invalid type")
}

// typ adds a type, with its exported fields or methods on lines of their own.
func (l *listing) typ(spec *ast.TypeSpec) {
	head := spec.Name.Name + typeParams(spec.TypeParams)
	if spec.Assign.IsValid() {
		head += " ="
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		l.add("type %s struct", head)
		l.fields(spec.Name.Name, t.Fields)
	case *ast.InterfaceType:
		l.add("type %s interface", head)
		l.methods(spec.Name.Name, t.Methods)
	default:
		l.add("type %s %s", head, types.ExprString(t))
	}
}

func (l *listing) fields(owner string, fields *ast.FieldList) {
	for _, field := range fields.List {
		tag := ""
		if field.Tag != nil {
			tag = " " + field.Tag.Value
		}
		if field.Names == nil {
			l.add("field %s: embedded %s%s", owner, types.ExprString(field.Type), tag)
		}
		for _, name := range field.Names {
			if name.IsExported() {
				l.add("field %s.%s %s%s", owner, name.Name, types.ExprString(field.Type), tag)
			}
		}
	}
}

// methods adds the methods and the embedded parts of an interface. An unexported
// method keeps others from implementing it, which they should be told.
func (l *listing) methods(owner string, methods *ast.FieldList) {
	for _, method := range methods.List {
		if method.Names == nil {
			l.add("method %s: embedded %s", owner, types.ExprString(method.Type))
		}
		for _, name := range method.Names {
			if name.IsExported() {
				l.add("method %s.%s%s", owner, name.Name, strings.TrimPrefix(types.ExprString(method.Type), "func"))
			} else {
				l.add("method %s: unexported methods", owner)
			}
		}
	}
}

// typeParams is the list in brackets, empty if there is none.
func typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var params []string
	for _, field := range list.List {
		for _, name := range field.Names {
			params = append(params, name.Name+" "+types.ExprString(field.Type))
		}
	}
	return "[" + strings.Join(params, ", ") + "]"
}

// Diff is what changed between two sorted listings: lines gone with "-" before
// them and new ones with "+", in order; nil if they are the same.
func Diff(before, after []string) []string {
	var diff []string
	for _, line := range before {
		if !slices.Contains(after, line) {
			diff = append(diff, "- "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			diff = append(diff, "+ "+line)
		}
	}
	slices.SortStableFunc(diff, func(a, b string) int { return cmp.Compare(a[2:], b[2:]) })
	return diff
}
