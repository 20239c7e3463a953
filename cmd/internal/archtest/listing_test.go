package archtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/archtest"
)

// fixture is a graph of one public package and of some that are not, all with the
// one file in dir.
func fixture(dir string) *archtest.Graph {
	return archtest.NewGraph(module, []*archtest.Package{
		{ImportPath: module + "/face", Name: "face", Dir: dir, GoFiles: []string{"face.go"}},
		{ImportPath: module + "/cmd/d", Name: "main", Dir: dir, GoFiles: []string{"face.go"}},
		{ImportPath: module + "/cmd/internal/cli", Name: "cli", Dir: dir, GoFiles: []string{"face.go"}},
		{ImportPath: module + "/examples/one", Name: "one", Dir: dir, GoFiles: []string{"face.go"}},
		{ImportPath: module + "/face/internal/inner", Name: "inner", Dir: dir, GoFiles: []string{"face.go"}},
	})
}

const listed = `package face // import "example.org/house/face"
const A = 4
const B = 98
const First Kind = 1
const Float = 1/2
const Large = math.MaxUint32
const Last Kind = 16
const Long time.Duration = time.Second << iota // iota 1
const Second Kind = 2
const Short time.Duration = time.Second << iota // iota 0
const Text = "text"
const Timeout = 2 * time.Second
field Options.Burst int ` + "`json:\"limit,omitempty\"`" + `
field Options.Limit int ` + "`json:\"limit,omitempty\"`" + `
field Options.Nested struct{X, y int}
field Options.Now func() time.Time
field Options: embedded *Store[string]
field Options: embedded context.Context
field Options: embedded shared
field shared.Name string
func Map[K comparable, V any](m map[K]V, f func(K) V) map[K]V
func New(limit int, opts *Options) *Store[string]
method (*Store[K]) Add(ctx context.Context, keys ...K) (n int, err error)
method (shared) Describe() string
method Number: embedded ~int | ~int64
method Seam.Add(ctx context.Context, hits []int) error
method Seam: embedded fmt.Stringer
method Seam: unexported methods
type Kind uint8
type Middleware func(next func(int)) func(int)
type Number interface
type Old = Options
type Options struct
type Seam interface
type Store[K comparable] struct
type shared struct
var Clock func() time.Time
var Default *Options
var ErrGone
var Left int
var Right int
var Table map[string][]Kind
`

func TestListing(t *testing.T) {
	t.Parallel()
	faces, err := fixture("testdata/face").Faces()
	if err != nil {
		t.Fatal(err)
	}
	if len(faces) != 1 {
		t.Errorf("%d faces, want that of the one public package", len(faces))
	}
	got := faces["example.org.house.face.txt"]
	if got != listed {
		diff := archtest.Diff(strings.Split(listed, "\n"), strings.Split(got, "\n"))
		t.Errorf("the listing differs:\n%s", strings.Join(diff, "\n"))
	}
}

func TestFacesFails(t *testing.T) {
	t.Parallel()
	if _, err := fixture("testdata/gone").Faces(); err == nil {
		t.Error("a package whose file is gone has a face")
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	got := archtest.Diff([]string{"func A()", "func B()", "z"}, []string{"func A()", "func B() error", "func C()", "z"})
	want := []string{"- func B()", "+ func B() error", "+ func C()"}
	if !slices.Equal(got, want) {
		t.Errorf("Diff = %q, want %q", got, want)
	}
	if got := archtest.Diff([]string{"a"}, []string{"a"}); got != nil {
		t.Errorf("Diff of equals = %q, want nil", got)
	}
}

// TestFaces goes through the life of a listing: missing, written, kept, changed,
// left over.
func TestFaces(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "api")
	faces := map[string]string{"a.txt": "package a\nfunc F()\n", "b.txt": "package b\n"}

	expect := func(when string, parts ...string) {
		t.Helper()
		violations, err := archtest.CompareFaces(dir, faces)
		if err != nil {
			t.Fatal(err)
		}
		if len(violations) != len(parts) {
			t.Fatalf("%s: %d violations, want %d: %v", when, len(violations), len(parts), violations)
		}
		for i, part := range parts {
			text := violations[i].String()
			if !strings.Contains(text, part) || !strings.Contains(text, archtest.UpdateCommand) {
				t.Errorf("%s: the violation does not say %q and the command:\n%s", when, part, text)
			}
		}
	}
	write := func(when string) {
		t.Helper()
		if err := archtest.UpdateFaces(dir, faces); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}

	expect("without listings", "a.txt: there is no listing", "b.txt: there is no listing")
	write("first time")
	expect("with listings")
	faces["a.txt"] = "package a\nfunc F() error\n"
	expect("with another result", "a.txt: the package has changed\n    - func F()\n    + func F() error\n")
	delete(faces, "b.txt")
	expect("without a package", "a.txt: ", "b.txt: the package is gone")
	write("second time")
	expect("with the new listings")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the listings are %v (%v), want a.txt only", entries, err)
	}
}

// TestFacesNeedDirectory says that what is in the way of the listings is an error.
func TestFacesNeedDirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "api")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archtest.CompareFaces(file, nil); err == nil {
		t.Error("CompareFaces read a file as a directory")
	}
	if err := archtest.UpdateFaces(file, nil); err == nil {
		t.Error("UpdateFaces wrote into a file as a directory")
	}
}
