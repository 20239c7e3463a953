package deploytest_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// TestPages checks the settings, commands, flags, environments and limits on the pages for
// operators, and that they name each file in the directory deploy.
func TestPages(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		p := readPage(t, s.dir()+"/OPERATIONS.md")
		files, err := filepath.Glob(filepath.Join(checkout, s.dir(), "deploy", "*"))
		require.NoError(t, err)
		for _, file := range files {
			require.Contains(t, p.Content()+"Dockerfile.dockerignore", filepath.Base(file))
		}
		checkVariables(t, p, s)
		for i, line := range p.Prose() {
			for _, code := range regexp.MustCompile("`[^`]*`").FindAllString(line, -1) {
				for _, flag := range regexp.MustCompile("[` ]-([a-z][a-z0-9_-]+)").FindAllStringSubmatch(code, -1) {
					require.True(t, slices.Contains([]string{"wal", "shm", "hex"}, flag[1]) || hasFlag("*", flag[1]), p.Fault(i+1, "unknown flag -%s", flag[1]))
				}
			}
		}
		for _, b := range p.Blocks() {
			switch b.Language {
			case "ini":
				require.NoError(t, s.parse(environment(b.Lines)), p.Fault(b.First, ""))
			case "yaml":
				require.NoError(t, yaml.Unmarshal([]byte(b.Text()), new(any)), p.Fault(b.First, ""))
				if strings.HasPrefix(b.Text(), "domain:") {
					requireLimits(t, map[string]string{"limits.yaml": b.Text()})
				}
			case "sh":
				for i, line := range b.Lines {
					require.NoError(t, checkCommand(words(line), s), p.Fault(b.First+i, ""))
				}
			default:
				require.Equal(t, "nginx", b.Language, p.Fault(b.First, "a block in a language without a check"))
			}
		}
	})
}

// checkVariables checks that the settings on a page exist.
func checkVariables(t *testing.T, p *markdown.Page, s system) {
	t.Helper()
	for i, line := range p.Lines {
		// Words without an underscore count only as inline code.
		for _, word := range regexp.MustCompile("\\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\\b|`[A-Z][A-Z0-9]+[`=]").FindAllString(line, -1) {
			word = strings.Trim(word, "`=")
			require.True(t, slices.Contains(s.variables, word) || slices.Contains(foreign, word), p.Fault(i+1, "unknown setting %s", word))
		}
	}
}

// foreign holds words that look like settings of the programs: values of settings, file names, and variables of the
// Go tools or of a command that imports.
var foreign = []string{
	"GRPC_XDS_SOTW", "STRICT_DNS", "OTEL_EXPORTER_OTLP_ENDPOINT", "GOMEMLIMIT", "GOGC", "OPERATIONS", "README", "OK",
	"SNMP_COMMUNITY", "SNMP_USER", "SNMP_AUTH_PROTOCOL", "SNMP_AUTH_PASSPHRASE", "SNMP_PRIV_PROTOCOL", "SNMP_PRIV_PASSPHRASE",
	"INVENTORYCTL_CONFIG", "INVENTORY_URL", "INVENTORY_TOKEN",
	"DRAFT_VERSION_03", "ASHLAR_SAMPLES", "GRPC_SERVER_TLS_CA_CERT",
	"NETBOX_TOKEN", "CGO_ENABLED", "GOTOOLCHAIN", "GOFLAGS", "GOPROXY",
	"REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR", "REDIS_AWS_IAM_AUTH", // of the reference service
}

// requireLimits requires files of limits without errors and warnings.
func requireLimits(t *testing.T, files map[string]string) {
	t.Helper()
	var all []config.File
	for name, text := range files {
		all = append(all, config.File{Name: name, Data: []byte(text)})
	}
	c, err := config.Parse(all, nil)
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
}

// words splits a line of shell, which may quote with single quotes and has no other syntax. It
// returns none for other lines.
func words(line string) (all []string) {
	if !regexp.MustCompile(`^(?:'[^']*'|[^'"$;&|<>\x60\\])+$`).MatchString(line) {
		return nil
	}
	for _, word := range regexp.MustCompile(`(?:'[^']*'|[^\s'])+`).FindAllString(line, -1) {
		all = append(all, strings.ReplaceAll(word, "'", ""))
	}
	return all
}

// checkCommand returns an error if a command names a file, target, URL or flag that does not exist.
func checkCommand(words []string, s system) error {
	if len(words) == 0 {
		return fmt.Errorf("write one plain command per line")
	}
	ours := exists("cmd/" + words[0])
	for _, word := range words[1:] {
		flag, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case strings.HasPrefix(strings.TrimPrefix(word, "./"), "cmd/") && !exists(word):
			return fmt.Errorf("no %s", word)
		case ours && strings.HasPrefix(word, "-") && !hasFlag(words[0], flag):
			return fmt.Errorf("%s has no flag -%s", words[0], flag)
		}
	}
	switch words[0] {
	case "make":
		if makefile, err := os.ReadFile(filepath.Join(checkout, "Makefile")); err != nil || !strings.Contains(string(makefile), "\n"+words[1]+":") {
			return fmt.Errorf("no target %s", words[1])
		}
	case "curl":
		u, err := url.Parse(words[len(words)-1])
		if err != nil || !slices.Contains(s.ports, u.Port()) || !slices.Contains(s.paths, u.Path) {
			return fmt.Errorf("%s does not serve %s at port %s", s.name, u.Path, u.Port())
		}
	default:
		if known := []string{"go", "install", "systemctl", "journalctl", "docker", "kubectl", "rm", "cp", "redis-cli", "sqlite3", "createuser", "createdb", "pg_dump", "pg_restore"}; !ours && !slices.Contains(known, words[0]) {
			return fmt.Errorf("unknown program %s", words[0])
		}
	}
	return nil
}

// hasFlag reports whether the sources of a program, or of any for "*", name a flag.
func hasFlag(program, name string) bool {
	form := regexp.MustCompile(`["\x60:]` + regexp.QuoteMeta(name) + `["\x60]`) // also in the tag of a field
	for _, dir := range []string{"cmd/" + program, "inventory", "inventory/server"} {
		files, _ := filepath.Glob(filepath.Join(checkout, dir, "*.go")) // the pattern is valid
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, "_test.go") && form.Match(text) {
				return true
			}
		}
	}
	return false
}
