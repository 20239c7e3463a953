//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noTools skips the test, or fails it if ASHLAR_REQUIRE_SERVICES is 1.
func noTools(t *testing.T, format string, args ...any) {
	t.Helper()
	what := "NO OPENAPI TOOLS, so the documents are not tested with them: " + fmt.Sprintf(format, args...)
	if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// npmTools returns the directory with the commands of the npm packages that .ci/run installs.
func npmTools(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		noTools(t, "node is not on PATH")
	}
	dir := os.Getenv("ASHLAR_OPENAPI_TOOLS_DIR")
	if dir == "" {
		noTools(t, "ASHLAR_OPENAPI_TOOLS_DIR, the node_modules of .ci/run, is not set")
	}
	for _, name := range []string{"redocly", "spectral", "openapi-typescript", "tsc"} {
		if _, err := os.Stat(filepath.Join(dir, ".bin", name)); err != nil {
			noTools(t, "%v", err)
		}
	}
	return filepath.Join(dir, ".bin")
}

// tool runs a program in a directory and requires the exit code 0. It returns the output.
func tool(t *testing.T, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, args, out)
	return string(out)
}

// TestOpenAPITools checks the documents of inventoryd and bookcatalogd with linters and
// generators of other projects. The rules are in testdata/openapi: warnings are errors.
func TestOpenAPITools(t *testing.T) {
	t.Parallel()
	inventory := startInventory(t, filepath.Join(t.TempDir(), "inventory.db"), map[string]string{
		"OIDC_ISSUER": "https://localhost:1", "OIDC_CLIENT_ID": "inventory", "OIDC_REDIRECT_URL": "https://localhost/users/oidc/callback",
	})
	catalog := start(t, nil, "bookcatalogd", "-addr", "127.0.0.1:0")
	books := catalog.waitFor(catalog.stderr, `(http://[0-9.:]+)/api/books, `)[1]
	dir, err := filepath.Abs(t.TempDir())
	require.NoError(t, err)
	for name, url := range map[string]string{"inventory": inventory.url, "books": books} {
		code, text := httpDo(t, http.MethodGet, url+"/openapi.json", "")
		require.Equal(t, 200, code, text)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600))
	}
	rules, err := filepath.Abs("testdata/openapi")
	require.NoError(t, err)
	quiet := []string{"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1"}
	t.Run("redocly", func(t *testing.T) {
		t.Parallel()
		tool(t, dir, quiet, filepath.Join(npmTools(t), "redocly"), "lint", "--config", filepath.Join(rules, "redocly.yaml"), "inventory.json", "books.json")
	})
	t.Run("spectral", func(t *testing.T) {
		t.Parallel()
		tool(t, dir, quiet, filepath.Join(npmTools(t), "spectral"), "lint", "--fail-severity", "warn", "--ruleset", filepath.Join(rules, "spectral.yaml"), "inventory.json", "books.json")
	})
	t.Run("openapi-typescript", func(t *testing.T) {
		t.Parallel()
		npm := npmTools(t)
		for _, name := range []string{"inventory", "books"} {
			tool(t, dir, quiet, filepath.Join(npm, "openapi-typescript"), name+".json", "-o", name+".ts")
		}
		usage, err := os.ReadFile(filepath.Join(rules, "usage.ts"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "usage.ts"), usage, 0o600))
		tool(t, dir, quiet, filepath.Join(npm, "tsc"), "--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "usage.ts")
	})
	t.Run("oapi-codegen", func(t *testing.T) {
		t.Parallel()
		testGoClient(t, inventory, books, dir)
	})
}

// testGoClient generates packages from the documents and runs a program that makes calls with
// them. It is a module of its own, which pins the generator.
func testGoClient(t *testing.T, inventory *inventory, books, documents string) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/openapi/client")))
	environ := []string{"GOWORK=off", "INVENTORY_URL=" + inventory.url, "INVENTORY_PASSWORD=" + inventoryPassword, "BOOKS_URL=" + books}
	download := exec.CommandContext(t.Context(), "go", "mod", "download")
	download.Dir = dir
	if out, err := download.CombinedOutput(); err != nil {
		noTools(t, "the modules of the generator can't be downloaded: %v\n%s", err, out)
	}
	for _, name := range []string{"inventory", "books"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		tool(t, dir, environ, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", name,
			"-o", filepath.Join(name, "client.go"), filepath.Join(documents, name+".json"))
	}
	code, err := os.ReadFile(filepath.Join(dir, "inventory", "client.go"))
	require.NoError(t, err)
	lines := len(regexp.MustCompile(`(?m)^\s*[^/\s].*$`).FindAll(code, -1))
	t.Logf("%d lines for all operations of the inventory, without comments and blank lines", lines)
	require.Less(t, lines, 58_000, "the document grows faster than the API")
	out := tool(t, dir, environ, "go", "run", ".")
	require.Equal(t, strings.TrimPrefix(`
login: admin admin
location: Site
device: sw1 active 1
listed: sw1 1 of 1
changed: offline 2
refused: error
book: Emma 1
`, "\n"), out)
}
