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

// fault formats a message about a line, counted from 0.
func (p *page) fault(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", p.path, line+1, fmt.Sprintf(format, args...))
}

// block is a fenced code block.
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

// blocksOf returns the blocks of a language.
func (p *page) blocksOf(language string) []block {
	return slices.DeleteFunc(p.blocks(), func(b block) bool { return b.language != language })
}

// prose returns the lines of the page without its blocks.
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

// checkShape reports blocks in a language without a check.
func checkShape(p *page) (faults []string) {
	for _, b := range p.blocks() {
		if !slices.Contains([]string{"sh", "ini", "yaml", "nginx"}, b.language) {
			faults = append(faults, p.fault(b.first-1, "a block of %q: unsupported language", b.language))
		}
	}
	return faults
}

// checkLinks reports broken links within the repository.
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

// follow returns an error if the target of a link does not exist. It ignores links to other sites.
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

// anchors returns the anchors that Markdown hosts derive from the headings.
func anchors(text string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		title := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(title, " ", "-"))
	}
	return all
}

// foreign reports whether a word looks like a setting of the program but is not: a value of a setting,
// a file name, or a variable of the Go tools or of a command that imports.
func foreign(word string) bool {
	return slices.Contains([]string{
		"GRPC_XDS_SOTW", "STRICT_DNS", "GOMEMLIMIT", "GOGC", "OPERATIONS", "README", "OK",
		"SNMP_COMMUNITY", "SNMP_USER", "SNMP_AUTH_PROTOCOL", "SNMP_AUTH_PASSPHRASE", "SNMP_PRIV_PROTOCOL", "SNMP_PRIV_PASSPHRASE",
		"INVENTORYCTL_CONFIG", "INVENTORY_URL", "INVENTORY_TOKEN",
		"NETBOX_TOKEN", "CGO_ENABLED", "GOTOOLCHAIN", "GOFLAGS", "GOPROXY",
	}, word)
}

// checkVariables reports unknown settings. Words without an underscore count only as inline code.
func checkVariables(name string, lines []string, variables []string) (faults []string) {
	form := regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|` + "`" + `[A-Z][A-Z0-9]+` + "[`=]")
	for i, line := range lines {
		for _, word := range form.FindAllString(line, -1) {
			word = strings.Trim(word, "`=")
			if !slices.Contains(variables, word) && !foreign(word) {
				faults = append(faults, fmt.Sprintf("%s:%d: unknown setting %s", name, i+1, word))
			}
		}
	}
	return faults
}

// checkEnvironments parses every block of environment variables with the program.
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

// checkLimits loads every block of limits, and decodes other YAML.
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

// TestTables checks that the page of the inventory contains the tables of the program's settings and
// metrics verbatim.
func TestTables(t *testing.T) {
	t.Parallel()
	p := inventoryd().page(t)
	have := strings.Join(p.lines, "\n")
	want := have
	for name, table := range map[string]string{"settings": settingsTable(), "metrics": metricsTable()} {
		place := regexp.MustCompile(`(?s)<!-- ` + name + ` -->.*<!-- /` + name + ` -->`)
		require.True(t, place.MatchString(have), "%s has no place for the %s", p.path, name)
		want = place.ReplaceAllLiteralString(want, "<!-- "+name+" -->\n\n"+table+"\n<!-- /"+name+" -->")
	}
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(checkout, p.path), []byte(want), 0o644))
		return
	}
	require.Equal(t, want, have, "go test ./cmd/internal/deploytest -update writes it")
}

func settingsTable() string {
	var table strings.Builder
	table.WriteString("| Variable, flag | Default | Meaning |\n|---|---|---|\n")
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
	return table.String()
}

func metricsTable() string {
	var table strings.Builder
	table.WriteString("| Metric | Labels | Meaning |\n|---|---|---|\n")
	for _, m := range inventory.Metrics() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", m.Name, strings.Join(m.Labels, ", "), m.Help)
	}
	return table.String()
}
