package deploytest_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	inventory "github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// page is a Markdown file.
type page struct {
	path  string // from the root
	lines []string
}

func readPage(t *testing.T, name string) *page {
	t.Helper()
	return &page{name, strings.Split(read(t, name), "\n")}
}

// fault is what is wrong with a line, counted from 0.
func (p *page) fault(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", p.path, line+1, fmt.Sprintf(format, args...))
}

// block is what stands between two fences.
type block struct {
	language string
	first    int // index of its first line
	lines    []string
}

func (p *page) blocks() (all []block) {
	open := false
	for i, line := range p.lines {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			all = append(all, block{language: language, first: i + 1})
		case open:
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	return all
}

// blocksOf are the blocks of a language.
func (p *page) blocksOf(language string) []block {
	return slices.DeleteFunc(p.blocks(), func(b block) bool { return b.language != language })
}

// prose is the page with its blocks left blank.
func (p *page) prose() []string {
	lines := slices.Clone(p.lines)
	for _, b := range p.blocks() {
		clear(lines[b.first : b.first+len(b.lines)])
	}
	return lines
}

func TestPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		p := s.page(t)
		report(t, checkLinks(p))
		report(t, checkVariables(p.path, p.lines, s.variables))
		report(t, checkEnvironments(p, s.parse))
		report(t, checkLimits(p))
		report(t, checkShape(p))
		for _, file := range s.deployed(t, "*") {
			require.Contains(t, strings.Join(p.lines, "\n")+"Dockerfile.dockerignore", path.Base(file), "the page does not name the file")
		}
	})
}

// checkShape: languages of blocks are those that are checked.
func checkShape(p *page) (faults []string) {
	for _, b := range p.blocks() {
		if !slices.Contains([]string{"sh", "ini", "yaml", "nginx"}, b.language) {
			faults = append(faults, p.fault(b.first-1, "a block of %q: nothing checks it", b.language))
		}
	}
	return faults
}

// checkLinks reports links within the repository that lead nowhere.
func checkLinks(p *page) (faults []string) {
	for i, line := range p.prose() {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(line, -1) {
			if err := follow(p.path, link[1]); err != nil {
				faults = append(faults, p.fault(i, "link to %s: %v", link[1], err))
			}
		}
	}
	return faults
}

// follow says why there is nothing behind a link of a page; nil for links to elsewhere.
func follow(from, target string) error {
	const home = "https://github.com/ashlar-go/ashlar/blob/main/"
	if inside, ok := strings.CutPrefix(target, home); ok {
		from, target = "", inside
	}
	if strings.Contains(target, "://") {
		return nil
	}
	file, anchor, _ := strings.Cut(target, "#")
	name := from
	if file != "" {
		name = path.Join(path.Dir(from), file)
	}
	if strings.HasPrefix(name, "..") || !exists(name) {
		return fmt.Errorf("there is no %s", name)
	}
	if anchor == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(checkout, name))
	if err == nil && !slices.Contains(anchors(string(text)), anchor) {
		err = fmt.Errorf("%s has no heading for #%s", name, anchor)
	}
	return err
}

// anchors are what hosts of Markdown make of the headings.
func anchors(text string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		title := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(title, " ", "-"))
	}
	return all
}

// foreign are words that look like variables and are none of the program's: values of
// settings, names of other programs, and the variables of the Go runtime.
func foreign(word string) bool {
	return slices.Contains([]string{
		"GRPC_XDS_SOTW", "STRICT_DNS", "GOMEMLIMIT", "GOGC", "OPERATIONS", "README", "OK",
		"CGO_ENABLED", "GOTOOLCHAIN", "GOFLAGS", "GOPROXY",
	}, word)
}

// checkVariables reports words with the form of a variable that the program does not have.
// Words without an underscore count only where they stand alone as code.
func checkVariables(name string, lines []string, variables []string) (faults []string) {
	form := regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|` + "`" + `[A-Z][A-Z0-9]+` + "[`=]")
	for i, line := range lines {
		for _, word := range form.FindAllString(line, -1) {
			word = strings.Trim(word, "`=")
			if !slices.Contains(variables, word) && !foreign(word) {
				faults = append(faults, fmt.Sprintf("%s:%d: %s is no setting of the program", name, i+1, word))
			}
		}
	}
	return faults
}

// checkEnvironments has the program read every block of environment.
func checkEnvironments(p *page, parse func(map[string]string) ([]string, error)) (faults []string) {
	for _, b := range p.blocksOf("ini") {
		warnings, err := parse(environment(b.lines))
		if err != nil {
			faults = append(faults, p.fault(b.first, "%v", err))
		}
		for _, w := range warnings {
			faults = append(faults, p.fault(b.first, "warning: %s", w))
		}
	}
	return faults
}

// checkLimits loads every block of limits, and at least decodes other YAML.
func checkLimits(p *page) (faults []string) {
	for _, b := range p.blocksOf("yaml") {
		text := strings.Join(b.lines, "\n")
		err := yaml.Unmarshal([]byte(text), new(any))
		if strings.HasPrefix(text, "domain:") {
			_, err = config.Parse([]config.File{{Name: "limits.yaml", Data: []byte(text)}}, nil)
		}
		if err != nil {
			faults = append(faults, p.fault(b.first, "%v", err))
		}
	}
	return faults
}

// The page of the inventory has the table of the program, word for word.
func TestTableOfSettings(t *testing.T) {
	t.Parallel()
	p := inventoryd().page(t)
	have := strings.Join(p.lines, "\n")
	var table strings.Builder
	table.WriteString("<!-- settings -->\n\n| Variable, flag | Default | Meaning |\n|---|---|---|\n")
	for _, v := range inventory.Table() {
		var names []string
		if v.Env != "" {
			names = append(names, "`"+v.Env+"`")
		}
		if v.Flag != "" {
			names = append(names, "`-"+v.Flag+"`")
		}
		byDefault := v.Default
		if byDefault != "" {
			byDefault = "`" + strings.ReplaceAll(byDefault, ",", ", ") + "`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", strings.Join(names, ", "), byDefault, v.Doc)
	}
	table.WriteString("\n<!-- /settings -->")
	place := regexp.MustCompile(`(?s)<!-- settings -->.*<!-- /settings -->`)
	require.True(t, place.MatchString(have), "%s has no place for the table", p.path)
	want := place.ReplaceAllLiteralString(have, table.String())
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(checkout, p.path), []byte(want), 0o644))
		return
	}
	require.Equal(t, want, have, "go test ./cmd/internal/deploytest -update writes it")
}
