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

	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

var update = flag.Bool("update", false, "rewrite the table in cmd/ratelimitd/SETTINGS.md")

// Each check is a function of a document and of the file tree around it, so that
// readme_broken_test.go can test the checks themselves.

// TestReadme checks code blocks, commands and package names of README.md.
func TestReadme(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	readme := readDocument(t, tree, "README.md")
	report(t, checkCode(readme, tree))
	report(t, checkCommands(readme, tree))
	report(t, checkPackages(readme, tree))
}

func TestSettings(t *testing.T) {
	t.Parallel()
	page := readDocument(t, os.DirFS("."), "cmd/ratelimitd/SETTINGS.md")
	want, faults := fillSettings(page, settings.Table())
	report(t, faults)
	if *update && len(faults) == 0 {
		if err := os.WriteFile(page.name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != page.content() {
		t.Errorf("%s: the table does not match ratelimit/settings: update it with go test . -update", page.name)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		report(t, checkLinks(readDocument(t, tree, name), tree))
	}
}

// TestMap checks that doc.go links every public package, and only packages that exist.
func TestMap(t *testing.T) {
	t.Parallel()
	tree := os.DirFS(".")
	report(t, checkMap(readDocument(t, tree, "doc.go"), tree))
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault)
	}
}

// document is a Markdown file, line by line.
type document struct {
	name  string
	lines []string
}

func newDocument(name, content string) *document {
	return &document{name: name, lines: strings.Split(content, "\n")}
}

func readDocument(t *testing.T, tree fs.FS, name string) *document {
	t.Helper()
	content, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return newDocument(name, string(content))
}

func (d *document) content() string { return strings.Join(d.lines, "\n") }

// fault formats a message about a line, counted from 0.
func (d *document) fault(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", d.name, line+1, fmt.Sprintf(format, args...))
}

// block is a fenced code block.
type block struct {
	language string
	first    int // index of the first line after the fence
	lines    []string
	above    string // the line before the fence
}

// blocks returns the fenced blocks. An unclosed block extends to the end, as in CommonMark.
func (d *document) blocks() []block {
	var all []block
	open := false
	for i, line := range d.lines {
		language, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			all = append(all, block{language: language, first: i + 1, above: d.lines[max(i-1, 0)]})
		case open:
			b := &all[len(all)-1]
			b.lines = append(b.lines, line)
		}
	}
	return all
}

// prose returns the lines without fenced blocks and inline code.
func (d *document) prose() []string {
	lines := slices.Clone(d.lines)
	for _, b := range d.blocks() {
		clear(lines[b.first : b.first+len(b.lines)])
	}
	code := regexp.MustCompile("`[^`]*`")
	for i := range lines {
		lines[i] = code.ReplaceAllString(lines[i], "")
	}
	return lines
}

// checkLinks reports broken links within the repository.
func checkLinks(d *document, tree fs.FS) (faults []string) {
	link := regexp.MustCompile(`\]\(([^)\s]+)|^\[[^\]]+\]:\s*(\S+)`)
	for i, line := range d.prose() {
		for _, found := range link.FindAllStringSubmatch(line, -1) {
			target := found[1] + found[2]
			if err := d.follow(target, tree); err != nil {
				faults = append(faults, d.fault(i, "link to %s: %v", target, err))
			}
		}
	}
	return faults
}

// follow returns an error if the target does not exist. It ignores links to other sites.
func (d *document) follow(target string, tree fs.FS) error {
	if regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:|//)`).MatchString(target) {
		return nil
	}
	file, anchor, _ := strings.Cut(target, "#")
	dest := d
	if file != "" {
		file = path.Clean(file)
		if !fs.ValidPath(file) {
			return errors.New("path outside of the repository: use a path relative to the root")
		}
		content, err := fs.ReadFile(tree, file)
		if _, statErr := fs.Stat(tree, file); statErr != nil {
			return statErr
		} else if err != nil && anchor == "" {
			return nil // a directory
		}
		dest = newDocument(file, string(content))
	}
	if anchor != "" && !dest.hasHeading(anchor) {
		return fmt.Errorf("%s has no heading for #%s", dest.name, anchor)
	}
	return nil
}

// hasHeading reports whether a heading has the anchor, as Markdown hosts derive it.
func (d *document) hasHeading(anchor string) bool {
	return slices.ContainsFunc(d.lines, func(line string) bool {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			return false
		}
		title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(title), "")
		return strings.ReplaceAll(strings.TrimSpace(title), " ", "-") == anchor
	})
}

// checkPackages reports import paths of this module that do not exist.
func checkPackages(d *document, tree fs.FS) (faults []string) {
	named := regexp.MustCompile(`(https?://)?github\.com/ashlar-go/ashlar/([\w./-]+)`)
	for i, line := range d.lines {
		for _, found := range named.FindAllStringSubmatch(line, -1) {
			dir := strings.TrimRight(strings.TrimSuffix(found[2], "/..."), "./-")
			if found[1] == "" && dir != "" && !hasGo(tree, dir, false) {
				faults = append(faults, d.fault(i, "unknown package github.com/ashlar-go/ashlar/%s", dir))
			}
		}
	}
	return faults
}

// checkMap reports public packages that the package comment does not link, and links to
// packages that do not exist.
func checkMap(d *document, tree fs.FS) (faults []string) {
	const module = "github.com/ashlar-go/ashlar"
	linked := map[string]bool{}
	for i, line := range d.lines {
		for _, found := range regexp.MustCompile(`\[`+module+`/([\w/-]+)\]`).FindAllStringSubmatch(line, -1) {
			if linked[found[1]] = true; !hasGo(tree, found[1], false) {
				faults = append(faults, d.fault(i, "unknown package %s", found[1]))
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
			faults = append(faults, d.name+": package "+dir+" is not in the package index: add a link, ["+module+"/"+dir+"]")
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
func fillSettings(d *document, rows []settings.Variable) (string, []string) {
	first, last := slices.Index(d.lines, "<!-- settings -->"), slices.Index(d.lines, "<!-- /settings -->")
	switch {
	case first < 0 && last < 0:
		return d.content(), nil
	case first < 0 || last < first:
		return d.content(), []string{d.fault(max(first, last), "the table of settings needs <!-- settings --> before and <!-- /settings --> after it")}
	}
	return strings.Join(slices.Concat(d.lines[:first+1], settingsTable(rows), d.lines[last:]), "\n"), nil
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
