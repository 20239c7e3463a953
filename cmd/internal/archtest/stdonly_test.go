package archtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStdOnlyProof makes a module that imports a package of the core, as an
// outsider would, and lets go mod tidy say what that costs: nothing. With an
// empty module cache and no proxy there is nowhere to take anything from.
func TestStdOnlyProof(t *testing.T) {
	t.Parallel()
	for _, rel := range []string{"ratelimit", "ratelimit/store/memstore", "manifest", "httpx"} {
		t.Run(rel, func(t *testing.T) {
			t.Parallel()
			path := ownPath(t, rel)
			s := newScratch(t, path)
			for _, command := range []string{"mod tidy", "build ./...", "vet ./..."} {
				if out, err := s.run(command); err != nil {
					t.Fatalf("go %s for an importer of %s: %v\n%s", command, path, err, out)
				}
			}
			s.requiresOnlyAshlar(t)
		})
	}
}

// TestStdOnlyProofCanFail says that the proof is one: where a package has a
// third-party import, tidy finds nothing to satisfy it.
func TestStdOnlyProofCanFail(t *testing.T) {
	t.Parallel()
	graph := house(t)
	for _, p := range graph.Own() {
		for _, imported := range p.Imports {
			if p.Name == "main" || !graph.ThirdParty(imported) {
				continue
			}
			if out, err := newScratch(t, p.ImportPath).run("mod tidy"); err == nil {
				t.Errorf("tidy did not miss %s for an importer of %s:\n%s", imported, p.ImportPath, out)
			}
			return
		}
	}
	t.Error("no package of the house imports a third party")
}

// ownPath is the import path of a package of this module.
func ownPath(t *testing.T, rel string) string {
	t.Helper()
	graph := house(t)
	for _, p := range graph.Own() {
		if got, _ := graph.Rel(p.ImportPath); got == rel {
			return p.ImportPath
		}
	}
	t.Fatalf("there is no package %s", rel)
	return ""
}

// scratch is a module that has nothing but one import and this checkout.
type scratch struct {
	dir, cache, root string
}

const rootModule = "github.com/ashlar-go/ashlar"

func newScratch(t *testing.T, importPath string) scratch {
	t.Helper()
	root, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	s := scratch{dir: t.TempDir(), cache: t.TempDir(), root: root}
	s.write(t, "go.mod", fmt.Sprintf("module scratch.example\n\ngo 1.26\n\nreplace %s => %q\n", rootModule, root))
	s.write(t, "main.go", fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", importPath))
	return s
}

func (s scratch) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a go command in the module. The cache is writable so that it can be
// removed after the test.
func (s scratch) run(command string) (string, error) {
	cmd := exec.Command("go", strings.Fields(command)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(),
		"GOMODCACHE="+s.cache, "GOFLAGS=-mod=mod -modcacherw",
		"GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// requiresOnlyAshlar reads what tidy has left behind.
func (s scratch) requiresOnlyAshlar(t *testing.T) {
	t.Helper()
	out, err := s.run("mod edit -json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var mod struct{ Require []struct{ Path string } }
	if err := json.Unmarshal([]byte(out), &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Require) != 1 || mod.Require[0].Path != rootModule {
		t.Errorf("the importer requires %v, want nothing but %s", mod.Require, rootModule)
	}
	sums, err := os.ReadFile(filepath.Join(s.dir, "go.sum"))
	if len(sums) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the importer's go.sum (%v) is not empty:\n%s", err, sums)
	}
}
