package browsertest_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// publisher is the client of the public registry, unmodified. The module proxy has it.
const publisher = "github.com/modelcontextprotocol/registry/cmd/publisher@v1.8.9"

// published is a manifest of a real package.
const published = `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  "name": "com.example.lab/memory",
  "description": "A memory for agents",
  "version": "1.0.0",
  "packages": [
    {"registryType": "npm", "identifier": "@modelcontextprotocol/server-memory", "version": "2026.8.31", "transport": {"type": "stdio"},
     "environmentVariables": [{"name": "MEMORY_FILE_PATH", "format": "filepath", "isRequired": true}]}
  ]
}`

// workplace is a directory in which programs run, as a user who has it as the home directory.
type workplace struct {
	t   *testing.T
	dir string
}

// command returns a command in the workplace.
func (p *workplace) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), name, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "HOME="+p.dir, "PATH="+p.dir+":"+os.Getenv("PATH"))
	cmd.Stderr = p.t.Output()
	return cmd
}

// run runs a program of the workplace and returns its output, without the lines of errors.
func (p *workplace) run(name string, args ...string) (string, error) {
	out, err := p.command(filepath.Join(p.dir, name), args...).Output()
	return string(out), err
}

// must is run for a program that succeeds.
func (p *workplace) must(name string, args ...string) string {
	p.t.Helper()
	out, err := p.run(name, args...)
	require.NoError(p.t, err, "%s %q: %s", name, args, out)
	return out
}

func (p *workplace) write(name, text string) {
	require.NoError(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
}

// newWorkplace returns a workplace with the programs manifest and publisher.
func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	p := &workplace{t, t.TempDir()}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.dir, "../../manifest").CombinedOutput()
	require.NoError(t, err, "%s", out)
	install := exec.CommandContext(t.Context(), "go", "install", publisher)
	install.Env = append(os.Environ(), "GOBIN="+p.dir)
	if out, err = install.CombinedOutput(); err != nil && os.Getenv("ASHLAR_REQUIRE_SERVICES") != "1" {
		t.Skipf("THIS TEST DID NOT RUN: %s cannot be built: %s", publisher, out)
	}
	require.NoError(t, err, "%s", out)
	return p
}

// serve starts a registry and returns its address.
func (p *workplace) serve(args ...string) string {
	p.t.Helper()
	cmd := p.command(filepath.Join(p.dir, "manifest"), append([]string{"serve", "-addr", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() {
		assert.NoError(p.t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait() // the test does not depend on how it ends
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, address, found := strings.Cut(lines.Text(), "API      "); found {
			return strings.TrimSuffix(address, "/v0.1/servers")
		}
	}
	p.t.Fatal("the registry has no address")
	return ""
}

// initialize starts a program that is configured in VS Code's file and returns the name of the server that responds.
func (p *workplace) initialize(server string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, ".vscode", "mcp.json"))
	require.NoError(p.t, err)
	var file struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	require.NoError(p.t, json.Unmarshal(text, &file))
	entry, found := file.Servers[server]
	require.True(p.t, found, "%s", text)
	cmd := p.command(entry.Command, entry.Args...)
	for name, value := range entry.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	in, err := cmd.StdinPipe()
	require.NoError(p.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())
	defer time.AfterFunc(4*time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	_, err = in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"))
	require.NoError(p.t, err)
	var response struct {
		Result struct{ ServerInfo struct{ Name string } }
	}
	require.NoError(p.t, json.NewDecoder(out).Decode(&response))
	require.NoError(p.t, in.Close())
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
	return response.Result.ServerInfo.Name
}

// TestRegistryOfOthers: one command starts a registry that the publisher of the public registry fills, a page of another
// origin lists and mirrors copy; a server of it is installed into the file of an editor by name, and starts.
func TestRegistryOfOthers(t *testing.T) {
	t.Parallel()
	p := newWorkplace(t)
	p.write("tokens", "token-of-ann-0123456789 com.example com.example.*\n")
	p.write("server.json", published)
	url := p.serve("-publish", "-tokens", "tokens", "registry.db")

	_, err := p.run("publisher", "login", "github", "--token", "token-of-bob-0123456789", "--registry", url)
	require.Error(t, err)
	p.must("publisher", "login", "github", "--token", "token-of-ann-0123456789", "--registry", url)
	p.must("publisher", "validate")
	p.write("range.json", strings.ReplaceAll(published, "1.0.0", "^1.0.0"))
	out, err := p.run("publisher", "validate", "range.json")
	require.Error(t, err)
	require.Contains(t, out, "version-range")
	_, err = p.run("publisher", "publish", "range.json")
	require.Error(t, err)
	p.must("publisher", "publish")
	p.write("other.json", strings.ReplaceAll(published, "com.example.lab", "com.other"))
	_, err = p.run("publisher", "publish", "other.json")
	require.Error(t, err)
	p.must("publisher", "status", "--status", "deprecated", "--message", "old", "com.example.lab/memory", "1.0.0")
	p.must("publisher", "status", "--status", "active", "--all-versions", "-y", "com.example.lab/memory")

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>A page of another origin</title>"))
	}))
	t.Cleanup(other.Close)
	page := Open(t, other.URL, nil)
	for _, query := range []string{"?limit=1", "?limit=50&version=latest", "?limit=50&version=latest&search=memory"} {
		var list struct {
			Servers []struct{ Server struct{ Name string } }
		}
		page.Eval("fetch("+quote(url+"/v0.1/servers"+query)+", {headers: {Authorization: 'Bearer of-an-editor', 'Content-Type': 'application/json'}}).then(r => r.json())", &list)
		require.Len(t, list.Servers, 1, query)
		require.Equal(t, "com.example.lab/memory", list.Servers[0].Server.Name)
	}
	var refused string
	page.Eval("fetch("+quote(url+"/v0.1/publish")+", {method: 'POST', headers: {Authorization: 'Bearer token-of-ann-0123456789', 'Content-Type': 'application/json'}, body: '{}'}).then(r => 'sent', e => e.name)", &refused)
	require.Equal(t, "TypeError", refused, "a page of another origin may not publish")

	for _, form := range []string{"", "/v0.1", "/v0.1/servers"} {
		require.Contains(t, p.must("manifest", "mirror", url+form, "-to", "mirror.db"), " 0 unreadable", form)
	}
	p.must("manifest", "client", "-for", "vscode", "-from", p.serve("mirror.db"), "com.example.lab/memory", "-set", "MEMORY_FILE_PATH="+filepath.Join(p.dir, "memory.json"))
	require.Equal(t, "memory-server", p.initialize("memory"))
}
