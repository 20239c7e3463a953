package ashlar_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAPI compares the exported names with the listings in docs/api, one of each system, so that a review of a
// change shows what it does to programs that import the module.
func TestAPI(t *testing.T) {
	t.Parallel()
	listings := map[string][]string{}
	for _, p := range listPackages(t) {
		if p.Name == "main" || p.rel() == "." || slices.Contains(strings.Split(p.rel(), "/"), "internal") {
			continue
		}
		system, _, _ := strings.Cut(p.rel(), "/")
		names, undocumented := exported(t, p)
		listings[system] = append(listings[system], names...)
		for _, name := range undocumented {
			t.Errorf("%s: %s has no doc comment: say what it is for", p.rel(), name)
		}
	}
	for system, lines := range listings {
		slices.Sort(lines)
		file, text := filepath.Join("docs", "api", system+".txt"), strings.Join(lines, "\n")+"\n"
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		listed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		old := strings.Split(strings.TrimSuffix(string(listed), "\n"), "\n")
		for _, line := range lines {
			if !slices.Contains(old, line) {
				t.Errorf("%s lacks the line below: run make api if the change is intended\n%s", file, line)
			}
		}
		for _, line := range old {
			if !slices.Contains(lines, line) {
				t.Errorf("%s has the line below, which the code has not: run make api if the change is intended\n%s", file, line)
			}
		}
	}
}

// exported returns a line for each exported name of a package, fields and methods included, and the names that
// have no doc comment.
func exported(t *testing.T, p *pkg) (lines, undocumented []string) {
	t.Helper()
	fset := token.NewFileSet()
	show := func(node any) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, node); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	add := func(name, line string, docs ...*ast.CommentGroup) {
		lines = append(lines, "pkg "+p.rel()+", "+line)
		if !slices.ContainsFunc(docs, func(doc *ast.CommentGroup) bool { return doc != nil }) {
			undocumented = append(undocumented, name)
		}
	}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && (decl.Recv == nil || ast.IsExported(strings.Trim(strings.Split(show(decl.Recv.List[0].Type), "[")[0], "*"))) {
					head := &ast.FuncDecl{Recv: decl.Recv, Name: decl.Name, Type: decl.Type}
					add(decl.Name.Name, show(head), decl.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							if name.IsExported() {
								add(name.Name, decl.Tok.String()+" "+name.Name, spec.Doc, spec.Comment, decl.Doc)
							}
						}
					case *ast.TypeSpec:
						if spec.Name.IsExported() {
							listType(spec, show, func(name, line string, docs ...*ast.CommentGroup) { add(name, line, append(docs, decl.Doc)...) })
						}
					}
				}
			}
		}
	}
	return lines, undocumented
}

// listType adds a type, and the fields of a struct or the methods of an interface.
func listType(spec *ast.TypeSpec, show func(any) string, add func(name, line string, docs ...*ast.CommentGroup)) {
	head, members := "type "+spec.Name.Name, &ast.FieldList{}
	if spec.TypeParams != nil {
		head += "[...]"
	}
	if spec.Assign.IsValid() {
		head += " ="
	}
	switch underlying := spec.Type.(type) {
	case *ast.StructType:
		head, members = head+" struct", underlying.Fields
	case *ast.InterfaceType:
		head, members = head+" interface", underlying.Methods
	default:
		head += " " + show(spec.Type)
	}
	add(spec.Name.Name, head, spec.Doc)
	for _, member := range members.List {
		if len(member.Names) == 0 {
			add(spec.Name.Name, head+", embedded "+show(member.Type), spec.Doc)
		}
		for _, name := range member.Names {
			if name.IsExported() {
				add(spec.Name.Name+"."+name.Name, head+", "+name.Name+" "+show(member.Type), member.Doc, member.Comment, spec.Doc)
			}
		}
	}
}
