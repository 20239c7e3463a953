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

	"github.com/ashlar-go/ashlar/internal/markdown"
	inventory "github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

func readPage(t *testing.T, name string) *markdown.Page {
	t.Helper()
	return markdown.New(name, read(t, name))
}

func TestPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		p := s.page(t)
		report(t, p.CheckLinks(os.DirFS(checkout)))
		report(t, checkVariables(p.Name, p.Lines, s.variables))
		report(t, checkEnvironments(p, s.parse))
		report(t, checkLimits(p))
		report(t, checkShape(p))
		for _, file := range s.deployed(t, "*") {
			require.Contains(t, strings.Join(p.Lines, "\n")+"Dockerfile.dockerignore", path.Base(file), "the page does not name the file")
		}
	})
}

// checkShape reports blocks in a language without a check.
func checkShape(p *markdown.Page) (faults []string) {
	for _, b := range p.Blocks() {
		if !slices.Contains([]string{"sh", "ini", "yaml", "nginx"}, b.Language) {
			faults = append(faults, p.Fault(b.First-1, "a block of %q: unsupported language", b.Language))
		}
	}
	return faults
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
func checkEnvironments(p *markdown.Page, parse func(map[string]string) ([]string, error)) (faults []string) {
	for _, b := range p.BlocksOf("ini") {
		warnings, err := parse(environment(b.Lines))
		if err != nil {
			faults = append(faults, p.Fault(b.First, "%v", err))
		}
		for _, w := range warnings {
			faults = append(faults, p.Fault(b.First, "warning: %s", w))
		}
	}
	return faults
}

// checkLimits loads every block of limits, and decodes other YAML.
func checkLimits(p *markdown.Page) (faults []string) {
	for _, b := range p.BlocksOf("yaml") {
		text := strings.Join(b.Lines, "\n")
		err := yaml.Unmarshal([]byte(text), new(any))
		if strings.HasPrefix(text, "domain:") {
			_, err = config.Parse([]config.File{{Name: "limits.yaml", Data: []byte(text)}}, nil)
		}
		if err != nil {
			faults = append(faults, p.Fault(b.First, "%v", err))
		}
	}
	return faults
}

// TestTables checks that the page of the inventory contains the tables of the program's settings and
// metrics verbatim.
func TestTables(t *testing.T) {
	t.Parallel()
	p := inventoryd().page(t)
	have := strings.Join(p.Lines, "\n")
	want := have
	for name, table := range map[string]string{"settings": settingsTable(), "metrics": metricsTable()} {
		place := regexp.MustCompile(`(?s)<!-- ` + name + ` -->.*<!-- /` + name + ` -->`)
		require.True(t, place.MatchString(have), "%s has no place for the %s", p.Name, name)
		want = place.ReplaceAllLiteralString(want, "<!-- "+name+" -->\n\n"+table+"\n<!-- /"+name+" -->")
	}
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(checkout, p.Name), []byte(want), 0o644))
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
