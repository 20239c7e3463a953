package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// published are packages of tool servers that need no credentials, by the program that runs them.
var published = []struct {
	program, pack string
	set           []string
}{
	{"npx", `"npm","identifier":"@modelcontextprotocol/server-memory","version":"2026.8.31","runtimeHint":"npx","runtimeArguments":[{"type":"named","name":"--package","value":"@modelcontextprotocol/server-memory"},{"type":"positional","value":"mcp-server-memory"}]`, nil},
	{"npx", `"npm","identifier":"@modelcontextprotocol/server-sequential-thinking","version":"2026.8.31","runtimeArguments":[{"type":"named","name":"--yes"},{"type":"positional","value":"@modelcontextprotocol/server-sequential-thinking"}]`, nil},
	{"npx", `"npm","identifier":"@modelcontextprotocol/server-filesystem","version":"2026.8.31","packageArguments":[{"type":"positional","valueHint":"directory","isRepeated":true,"isRequired":true}]`, []string{"directory=."}},
	{"uvx", `"pypi","identifier":"mcp-server-time","version":"2026.10.19","packageArguments":[{"type":"named","name":"--local-timezone"}]`, []string{"local-timezone=Europe/Rome"}},
	{"uvx", `"pypi","identifier":"mcp-server-git","version":"2026.10.19","runtimeHint":"uvx","runtimeArguments":[{"type":"named","name":"--from","value":"mcp-server-git"},{"type":"positional","value":"mcp-server-git"}]`, nil},
	{"uv", `"pypi","identifier":"mcp-server-fetch","version":"2026.10.24","runtimeHint":"uv","packageArguments":[{"type":"named","name":"--user-agent","value":"test"}]`, nil},
	{"pipx", `"pypi","identifier":"mcp-server-calculator","version":"0.2.1","runtimeHint":"pipx"`, nil},
}

// launchers is a directory in which the programs of package managers run, without the settings and the caches of the
// user. ASHLAR_PYTHON_TOOLS is the directory of uvx, uv and pipx.
type launchers struct {
	t     *testing.T
	dir   string
	tools string
}

func newLaunchers(t *testing.T) *launchers {
	t.Helper()
	l := &launchers{t, t.TempDir(), os.Getenv("ASHLAR_PYTHON_TOOLS")}
	_, err := exec.LookPath("npx")
	for _, name := range []string{"uvx", "uv", "pipx"} {
		if _, missing := os.Stat(filepath.Join(l.tools, name)); missing != nil || l.tools == "" {
			err = exec.ErrNotFound
		}
	}
	if err == nil {
		err = exec.CommandContext(t.Context(), "unshare", "--net", "--map-root-user", "true").Run()
	}
	if err != nil {
		const what = "NO PUBLISHED SERVER WAS STARTED: npx and unshare must be on PATH, and ASHLAR_PYTHON_TOOLS must be a directory with uvx, uv and pipx"
		require.NotEqual(t, "1", os.Getenv("ASHLAR_REQUIRE_SERVICES"), what)
		t.Skip(what)
	}
	return l
}

