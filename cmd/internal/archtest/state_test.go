package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/archtest"
)

// source parses files of one package, given as name and text.
func source(t *testing.T, texts map[string]string) (*token.FileSet, []*ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range texts {
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return fset, files
}

const changed = "package-level variable v is changed after its declaration"

// fragment is the text of a file below its package clause.
type fragment struct {
	why  string
	text string
	want string // part of the one violation; empty for none
}

// inspect looks for state in each fragment.
func inspect(t *testing.T, fragments []fragment) {
	t.Helper()
	for _, tc := range fragments {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			fset, files := source(t, map[string]string{"x.go": "package p\n" + tc.text})
			check(t, archtest.State(fset, files), tc.want)
		})
	}
}

func TestInit(t *testing.T) {
	t.Parallel()
	inspect(t, []fragment{
		{"init runs unasked", `func init() {}`, "x.go:2:1: func init runs"},
		{"a method may be called init", `type T struct{}; func (T) init() {}`, ""},
	})
}

func TestWrites(t *testing.T) {
	t.Parallel()
	inspect(t, []fragment{
		{"a replaced value", `var v = 1; func f() { v = 2 }`, changed},
		{"a replaced function", `import "time"; var v = time.Now; func f(now func() time.Time) { v = now }`, changed},
		{"a replaced value of a broken type", `var v gone.Type; func f() { v = gone.Make() }`, changed},
		{"one of several targets", `var v error; func g() (int, error); func f() { n, err := g(); n, v = g(); _, _ = n, err }`, changed},
		{"an operation", `var v = 1; func f() { v |= 2 }`, changed},
		{"an increment", `var v = 1; func f() { v++ }`, changed},
		{"an element of a map", `var v = map[string]int{}; func f() { v["a"] = 1 }`, changed},
		{"an element of a slice", `var v = []int{1}; func f() { v[:1][0]-- }`, changed},
		{"a field", `type T struct{ n int }; var v T; func f() { v.n = 1 }`, changed},
		{"a field behind a pointer", `type T struct{ n int }; var v = &T{}; func f() { (*v).n = 1 }`, changed},
		{"a field of an element", `type T struct{ n int }; var v = map[string]*T{}; func f() { v["a"].n = 1 }`, changed},
		{"a loop variable", `var v int; func f() { for v = range 3 {} }`, changed},
		{"a loop value", `var v int; func f() { for _, v = range []int{} {} }`, changed},
		{"a removed entry", `var v = map[int]int{}; func f() { delete(v, 1) }`, changed},
		{"a cleared table", `var v = map[int]int{}; func f() { clear(v) }`, changed},
		{"an overwritten buffer", `var v [8]byte; func f(b []byte) { copy(v[:], b) }`, changed},
		{"a write in a closure", `var v int; var g = func() { v = 1 }`, changed},
		{"the address of a number", `import "sync/atomic"; var v int64; func f() { atomic.AddInt64(&v, 1) }`, "v can be changed through its address"},
		{"another package's variable", `import "example.org/other"; func f() { other.Default.Size = 1 }`, "variable Default of package other is changed"},
	})
}

func TestChangingTypes(t *testing.T) {
	t.Parallel()
	inspect(t, []fragment{
		{"a mutex", `import "sync"; var v sync.Mutex`, "variable v holds a sync.Mutex"},
		{"an atomic", `import "sync/atomic"; var v atomic.Int64`, "variable v holds a atomic.Int64"},
		{"a generic atomic", `import "sync/atomic"; type T struct{}; var v atomic.Pointer[T]`, "variable v holds a atomic.Pointer"},
		{"a pool", `import "sync"; var v = sync.Pool{New: func() any { return nil }}`, "variable v holds a sync.Pool"},
		{"a pointer to a lock", `import "sync"; var v = new(sync.RWMutex)`, "variable v holds a sync.RWMutex"},
		{"a lock under another name", `import guard "sync"; var v guard.Once`, "variable v holds a sync.Once"},
		{"a lock in a type of the package", `import "sync"; type T struct{ next *T; m map[string][1]struct{ mu sync.Mutex } }; var v = &T{}`, "variable v holds a sync.Mutex"},
		{"a lock in what a function makes", `import "sync"; type T struct{ mu sync.Mutex }; func make() *T { return nil }; var v = make()`, "variable v holds a sync.Mutex"},
		{"a channel", `var v = make(chan int)`, "variable v holds a channel"},
	})
}

