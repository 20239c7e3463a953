package errcode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errcode"
)

// TestReference compares the lists with the tables of the reference.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../inventory/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### 2.2 Errors")
	section, _, _ = strings.Cut(section, "### 2.3")
	var whole, fields []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|( (\\d+) \\|)? [^|]+ \\|$").FindAllStringSubmatch(section, -1) {
		if row[2] == "" {
			fields = append(fields, row[1])
			continue
		}
		whole = append(whole, row[1])
		if status, _ := strconv.Atoi(row[3]); errcode.OfStatus(status) == "invalid" && status != 400 {
			t.Errorf("the status %d has no code", status)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(whole)), slices.Sorted(slices.Values(errcode.Errors()))) {
		t.Errorf("REFERENCE.md has the codes of errors %q, want %q", whole, errcode.Errors())
	}
	if !slices.Equal(fields, errcode.Fields()) {
		t.Errorf("REFERENCE.md has the codes of fields %q, want %q", fields, errcode.Fields())
	}
}

// TestSources checks that the code of the module names codes of the lists only.
func TestSources(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`(?:Wrong\(|\bCode: |\bCode = |invalidField\([^"]*, |FieldError\{[\w.()]+, |c\.fault\(\w+, )"(\w+)"`)
	known := append(errcode.Fields(), errcode.Errors()...)
	found := map[string]bool{}
	for _, dir := range []string{"../../inventory", "../../httpx"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range code.FindAllStringSubmatch(string(text), -1) {
				if found[match[1]] = true; !slices.Contains(known, match[1]) {
					t.Errorf("%s: the code %q is in no list", path, match[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range errcode.Fields() {
		if !found[name] && name != "invalid" {
			t.Errorf("nothing has the code %q", name)
		}
	}
}
