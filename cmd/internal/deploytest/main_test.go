package deploytest_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/markdown"
	inventory "github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

var update = flag.Bool("update", false, "write the tables of settings and metrics in cmd/inventoryd/OPERATIONS.md")

// checkout is the root of this module.
const checkout = "../../.."

// timeout limits the time of a program. It is long because the machine may be slow and busy.
const timeout = 5 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// system is a program with its files for operators.
type system struct {
	name      string
	variables []string // names of its settings, with aliases
	// parse parses an environment.
	parse func(environ map[string]string) (warnings []string, err error)
	ports []string // default ports
	paths []string // HTTP paths
}

func systems() []system {
	return []system{ratelimitd(), inventoryd()}
}

func ratelimitd() system {
	s := system{
		name:  "ratelimitd",
		ports: []string{"8080", "8081", "6070", "9090"},
		paths: []string{"/healthcheck", "/json", "/", "/stats", "/rlconfig", "/topkeys", "/debug/pprof/", "/metrics"},
		parse: func(environ map[string]string) (warnings []string, err error) {
			for _, w := range settings.Warnings(environ) {
				warnings = append(warnings, w.String())
			}
			_, err = settings.Parse(environ)
			return warnings, err
		},
	}
	for _, v := range settings.Table() {
		s.variables = append(append(s.variables, v.Name), v.Aliases...)
	}
	return s
}

func inventoryd() system {
	s := system{
		name:  "inventoryd",
		ports: []string{"3000"},
		paths: []string{"/healthz", "/docs", "/openapi.json", "/audit-logs", "/"},
	}
	for _, v := range inventory.Table() {
		if v.Env != "" {
			s.variables = append(s.variables, v.Env)
		}
	}
	s.parse = func(environ map[string]string) (warnings []string, err error) {
		for name := range environ {
			if !slices.Contains(s.variables, name) {
				warnings = append(warnings, name+": is not a setting")
			}
		}
		_, err = inventory.Parse(environ, nil)
		return warnings, err
	}
	return s
}

// dir returns the directory of the program, relative to the root.
func (s system) dir() string { return "cmd/" + s.name }

// page returns OPERATIONS.md of the program.
func (s system) page(t *testing.T) *markdown.Page { return readPage(t, s.dir()+"/OPERATIONS.md") }

// deployed returns the paths of its files that match a pattern, relative to the root.
func (s system) deployed(t *testing.T, pattern string) []string {
	t.Helper()
	found := globbed(s, pattern)
	require.NotEmpty(t, found, pattern)
	return found
}

// globbed is like deployed, for optional files.
func globbed(s system, pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(checkout, s.dir(), "deploy", pattern)) // the patterns are valid
	for i, path := range found {
		found[i] = s.dir() + "/deploy/" + filepath.Base(path)
	}
	return found
}

// each runs a test for each system.
func each(t *testing.T, test func(t *testing.T, s system)) {
	t.Helper()
	for _, s := range systems() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// read returns the content of a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, path))
	require.NoError(t, err)
	return string(text)
}

// exists reports whether a file or directory exists at a path relative to the root.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join(checkout, path))
	return err == nil
}

// report fails the test with each fault.
func report(t *testing.T, faults []string) {
	t.Helper()
	for _, fault := range faults {
		t.Error(fault)
	}
}

// environment reads lines of NAME=value, as an EnvironmentFile of systemd has them.
func environment(lines []string) map[string]string {
	environ := map[string]string{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			environ[name] = value
		}
	}
	return environ
}

// TestDefaultsOfPorts checks that the ports used here are the defaults of the programs.
func TestDefaultsOfPorts(t *testing.T) {
	defaults, err := settings.Parse(map[string]string{})
	require.NoError(t, err)
	require.Equal(t, 8080, defaults.Port)
	require.Equal(t, 8081, defaults.GRPCPort)
	require.Equal(t, 6070, defaults.DebugPort)
	require.Equal(t, ":9090", defaults.ScrapeAddr)
	require.Equal(t, "/metrics", defaults.ScrapePath)
	require.Equal(t, ":3000", inventory.Default().Addr)
}