// command returns a command that runs in the directory. What Python packages depend on is of a day, so that it stays the same.
func (l *launchers) command(ctx context.Context, argv []string, env ...string) *exec.Cmd {
	program := argv[0]
	if own := filepath.Join(l.tools, program); slices.Contains([]string{"uvx", "uv", "pipx"}, program) {
		program = own
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Dir, cmd.WaitDelay = l.dir, 5*time.Second
	cmd.Env = append(env, "HOME="+l.dir, "PATH="+l.tools+":"+os.Getenv("PATH"), "UV_PYTHON_DOWNLOADS=never", "UV_SYSTEM_CERTS=1", "UV_EXCLUDE_NEWER=2026-11-01",
		"npm_config_ignore_scripts=true", "npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false")
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
		if value := os.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// initialize downloads what a command needs by another one, starts it without a network, and returns the name that the
// server gives itself, or what went wrong.
func (l *launchers) initialize(download, argv, env []string) (name, wrong string) {
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := l.command(ctx, download).CombinedOutput(); err != nil {
		return "", strings.Join(download, " ") + ": " + err.Error() + ": " + string(out)
	}
	cmd := l.command(ctx, append([]string{"unshare", "--net", "--map-root-user"}, argv...), append(env, "npm_config_offline=true", "UV_OFFLINE=1")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	require.NoError(l.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(l.t, err)
	require.NoError(l.t, cmd.Start())
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n")
	var response struct {
		Result struct{ ServerInfo struct{ Name string } }
	}
	err = json.NewDecoder(out).Decode(&response)
	_ = in.Close()
	cancel() // a server may wait for more
	_ = cmd.Wait()
	if err != nil {
		return "", strings.Join(argv, " ") + ": " + err.Error() + ": " + errs.String()
	}
	return response.Result.ServerInfo.Name, ""
}

// resolved is what resolve and bundle print with -reveal.
func resolved(t *testing.T, stdin string, args ...string) (argv, env []string) {
	t.Helper()
	code, out, errs := execute(t, stdin, append(args, "-format", "json", "-reveal")...)
	require.Zero(t, code, errs)
	var plan struct{ Argv, Env []string }
	require.NoError(t, json.Unmarshal([]byte(out), &plan))
	return plan.Argv, plan.Env
}

// TestPublishedServersStart starts packages of both indexes and a bundle of the kind uv by what resolve and bundle print. Only
// the package manager has a network.
func TestPublishedServersStart(t *testing.T) {
	if testing.Short() {
		t.Skip("downloads packages")
	}
	for _, index := range []string{"npm", "pypi"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			l := newLaunchers(t)
			var failed []string
			started := map[string]int{}
			start := func(program string, download, argv, env []string) {
				name, wrong := l.initialize(download, argv, env)
				switch {
				case wrong != "":
					failed = append(failed, wrong)
				case assert.NotEmpty(t, name):
					started[program]++
				}
			}
			for _, p := range published {
				if !strings.HasPrefix(p.pack, `"`+index) {
					continue
				}
				args := []string{"resolve", "-"}
				for _, set := range p.set {
					args = append(args, "-set", set)
				}
				argv, env := resolved(t, `{"name":"com.example/x","description":"d","version":"1.0.0","packages":[{"registryType":`+p.pack+`,"transport":{"type":"stdio"}}]}`, args...)
				require.Equal(t, p.program, argv[0])
				spec := slices.IndexFunc(argv, func(word string) bool { return strings.LastIndexAny(word, "@=") > 0 })
				download := append(slices.Clone(argv[:spec+1]), "python", "-c", "")
				if index == "npm" {
					download = []string{"npx", "-y", "--package", argv[spec], "--", "node", "-e", ""}
				}
				start(p.program, download, argv, env)
			}
			if index == "pypi" {
				dir := filepath.Join(l.dir, "bundle")
				file, sum := uvBundle(t)
				argv, env := resolved(t, "", "bundle", "-sha256", sum, "-unpack", dir, file)
				start("bundle", []string{"uv", "sync", "--directory", dir}, argv, env)
			}
			t.Logf("started: %v", started)
			require.Empty(t, failed, "%d do not start: %s", len(failed), strings.Join(failed, "\n"))
		})
	}
}

// uvBundle writes a bundle whose server uv runs, with a package that it depends on, and returns its path and SHA-256.
func uvBundle(t *testing.T) (file, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"manifest.json":  `{"manifest_version":"0.4","name":"x","version":"1.0.0","description":"d","author":{"name":"a"},"server":{"type":"uv","entry_point":"src/server.py"}}`,
		"pyproject.toml": "[project]\nname = \"x\"\nversion = \"1.0.0\"\nrequires-python = \">=3.10\"\ndependencies = [\"idna==3.11\"]\n",
		"src/server.py":  "import json, sys, idna\nid = json.loads(sys.stdin.readline())[\"id\"]\nprint(json.dumps({\"jsonrpc\": \"2.0\", \"id\": id, \"result\": {\"serverInfo\": {\"name\": \"idna \" + idna.__version__}}}))\n",
	} {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	file = filepath.Join(t.TempDir(), "x.mcpb")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	hash := sha256.Sum256(b.Bytes())
	return file, hex.EncodeToString(hash[:])
}
