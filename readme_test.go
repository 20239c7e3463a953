package ashlar_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

var update = flag.Bool("update", false, "rewrite the table in cmd/ratelimitd/SETTINGS.md and the listings in docs/api")

// Each check is a function of a document and of the file tree around it, so that
// readme_broken_test.go can test the checks themselves.

// TestPages checks code blocks, commands and package names of README.md and of the pages in docs.
func TestPages(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	for _, name := range pages(t, tree) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") {
			continue
		}
		page := readDocument(t, tree, name)
		report(t, checkCode(page, tree))
		report(t, checkCommands(page, tree))
		report(t, checkPackages(page, tree))
	}
}

// TestExamples checks that README.md links every example.
func TestExamples(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	readme := readDocument(t, tree, "README.md").Content()
	examples, err := fs.ReadDir(tree, "examples")
	if err != nil || len(examples) == 0 {
		t.Fatal(err, "no examples")
	}
	for _, e := range examples {
		if !strings.Contains(readme, "(examples/"+e.Name()+"/") {
			t.Errorf("README.md does not link examples/%s: add it to the table", e.Name())
		}
	}
}

// TestPeers checks the lines of examples in docs/peers.md: all of code in their folder, except of tests.
func TestPeers(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	rows := regexp.MustCompile(`(?m)\(\.\./examples/([\w-]+)/\w+\.go\) \| (?:\d+ of )?(\d+) \|$`).FindAllStringSubmatch(readDocument(t, tree, "docs/peers.md").Content(), -1)
	if len(rows) != 3 {
		t.Errorf("docs/peers.md has the lines of %d examples, want 3", len(rows))
	}
	for _, row := range rows {
		files, err := fs.Glob(tree, "examples/"+row[1]+"/*.go")
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, name := range files {
			if source, err := fs.ReadFile(tree, name); err == nil && !strings.HasSuffix(name, "_test.go") {
				lines += len(regexp.MustCompile(`(?m)^\s*([^\s/]|/[^/]).*$`).FindAllString(string(source), -1))
			}
		}
		if row[2] != fmt.Sprint(lines) {
			t.Errorf("docs/peers.md says that examples/%s has %s lines of code: it has %d", row[1], row[2], lines)
		}
	}
}

// pages returns the names of all Markdown files.
func pages(t *testing.T, tree fs.FS) (names []string) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a temporary directory that another test has removed
		case err != nil:
			return err
		case entry.IsDir() && regexp.MustCompile(`^([._].+|testdata|dist)$`).MatchString(entry.Name()):
			return fs.SkipDir
		case path.Ext(name) == ".md":
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestSettings(t *testing.T) {
	t.Parallel()
	page := readDocument(t, os.DirFS("."), "cmd/ratelimitd/SETTINGS.md")
	want, faults := fillSettings(page, settings.Table())
	report(t, faults)
	if *update && len(faults) == 0 {
		if err := os.WriteFile(page.Name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != page.Content() {
		t.Errorf("%s: the table does not match internal/ratelimit/settings: update it with go test . -update", page.Name)
	}
}

// TestLinks checks the links of all pages.
func TestLinks(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	for _, name := range pages(t, tree) {
		report(t, readDocument(t, tree, name).CheckLinks(tree))
	}
}

// TestMap checks that doc.go links every public package, and only packages that exist.
func TestMap(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	report(t, checkMap(readDocument(t, tree, "doc.go"), tree))
}

func readDocument(t *testing.T, tree fs.FS, name string) *markdown.Page {
	t.Helper()
	page, err := markdown.Read(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault)
	}
}

// checkPackages reports import paths of this module that do not exist.
func checkPackages(d *markdown.Page, tree fs.FS) (faults []string) {
	named := regexp.MustCompile(`(https?://)?github\.com/ashlar-go/ashlar/([\w./-]+)`)
	for i, line := range d.Lines {
		for _, found := range named.FindAllStringSubmatch(line, -1) {
			dir := strings.TrimRight(strings.TrimSuffix(found[2], "/..."), "./-")
			if found[1] == "" && dir != "" && !hasGo(tree, dir, false) {
				faults = append(faults, d.Fault(i, "unknown package github.com/ashlar-go/ashlar/%s", dir))
			}
		}
	}
	return faults
}

// checkMap reports public packages that the package comment does not link, and links to
// packages that do not exist.
func checkMap(d *markdown.Page, tree fs.FS) (faults []string) {
	const module = "github.com/ashlar-go/ashlar"
	linked := map[string]bool{}
	for i, line := range d.Lines {
		for _, found := range regexp.MustCompile(`\[`+module+`/([\w/-]+)\]`).FindAllStringSubmatch(line, -1) {
			if linked[found[1]] = true; !hasGo(tree, found[1], false) {
				faults = append(faults, d.Fault(i, "unknown package %s", found[1]))
			}
		}
	}
	err := fs.WalkDir(tree, ".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a temporary directory that another test has removed
		case err != nil || !entry.IsDir() || dir == ".":
			return err
		case dir == "cmd" || dir == "examples" || regexp.MustCompile(`^([._].*|internal|testdata)$`).MatchString(entry.Name()):
			return fs.SkipDir
		case hasGo(tree, dir, false) && !linked[dir]:
			faults = append(faults, d.Name+": package "+dir+" is not in the package index: add a link, ["+module+"/"+dir+"]")
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}

// hasGo reports whether a directory contains Go files: test files if tests is true, else others.
func hasGo(tree fs.FS, dir string, tests bool) bool {
	files, err := fs.ReadDir(tree, path.Clean(dir))
	return err == nil && slices.ContainsFunc(files, func(f fs.DirEntry) bool {
		return strings.HasSuffix(f.Name(), ".go") && strings.HasSuffix(f.Name(), "_test.go") == tests
	})
}

// fillSettings returns the document with its table of settings replaced. A document without
// the markers is returned unchanged.
func fillSettings(d *markdown.Page, rows []settings.Variable) (string, []string) {
	first, last := slices.Index(d.Lines, "<!-- settings -->"), slices.Index(d.Lines, "<!-- /settings -->")
	switch {
	case first < 0 && last < 0:
		return d.Content(), nil
	case first < 0 || last < first:
		return d.Content(), []string{d.Fault(max(first, last), "the table of settings needs <!-- settings --> before and <!-- /settings --> after it")}
	}
	return strings.Join(slices.Concat(d.Lines[:first+1], settingsTable(rows), d.Lines[last:]), "\n"), nil
}

// settingsTable returns the lines of one table per group, with all names of a setting in one cell.
func settingsTable(rows []settings.Variable) []string {
	lines := []string{""}
	group := ""
	for i, v := range rows {
		if i == 0 || v.Group != group {
			group = v.Group
			if i > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, "| "+group+" | Default | Meaning |", "|---|---|---|")
		}
		value := ""
		if v.Default != "" {
			value = "`" + v.Default + "`"
		}
		names := strings.Join(append([]string{v.Name}, v.Aliases...), "`, `")
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", names, value, strings.ReplaceAll(v.Doc, "|", `\|`)))
	}
	return append(lines, "")
}
