package ashlar_test

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/markdown"
)

// checkCode reports code blocks that are not excerpts of the file named above them. Blocks of
// Go and YAML must name a file, and the file of a Go block must be compiled in this module. Blocks
// that the reader writes to a file are run by the end-to-end tests.
func checkCode(d *markdown.Page, tree fs.FS) (faults []string) {
	from, written := regexp.MustCompile(`^\s*<!-- from (\S+) -->\s*$`), regexp.MustCompile(`^<!-- file: \S+ -->$`)
	for _, b := range d.Blocks() {
		source := from.FindStringSubmatch(b.Above)
		if written.MatchString(b.Above) {
			continue // the reader writes it, and commands use it
		}
		if source == nil && !slices.Contains([]string{"go", "yaml", "yml"}, b.Language) {
			continue
		}
		if source == nil {
			faults = append(faults, d.Fault(b.First-1, "a block of %s without a source: name it in the line before, <!-- from path/to/file -->", b.Language))
			continue
		}
		if err := isFrom(&b, source[1], tree); err != nil {
			faults = append(faults, d.Fault(b.First-1, "%v", err))
		}
	}
	return faults
}

// isFrom returns an error if the block is not an excerpt of the file.
func isFrom(b *markdown.Block, file string, tree fs.FS) error {
	if b.Language == "go" {
		if err := compiled(file, tree); err != nil {
			return err
		}
	}
	content, err := fs.ReadFile(tree, file)
	if err != nil {
		return err
	}
	want, lines := dedent(b.Lines), strings.Split(string(content), "\n")
	if strings.TrimSpace(strings.Join(want, "")) == "" {
		return errors.New("the block is empty")
	}
	for i := 0; i+len(want) <= len(lines); i++ {
		if slices.Equal(dedent(lines[i:i+len(want)]), want) {
			return nil
		}
	}
	return fmt.Errorf("%s does not contain the block that begins with %q", file, strings.TrimSpace(b.Lines[0]))
}

// dedent removes the common indentation of all lines, ignoring blank ones.
func dedent(lines []string) []string {
	shared, found := "", false
	for _, line := range lines {
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		switch {
		case strings.TrimSpace(line) == "":
		case !found:
			shared, found = own, true
		default:
			for !strings.HasPrefix(own, shared) {
				shared = shared[:len(shared)-1]
			}
		}
	}
	bare := make([]string, len(lines))
	for i, line := range lines {
		bare[i] = strings.TrimRight(strings.TrimPrefix(line, shared), " \t\r")
	}
	return bare
}

// compiled returns an error if go build ./... and go vet ./... do not compile the file, here or in a
// module below examples, which "make lint" and "make test" compile too.
func compiled(file string, tree fs.FS) error {
	if !strings.HasSuffix(file, ".go") {
		return fmt.Errorf("%s is not a Go file", file)
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if base := path.Base(dir); base == "testdata" || strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") {
			return fmt.Errorf("%s is not compiled: the go command ignores %s", file, dir)
		}
		if _, err := fs.Stat(tree, dir+"/go.mod"); err == nil && path.Dir(dir) != "examples" {
			return fmt.Errorf("%s is not compiled here: %s is another module", file, dir)
		}
	}
	context := build.Default
	context.JoinPath = path.Join
	context.OpenFile = func(name string) (io.ReadCloser, error) { return tree.Open(name) }
	match, err := context.MatchFile(path.Dir(file), path.Base(file))
	if err == nil && !match {
		err = fmt.Errorf("%s is not compiled: a build constraint excludes it", file)
	}
	return err
}