func TestNoState(t *testing.T) {
	t.Parallel()
	inspect(t, []fragment{
		{"an error sentinel", `import "errors"; var ErrX = errors.New("x")`, ""},
		{"a pattern", `import "regexp"; var pattern = regexp.MustCompile("a+")`, ""},
		{"a table that is read", `var v = map[string]int{"a": 1}; func f(s string) int { n := v[s]; n++; return n }`, ""},
		{"a table made when it is first needed", `import "sync"; var v = sync.OnceValue(func() int { return 1 })`, ""},
		{"an embedded file", `import _ "embed"; //go:embed x
			var schema []byte`, ""},
		{"a check of an interface", `import "sync"; type T struct{ mu sync.Mutex }; var _ any = (*T)(nil)`, ""},
		{"a local of the same name", `var v = 1; func f() { v := 2; v = 3; _ = v }`, ""},
		{"a parameter of the same name", `var v = 1; func f(v int) { v++ }`, ""},
		{"a field of the same name", `var v = 1; type T struct{ v int }; func (t *T) f() { t.v = 1 }`, ""},
		{"a copy of the defaults", `type T struct{ n int }; var v = T{1}; func f() T { t := v; t.n = 2; return t }`, ""},
		{"the address of the defaults", `type T struct{ n int }; var v = T{1}; func f() *T { return &v }`, ""},
		{"a copy of a table", `var v = []int{1}; func f(b []int) { copy(b, v) }`, ""},
		{"a function called delete", `var v = map[int]int{}; func f(delete func(map[int]int)) { delete(v) }`, ""},
		{"a constant", `const v = 1`, ""},
		{"a lock in a function", `import "sync"; func f() { var mu sync.Mutex; mu.Lock() }`, ""},
	})
}

// check fails unless there is one violation that says want, or none if want is empty.
func check(t *testing.T, got []archtest.Violation, want string) {
	t.Helper()
	if want == "" {
		compare(t, got, nil)
		return
	}
	compare(t, got, []string{"state: ", want})
}

// TestStateInTests says that what tests declare is theirs, and that what they
// write is not.
func TestStateInTests(t *testing.T) {
	t.Parallel()
	fset, files := source(t, map[string]string{
		"x.go":      "package p\nvar v = 1\n",
		"x_test.go": "package p\nimport \"os\"\nvar w chan int\nfunc init() { w = nil; os.Args = nil; println(&w) }\n",
	})
	check(t, archtest.State(fset, files), "")

	fset, files = source(t, map[string]string{
		"x.go":           "package p\nvar v = 1\n",
		"export_test.go": "package p\nfunc SetV(n int) { v = n }\n",
	})
	check(t, archtest.State(fset, files), "export_test.go:2:20: package-level variable v is changed")
}

func TestCheckStateReadsFiles(t *testing.T) {
	t.Parallel()
	p := &archtest.Package{Dir: "testdata/state", GoFiles: []string{"state.go"}}
	violations, err := archtest.CheckState(p)
	if err != nil {
		t.Fatal(err)
	}
	check(t, violations, "variable counter is changed after its declaration")

	p.GoFiles = []string{"gone.go"}
	if _, err := archtest.CheckState(p); err == nil || !strings.Contains(err.Error(), "gone.go") {
		t.Errorf("a file that is not there gave the error %v", err)
	}
}
