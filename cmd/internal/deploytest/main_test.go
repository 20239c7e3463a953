package deploytest_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/internal/servertest"
	inventory "github.com/ashlar-go/ashlar/inventory/server"
)

// checkout is the root of this module.
const checkout = "../../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// system is a program with its files for operators.
type system struct {
	name      string
	variables []string // names of its settings, with aliases
	ports     []string // its default ports
	paths     []string // HTTP paths that it serves
	// parse parses an environment, and fails for warnings.
	parse func(environ map[string]string) error
}

func systems() []system { return []system{ratelimitd(), inventoryd()} }

func ratelimitd() system {
	s := system{
		name: "ratelimitd", ports: []string{"6070", "8080", "8081", "9090"},
		paths: []string{"/healthcheck", "/livez", "/readyz", "/json", "/", "/stats", "/rlconfig", "/topkeys", "/debug/pprof/", "/metrics"},
		parse: func(environ map[string]string) error {
			_, err := settings.Parse(environ)
			for _, w := range settings.Warnings(environ) {
				err = errors.Join(err, errors.New(w.String()))
			}
			return err
		},
	}
	for _, v := range settings.Table() {
		s.variables = append(append(s.variables, v.Name), v.Aliases...)
	}
	return s
}

func inventoryd() system {
	s := system{name: "inventoryd", ports: []string{"3000", "9100"}, paths: []string{"/healthz", "/livez", "/readyz", "/metrics", "/docs", "/openapi.json", "/audit-logs", "/"}}
	for _, v := range inventory.Table() {
		s.variables = append(s.variables, v.Env)
	}
	s.parse = func(environ map[string]string) error {
		_, err := inventory.Parse(environ, nil)
		for name := range environ {
			if !slices.Contains(s.variables, name) {
				err = errors.Join(err, fmt.Errorf("%s is not a setting", name))
			}
		}
		return err
	}
	return s
}

// dir returns the directory of the program, relative to the root.
func (s system) dir() string { return "cmd/" + s.name }

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

func readPage(t *testing.T, name string) *markdown.Page {
	t.Helper()
	return markdown.New(name, read(t, name))
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

// tool runs a program in a directory, requires success and returns the output. The program is one
// on the PATH or, for name such as $ASHLAR_ENVOY, the one that a variable names.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servertest.Find(t, cmp.Or(os.ExpandEnv(name), name)), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v\n%s", cmd.Args, out)
	return string(out)
}

// documents reads YAML documents.
func documents(t *testing.T, text string) (all []any) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, doc)
	}
}

// at returns the value at a path in a document, such as "spec containers 0 image", or nil.
func at(node any, path string) any {
	for _, name := range strings.Fields(path) {
		if list, ok := node.([]any); ok {
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(list) {
				return nil
			}
			node = list[i]
			continue
		}
		object, _ := node.(map[string]any)
		node = object[name]
	}
	return node
}

// requireAt requires values at paths in a document.
func requireAt(t *testing.T, node any, want map[string]string) {
	t.Helper()
	for path, value := range want {
		require.Equal(t, value, fmt.Sprint(at(node, path)), path)
	}
}

// texts returns the object at a path as a map of strings.
func texts(node any, path string) map[string]string {
	all := map[string]string{}
	object, _ := at(node, path).(map[string]any)
	for name, value := range object {
		all[name] = fmt.Sprint(value)
	}
	return all
}

// TestDefaultsOfPorts checks that the ports used here are the defaults of the programs.
func TestDefaultsOfPorts(t *testing.T) {
	t.Parallel()
	s, err := settings.Parse(map[string]string{})
	require.NoError(t, err)
	require.Equal(t, ratelimitd().ports, strings.Fields(fmt.Sprintln(s.DebugPort, s.Port, s.GRPCPort, s.ScrapeAddr[1:])))
	require.Equal(t, ":"+inventoryd().ports[0], inventory.Default().Addr)
}
