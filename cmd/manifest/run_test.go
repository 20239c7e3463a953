package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workspace changes to a directory with the files of testdata and the examples of package
// manifest. It returns the directory of the golden files.
func workspace(t *testing.T) (golden string) {
	t.Helper()
	golden, err := filepath.Abs(filepath.Join("testdata", "golden"))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, from := range []string{"testdata", filepath.Join("..", "..", "manifest", "testdata", "examples")} {
		require.NoError(t, os.CopyFS(dir, files(t, from)))
	}
	t.Chdir(dir)
	return golden
}

// files returns the files of a directory, without subdirectories.
func files(t *testing.T, dir string) fs.FS {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	flat := fstest.MapFS{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			require.NoError(t, err)
			flat[e.Name()] = &fstest.MapFile{Data: data, Mode: 0o644}
		}
	}
	return flat
}

// execute runs the program.
func execute(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.Env{Args: args, Environ: map[string]string{"TOKEN": "hunter2", "HOME": os.Getenv("HOME")}, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs}
	code = cli.Run(t.Context(), "manifest", run, env)
	return code, out.String(), errs.String()
}

// TestGolden compares what the program prints with testdata/golden, and its exit code.
func TestGolden(t *testing.T) {
	golden := workspace(t)
	local := []string{"resolve", "local.json", "--package", "0", "-set", "city=Rome", "-set", "city=São Paulo"}
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"help", 0, []string{"help"}},
		{"help validate", 0, []string{"help", "validate"}},
		{"help resolve", 0, []string{"resolve", "-h"}},
		{"validate", 0, []string{"validate", "local.json", "remote.json"}},
		{"validate broken", 1, []string{"validate", "broken.json"}},
		{"validate color", 1, []string{"validate", "--color=always", "broken.json"}},
		{"validate registry", 1, []string{"validate", "broken.json", "--profile", "registry", "-max-problems=2"}},
		{"validate strict", 1, []string{"validate", "-strict", "-profile=registry", "old.json"}},
		{"validate declared", 0, []string{"validate", "-profile=declared", "old.json"}},
		{"validate json", 1, []string{"validate", "-format=json", "broken.json", "local.json"}},
		{"validate sarif", 1, []string{"validate", "-format=sarif", "broken.json"}},
		{"validate github", 1, []string{"validate", "-format=github", "broken.json"}},
		{"resolve missing", 1, []string{"resolve", "local.json"}},
		{"resolve missing json", 1, []string{"resolve", "local.json", "-format", "json"}},
		{"resolve", 0, append(local, "-set", "WEATHER_API_KEY=hunter2")},
		{"resolve env file", 0, []string{"resolve", "local.json", "-env-file", "values.env", "-set", "--units=imperial"}},
		{"resolve json", 0, append(local, "-set", "WEATHER_API_KEY=hunter2", "-format", "json")},
		{"resolve reveal", 0, append(local, "-set", "WEATHER_API_KEY=hunter2", "-format", "json", "-reveal")},
		{"resolve container", 0, []string{"resolve", "container.json", "-set", "notes=notes", "-set", "token=hunter2", "-dir", "/home/ann"}},
		{"resolve bundle", 0, []string{"resolve", "container.json", "-package", "1"}},
		{"resolve remote", 0, []string{"resolve", "remote.json", "-remote", "0", "-set", "workspace=acme", "-set", "token=hunter2", "-set", "region=us"}},
		{"resolve bad values", 1, []string{"resolve", "remote.json", "-set", "workspace=..", "-set", "region=mars", "-set", "tokn=x"}},
		{"resolve invalid", 0, []string{"resolve", "broken.json"}},
		{"inputs", 0, []string{"resolve", "local.json", "-inputs"}},
		{"inputs json", 0, []string{"resolve", "remote.json", "-inputs", "-format=json"}},
		{"inputs schema", 0, []string{"resolve", "remote.json", "-inputs", "-format=schema"}},
		{"fix", 0, []string{"fix", "-n", "broken.json"}},
		{"migrate", 0, []string{"migrate", "-n", "old.json"}},
		{"client", 0, []string{"client", "-for", "vscode", "-dry-run", "local.json", "-set", "city=Rome"}},
		{"client remote", 0, []string{"client", "-for=cursor", "-dry-run", "remote.json", "-remote=0", "-set", "workspace=acme", "-set", "region=us"}},
		{"client secret", 1, []string{"client", "-for", "codex", "local.json", "-set", "city=Rome", "-set", "WEATHER_API_KEY=hunter2"}},
		{"client no place", 1, []string{"client", "-for", "claude-desktop", "-file", "x", "remote.json", "-remote=0", "-set", "workspace=acme", "-set", "region=us"}},
		{"client bundle", 1, []string{"client", "-for", "zed", "container.json", "-package", "1"}},
		{"help diff", 0, []string{"help", "diff"}},
		{"migrate undated", 0, []string{"migrate", "-n", "remote.json"}},
		{"fmt check", 1, []string{"fmt", "-check", "old.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := execute(t, "", c.args...)
			assert.Equal(t, c.code, code, "%s%s", out, errs)
			got := out
			if errs != "" {
				got += "---- stderr\n" + errs
			}
			golden := filepath.Join(golden, strings.ReplaceAll(c.name, " ", "-")+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
			if c.name != "resolve reveal" {
				assert.NotContains(t, got, "hunter2", "a secret is shown")
			}
		})
	}
}

func TestUsage(t *testing.T) {
	workspace(t)
	require.NoError(t, os.Mkdir("golden", 0o700))
	for _, c := range []struct {
		why, want string
		args      []string
	}{
		{"no command", "missing command", nil},
		{"an unknown command", `unknown command "lint"`, []string{"lint"}},
		{"an unknown topic", `unknown command "lint"`, []string{"help", "lint"}},
		{"no file", "name a file", []string{"validate"}},
		{"a missing file", "nowhere.json", []string{"validate", "nowhere.json"}},
		{"a pattern without a match", `no file matches "*.xml"`, []string{"validate", "*.xml"}},
		{"a directory without manifests", "no server.json in golden", []string{"validate", "golden"}},
		{"an unknown profile", "use neutral, 2025-09-29", []string{"validate", "-profile", "x", "local.json"}},
		{"an unknown format", "use text, json, sarif, github", []string{"validate", "-format", "x", "local.json"}},
		{"an unknown flag", "unknown shorthand", []string{"fmt", "-x", "local.json"}},
		{"two files", "name one file", []string{"resolve", "local.json", "remote.json"}},
		{"both kinds", "exclude each other", []string{"resolve", "-package", "0", "-remote", "0", "local.json"}},
		{"no such package", "no package 7", []string{"resolve", "-package", "7", "local.json"}},
		{"no remote", "no remote 0", []string{"resolve", "-remote", "0", "local.json"}},
		{"secrets in text", "-reveal needs -format json", []string{"resolve", "-reveal", "local.json"}},
		{"a schema of a plan", "-format schema needs -inputs", []string{"resolve", "-format=schema", "local.json"}},
		{"no value", `"NOPE" has no =value`, []string{"resolve", "-set", "NOPE", "local.json"}},
		{"no env file", "no.env", []string{"resolve", "-env-file", "no.env", "local.json"}},
		{"a bad env file", "line 1", []string{"resolve", "-env-file", "local.json", "local.json"}},
		{"no program", "-for: claude, claude-desktop", []string{"client", "local.json"}},
		{"an unknown program", `did you mean "windsurf"?`, []string{"client", "-for", "windsrf", "local.json"}},
		{"a manifest and -remove", "-remove", []string{"client", "-for", "zed", "-remove", "x", "local.json"}},
		{"two files to change", "-file and -user", []string{"client", "-for", "zed", "-user", "-file", "x", "local.json"}},
		{"a file for init", "no arguments", []string{"init", "x"}},
		{"an existing file", "local.json already exists", []string{"init", "-o", "local.json"}},
	} {
		code, out, errs := execute(t, "", c.args...)
		assert.Equal(t, cli.ExitUsage, code, c.why)
		assert.Contains(t, errs, c.want, c.why)
		assert.Empty(t, out, c.why)
	}
}

// TestClient writes the files of projects and of users, changes nothing the second time, and removes
// what it added.
func TestClient(t *testing.T) {
	workspace(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, c := range []struct {
		args []string
		file string
	}{
		{[]string{"client", "-for", "vscode"}, filepath.Join(".vscode", "mcp.json")},
		{[]string{"client", "-for", "goose"}, filepath.Join(home, ".config", "goose", "config.yaml")},
		{[]string{"client", "-for", "codex", "-user"}, filepath.Join(home, ".codex", "config.toml")},
		{[]string{"client", "-for", "cursor", "-file", "mine.json"}, "mine.json"},
	} {
		add := append(c.args, "-name=rome", "-set", "city=Rome", "local.json")
		code, out, errs := execute(t, "", append(add, "-dry-run")...)
		assert.Equal(t, 0, code, "%s%s", out, errs)
		assert.NoFileExists(t, c.file)

		code, out, errs = execute(t, "", add...)
		assert.Equal(t, 0, code, "%s%s", out, errs)
		assert.Contains(t, strings.ToLower(out), "api", "what a person has to provide")
		added, err := os.ReadFile(c.file)
		require.NoError(t, err)
		assert.Contains(t, string(added), "@example/weather@1.4.2")
		info, err := os.Stat(c.file)
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

		code, out, _ = execute(t, "", add...)
		assert.Equal(t, 0, code)
		assert.Contains(t, out, "nothing to change")

		code, out, errs = execute(t, "", append(c.args, "-remove", "rome")...)
		assert.Equal(t, 0, code, "%s%s", out, errs)
		left, err := os.ReadFile(c.file)
		require.NoError(t, err)
		assert.NotContains(t, string(left), "weather")
	}
	require.NoError(t, os.WriteFile(".mcp.json", []byte("{\n  // mine\n  \"mcpServers\": {}\n}\n"), 0o600))
	add := []string{"client", "-for", "claude", "-set", "city=Rome", "local.json"}
	code, _, errs := execute(t, "", add...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, ".mcp.json:2:3: warning: ")
	code, out, errs := execute(t, "", append(add, "-mend")...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "-  // mine")
	mended, err := os.ReadFile(".mcp.json")
	require.NoError(t, err)
	require.True(t, json.Valid(mended), "%s", mended)
}

// TestDiffRisk has an exit code for the gravest change.
func TestDiffRisk(t *testing.T) {
	workspace(t)
	text, err := os.ReadFile("local.json")
	require.NoError(t, err)
	for _, c := range []struct {
		code     int
		want     string
		old, new string
	}{
		{0, "", "", ""},
		{0, "text     /description: description is another one\n", `"description": "`, `"description": "The `},
		{14, "secret   /packages/0/environmentVariables/0: a new secret: \"TOKEN\"\n", `"environmentVariables": [`, `"environmentVariables": [{"name": "TOKEN", "isSecret": true},`},
		{18, "content  /packages/0/version: another package under the same version of the server\n", `"version": "1.4.2",
      "`, `"version": "1.4.3",
      "`},
	} {
		changed := strings.Replace(string(text), c.old, c.new, 1)
		require.NoError(t, os.WriteFile("new.json", []byte(changed), 0o600))
		code, out, errs := execute(t, "", "diff", "local.json", "new.json")
		assert.Equal(t, c.code, code, "%s", errs)
		assert.Equal(t, c.want, out)
		assert.Empty(t, errs)
	}
	code, _, errs := execute(t, "", "diff", "local.json")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "older")
}

// TestPublishing is the session of a publisher: from a project whose files differ to one that is
// ready.
func TestPublishing(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(file, text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("server.json", `{
  "$schema": "`+manifest.CurrentSchema+`",
  "name": "io.github.ann/weather",
  "description": "Tells the weather",
  "version": "1.2.3",
  "packages": [{"registryType": "npm", "identifier": "@ann/weather", "version": "1.2.3", "transport": {"type": "stdio"}}]
}
`)
	write("package.json", "{\n  \"name\": \"@ann/weather\",\n  \"version\": \"1.2.2\"\n}\n")

	code, out, errs := execute(t, "", "sync", "-check")
	assert.Equal(t, 1, code, errs)
	assert.Regexp(t, `^package.json: .*"1\.2\.2".*"1\.2\.3"\npackage.json: .*"io.github.ann/weather" is missing\n$`, out)
	code, out, _ = execute(t, "", "publish-check")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "server name")
	code, out, errs = execute(t, "", "bump", "minor")
	assert.Equal(t, 0, code, errs)
	assert.Contains(t, out, `+  "version": "1.3.0"`)
	text, err := os.ReadFile("package.json")
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"name\": \"@ann/weather\",\n  \"version\": \"1.3.0\",\n  \"mcpName\": \"io.github.ann/weather\"\n}\n", string(text))
	code, out, errs = execute(t, "", "sync")
	assert.Equal(t, 0, code, errs)
	assert.Contains(t, out, "1 package file")

	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/@ann%2Fweather/1.3.0" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"mcpName": "io.github.bob/weather"}`)
	}))
	defer registry.Close()
	code, out, errs = execute(t, "", "publish-check", "-registry", registry.URL, "-packages", "npm="+registry.URL)
	assert.Equal(t, 1, code, errs)
	assert.Contains(t, out, `server.json:6:16: `)
	code, out, _ = execute(t, "", "publish-check", "-registry", registry.URL)
	assert.Equal(t, 0, code)
	assert.Contains(t, out, "ready to publish")

	code, _, errs = execute(t, "", "bump", "-n", "^2.0")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, `"^2.0"`)
	code, _, errs = execute(t, "", "bump")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "name the version")
}

// TestBundle shows the plan of a bundle file, and unpacks it.
func TestBundle(t *testing.T) {
	t.Chdir(t.TempDir())
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"manifest.json": `{"manifest_version": "0.3", "name": "x", "version": "1.0.0", "description": "d", "author": {"name": "a"},
			"server": {"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["i.js"], "env": {"KEY": "${user_config.key}"}}},
			"user_config": {"key": {"type": "string", "title": "The key", "sensitive": true, "required": true}}}`,
		"i.js": "//",
	} {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile("x.mcpb", b.Bytes(), 0o600))
	hash := sha256.Sum256(b.Bytes())
	sum := hex.EncodeToString(hash[:])

	code, _, errs := execute(t, "", "bundle", "x.mcpb")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "-sha256 is missing")
	code, _, errs = execute(t, "", "bundle", "-sha256", strings.Repeat("0", 64), "x.mcpb")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, errs, "another file")
	code, out, _ := execute(t, "", "bundle", "-sha256", sum, "-inputs", "x.mcpb")
	assert.Equal(t, 0, code)
	assert.Equal(t, "key (string, required, secret)\n      The key\n", out)
	code, out, errs = execute(t, "", "bundle", "-sha256", sum, "x.mcpb")
	assert.Equal(t, 1, code)
	assert.Regexp(t, `^x\.mcpb: "key" .*required.*\n.*-set 'key=\.\.\.'\n$`, errs)
	assert.Empty(t, out)
	code, out, errs = execute(t, "", "bundle", "-sha256", sum, "-set", "key=hunter2", "-unpack", "to", "x.mcpb")
	assert.Equal(t, 0, code, errs)
	assert.Contains(t, out, filepath.Join("to", "i.js"))
	assert.NotContains(t, out, "hunter2")
	assert.FileExists(t, filepath.Join("to", "i.js"))
}

// TestSources reads directories, patterns and the standard input.
func TestSources(t *testing.T) {
	t.Chdir(t.TempDir())
	valid := `{"name":"a/b","description":"d","version":"1"}`
	for _, name := range []string{"server.json", "sub/weather.server.json", "sub/other.json", ".git/server.json", "node_modules/x/server.json"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(valid), 0o600))
	}
	for want, args := range map[string][]string{
		"2 manifests": {"validate", "."},
		"1 manifest:": {"validate", "sub/o*.json"},
		"3 manifests": {"validate", "sub/*.json", "./server.json", "server.json"},
		"4 manifests": {"validate", "-", ".", "sub/other.json"},
	} {
		code, out, errs := execute(t, valid, args...)
		assert.Zero(t, code, errs)
		assert.Contains(t, out, want, args)
	}
	code, out, _ := execute(t, "{", "validate", "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "<stdin>:1:2: error: unexpected end")
}

// TestFilesAreChanged checks that fmt, fix and migrate write what they show.
func TestFilesAreChanged(t *testing.T) {
	for _, c := range []struct {
		command, file string
		code          int
	}{{"fmt", "old.json", 0}, {"fix", "broken.json", 0}, {"migrate", "old.json", 0}} {
		before, err := os.ReadFile(filepath.Join("testdata", c.file))
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "server.json")
		require.NoError(t, os.WriteFile(path, before, 0o600))
		require.NoError(t, os.Chmod(path, 0o640), "whatever the umask is")
		link := path + ".link"
		require.NoError(t, os.Symlink(path, link))

		code, _, errs := execute(t, "", c.command, link)
		assert.Equal(t, c.code, code, "%s: %s", c.command, errs)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NotEqual(t, string(before), string(after), c.command)
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.EqualValues(t, 0o640, info.Mode().Perm(), "the file keeps its permissions")

		_, piped, _ := execute(t, string(before), c.command, "-")
		assert.Equal(t, string(after), piped, "%s writes the same to a pipe", c.command)
		execute(t, "", c.command, path)
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(after), string(again), "%s twice is %s once", c.command, c.command)
		assert.Equal(t, c.command == "migrate", len(manifest.Validate(again, nil).Problems) == 0)
	}
}

// TestFixesAll applies many fixes, also after errors without a fix.
func TestFixesAll(t *testing.T) {
	workspace(t)
	inputs := strings.Repeat(`{"name":"{{N}}","is_required":true},`, 700) + `{"name":"N"}`
	text := `{"name":"a/b","description":"d","version":"^1","packages":[{"registryType":"npm","identifier":"i","transport":{"type":"stdio"},"environmentVariables":[` + inputs + `]}],"icons":[` + strings.Repeat("0,", 150) + `0]}`
	code, out, errs := execute(t, text, "fix", "-")
	assert.Equal(t, 1, code)
	assert.Equal(t, 700, strings.Count(out, `"isRequired"`))
	assert.NotContains(t, out, "is_required")
	assert.Contains(t, errs, "151 errors left")
}

// TestSecretsOfWrongManifests checks that a secret is not shown if the member isSecret itself is wrong.
func TestSecretsOfWrongManifests(t *testing.T) {
	for _, member := range []string{`"IsSecret":true`, `"is_secret":true`, `"isSecret":"true"`, `"isSecret":1`, `"isSecret":true,"isSecret":false`, `"isSecret":true,"Default":"hunter2"`} {
		for _, wrong := range []string{"", ","} { // as it is, and not even JSON
			text := `{"name":"a/b","description":"d","version":"1","remotes":[{"type":"sse","url":"https://e.com","headers":[{"name":"A","default":"hunter2",` + member + `}]}` + wrong + `]}`
			_, out, errs := execute(t, text, "validate", "-")
			assert.Contains(t, out, "<stdin>:1:", member)
			assert.NotContains(t, out+errs, "hunter2", member)
		}
	}
}

// TestFormatKeepsTokens checks that keys keep their order, strings and numbers their spelling.
func TestFormatKeepsTokens(t *testing.T) {
	_, out, _ := execute(t, `{"z":[1.0,1e2,{}],"a":"\u00e9<>","b":[ ]}`, "fmt", "-")
	assert.Equal(t, "{\n  \"z\": [\n    1.0,\n    1e2,\n    {}\n  ],\n  \"a\": \"\\u00e9<>\",\n  \"b\": []\n}\n", out)
	code, out, errs := execute(t, `{"a":1,}`, "fmt", "-")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "trailing comma")
}

// TestSetFromEnvironment sets a secret without the command line.
func TestSetFromEnvironment(t *testing.T) {
	text := `{"name":"a/b","description":"d","version":"1","remotes":[{"type":"sse","url":"https://e.com","headers":[{"name":"TOKEN","isSecret":true}]}]}`
	code, out, errs := execute(t, text, "resolve", "-", "-set", "TOKEN", "-format=json", "-reveal")
	require.Zero(t, code, errs)
	require.JSONEq(t, `{"type":"sse","url":"https://e.com","headers":[["TOKEN","hunter2"]]}`, out)
}

// TestResolveDoubts checks -strict, the severity of notices, and the position of a token that no
// variable declares.
func TestResolveDoubts(t *testing.T) {
	text := `{"name":"a/b","description":"d","version":"1","packages":[{"registryType":"npm","identifier":"w","version":"1.0.0","transport":{"type":"stdio"},
		"runtimeArguments":[{"type":"positional","value":"mcp"}]}],"remotes":[{"type":"sse","url":"https://e.com",
		"headers":[{"name":"Authorization","value":"Bearer {api_key}"}]}]}`
	code, out, errs := execute(t, text, "resolve", "-")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "  npx -y w@1.0.0 mcp\nWarning: \"mcp\" ")
	code, _, errs = execute(t, text, "resolve", "-strict", "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "2:23: \"mcp\" ")
	code, out, errs = execute(t, text, "resolve", "-os", "windows", "-format", "json", "-reveal", "-")
	require.Zero(t, code, errs)
	require.JSONEq(t, `{"argv":["cmd","/c","npx","-y","w@1.0.0","mcp"],"env":[],"transport":"stdio"}`, out)
	code, _, errs = execute(t, strings.Replace(text, `"mcp"}]`, `"mcp"},{"type":"positional","value":"%PATH%"}]`, 1), "resolve", "-os", "windows", "-format", "json", "-reveal", "-")
	assert.Equal(t, 1, code, errs)
	code, out, errs = execute(t, text, "resolve", "-inputs", "-remote", "0", "-")
	require.Zero(t, code, errs)
	assert.Equal(t, "api_key (string, required, secret)\n", out)
	code, _, errs = execute(t, text, "resolve", "-remote", "0", "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "3:14: \"api_key\" is required")
}

// TestInit checks that questions are repeated after wrong answers, and that the result is valid.
func TestInit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.json")
	answers := []string{
		"weather", "com.example/weather", "", strings.Repeat("x", 101), "Tells the weather", "^1", "1.4.2", "example.com", "https://example.com",
		"gem", "npm", "@example/weather", "latest", "", "", "WEATHER_API_KEY", "The key", "yes", "yes", "",
	}
	code, out, errs := execute(t, strings.Join(answers, "\n")+"\n", "init", "-o", path)
	require.Zero(t, code, errs)
	require.Empty(t, out)
	for _, want := range []string{"has no slash", "at most 100", "which is a range", "not a URI", "use one of npm", "is latest"} {
		assert.Contains(t, errs, want)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, manifest.Validate(data, &manifest.Options{Profile: manifest.Registry}).Err())
	var s manifest.Server
	require.NoError(t, json.Unmarshal(data, &s))
	require.Equal(t, "1.4.2", *s.Packages[0].Version)
	require.True(t, *s.Packages[0].EnvironmentVariables[0].IsSecret)

	code, out, errs = execute(t, "com.example/w\n\nd\n\n\nremote\nsse\nhttps://e.com/sse\n\n", "init", "-o", "-")
	require.Zero(t, code, errs)
	require.NoError(t, manifest.Validate([]byte(out), nil).Err())
	code, _, errs = execute(t, "com.example/w\n", "init", "-o", "-")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "answer")
}

// TestInitOfAProject takes what the files of a project say: with questions, and without.
func TestInitOfAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"pyproject.toml": "[project]\nname = \"ann-weather\"\nversion = \"1.2.3\"\ndescription = \"Tells the weather\"\n",
		".git/config":    "[remote \"origin\"]\n\turl = git@github.com:ann/weather.git\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	code, out, errs := execute(t, strings.Repeat("\n", 7), "init", "-o", "-")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "Name, such as com.example/weather [io.github.ann/weather]: ")
	require.Contains(t, errs, "  found: pypi ann-weather 1.2.3\n")
	code, same, errs := execute(t, "", "init", "-yes", "-o", "-")
	require.Zero(t, code, errs)
	require.Equal(t, out, same)
	require.NoError(t, manifest.Validate([]byte(out), &manifest.Options{Profile: manifest.Registry}).Err())
	require.Contains(t, out, `"identifier": "ann-weather"`)

	require.NoError(t, os.Remove("pyproject.toml"))
	code, _, errs = execute(t, "", "init", "-yes")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "without -yes")
	require.NoFileExists(t, "server.json")
}

// TestInitRefuses checks that a package has a name.
func TestInitRefuses(t *testing.T) {
	answers := []string{"com.example/w", "", "d", "", "", "npm", "", " ", "@example/w", "", "", ""}
	code, out, errs := execute(t, strings.Join(answers, "\n")+"\n", "init", "-o", "-")
	require.Zero(t, code, errs)
	require.Equal(t, 2, strings.Count(errs, "packages[0].identifier is empty"), errs)
	require.Contains(t, out, `"identifier": "@example/w"`)
}

// TestResolveSoundParts resolves parts of manifests that are not valid as a whole.
func TestResolveSoundParts(t *testing.T) {
	const npm, broken = `{"registryType":"npm","identifier":"good","version":"1.0.0","transport":{"type":"stdio"}}`, `{"registryType":"npm","identifier":"bad","version":"^","transport":{"type":"stdio"}}`
	const remote, lost = `{"type":"sse","url":"https://e.com"}`, `{"type":"sse","url":"e.com"}`
	for _, c := range []struct {
		why, packages, remotes string
		args                   []string
		code                   int
		out, errs              string
	}{
		{"the root has errors", npm, "", nil, 0, "good@1.0.0", "2 errors"},
		{"another part has errors", npm + "," + broken, lost, nil, 0, "good@1.0.0", "other parts have 4 errors"},
		{"the first one has errors", broken + "," + npm, "", nil, 0, "good@1.0.0", "resolving package 1"},
		{"the chosen one has errors", broken + "," + npm, "", []string{"-package=0"}, 1, "", `packages[0].version`},
		{"all have errors", broken, remote, nil, 1, "", `packages[0].version`},
		{"a remote", broken, lost + "," + remote, []string{"-remote=1"}, 0, "https://e.com", "other parts have 4 errors"},
		{"the first remote has errors", "", lost + "," + remote, nil, 0, "https://e.com", "remote 0 has errors"},
		{"nothing", "", "", nil, 1, "", `missing required key "name"`},
	} {
		text := `{"description":5,"version":"1","packages":[` + c.packages + `],"remotes":[` + c.remotes + `]}`
		code, out, errs := execute(t, text, append([]string{"resolve", "-"}, c.args...)...)
		assert.Equal(t, c.code, code, c.why)
		assert.Contains(t, out, c.out, c.why)
		assert.Contains(t, errs, c.errs, c.why)
		assert.Equal(t, c.code != 0, out == "", c.why)
	}
}

// TestLimits checks the limits of the commands, which are larger than those of the library.
func TestLimits(t *testing.T) {
	const start, end = `{"$schema":"` + manifest.CurrentSchema + `","name":"a/b","description":"d","version":"1.0.0","_meta":{"x":`, `}}`
	long := func(n int) string { return start + `"` + strings.Repeat("x", n-len(start)-len(end)-2) + `"` + end }
	deep := func(n int) string { return start + strings.Repeat("[", n) + strings.Repeat("]", n) + end }
	for _, c := range []struct {
		text, want string
		args       []string
	}{
		{long(16 << 20), "", nil},
		{long(16<<20 + 1), "at most 16777216 are allowed", nil},
		{long(1000), "at most 999 are allowed", []string{"-max-bytes=999"}},
		{deep(9_998), "", nil},
		{deep(9_999), "more than 10000 levels deep", nil},
		{deep(99), "more than 100 levels deep", []string{"-max-meta-depth=100"}},
		{start + "[" + strings.Repeat("0,", 200_000) + "0]" + end, "", nil},
		{start + "[0,0,0]" + end, "more than 9 values", []string{"-max-values=9"}},
	} {
		for _, command := range []string{"validate", "fix", "migrate"} {
			code, out, errs := execute(t, c.text, append([]string{command, "-"}, c.args...)...)
			if c.want == "" {
				assert.Zero(t, code, "%s: %.200s %.200s", command, out, errs)
			} else if assert.Equal(t, 1, code, c.want); command != "fix" {
				assert.Contains(t, out+errs, c.want)
			}
		}
	}
	code, _, errs := execute(t, deep(9_000), "fmt", "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "64 MiB")
	code, _, errs = execute(t, "{}", "validate", "-max-bytes=0", "-")
	assert.Equal(t, 2, code)
	assert.Contains(t, errs, "1 or more")
}

// TestStart checks that the program starts in less than 20 ms of processor time, because it may
// run for each change of a file. The time that passes is only logged: it depends on other load.
func TestStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	path := filepath.Join(t.TempDir(), "manifest")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	passed, used := time.Minute, time.Minute
	for range 20 {
		start := time.Now()
		c := exec.Command(path, "schema")
		require.NoError(t, c.Run())
		passed = min(passed, time.Since(start))
		used = min(used, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
	}
	t.Logf("starts in %v, with %v of processor time", passed, used)
	require.Less(t, used, 20*time.Millisecond)
}

// TestFetch downloads a file of a manifest, and one by its URL.
func TestFetch(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a bundle")) }))
	defer server.Close()
	sum := sha256.Sum256([]byte("a bundle"))
	want := hex.EncodeToString(sum[:])
	pack := `{"registryType":"mcpb","identifier":"` + server.URL + `/w.mcpb","fileSha256":"` + want + `","transport":{"type":"stdio"}}`
	text := func(packs string) string {
		return `{"name":"a/b","description":"d","version":"1","packages":[` + packs + `]}`
	}
	code, out, errs := execute(t, text(pack), "fetch", "-allow-http", "-allow-private", "-")
	require.Zero(t, code, errs)
	require.Equal(t, want, strings.Fields(out)[len(strings.Fields(out))-1])
	data, err := os.ReadFile("w.mcpb")
	require.NoError(t, err)
	require.Equal(t, "a bundle", string(data))

	code, _, errs = execute(t, text(pack), "fetch", "-allow-http", "-allow-private", "-")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "w.mcpb already exists", "an untrusted URL does not replace a file")

	code, _, errs = execute(t, "", "fetch", "-allow-http", "-allow-private", "-sha256", strings.ToUpper(want), "-o", "x", server.URL)
	require.Zero(t, code, errs)
	code, _, errs = execute(t, "", "fetch", "-allow-http", "-allow-private", "-sha256", strings.Repeat("0", 64), "-o", "y", server.URL)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "has the SHA-256 "+want)
	require.NoFileExists(t, "y")
	require.NoError(t, os.Remove("w.mcpb"))
	for _, c := range []struct {
		code  int
		stdin string
		want  string
		args  []string
	}{
		{1, text(pack), "it is http", []string{"-"}},
		{1, text(pack), "this machine", []string{"-", "-allow-http"}},
		{1, "{}", "missing required key", []string{"-"}},
		{1, text(`{"registryType":"mcpb","identifier":"x","transport":{"type":"stdio"}}`), "without fileSha256", []string{"-"}},
		{1, text(`{"registryType":"npm"},` + pack), "it is http", []string{"-"}},
		{2, text(pack + "," + pack), "choose one", []string{"-"}},
		{2, text(pack), "no package 3", []string{"-", "-package=3"}},
		{2, text(""), "no package of", []string{"-"}},
		{2, text(pack), "-sha256 needs a URL", []string{"-", "-sha256", want}},
		{2, "", "-sha256 is missing", []string{"https://e.com/f"}},
		{2, "", "name of a file", []string{"https://e.com/", "-sha256", want}},
		{2, "", "name one file", nil},
	} {
		code, out, errs := execute(t, c.stdin, append([]string{"fetch", "-o", ""}, c.args...)...)
		assert.Equal(t, c.code, code, c.want)
		assert.Contains(t, errs, c.want)
		assert.Empty(t, out)
	}
}

func TestSchema(t *testing.T) {
	code, out, _ := execute(t, "", "schema")
	require.Zero(t, code)
	require.Equal(t, string(manifest.Schema()), out)
}

// TestLongLines checks that the marker is below the value at fault, and that no code point is cut.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("é", 5000)
	_, out, _ := execute(t, `{"name":"a/b","description":"d","x":"`+long+`","version":1,"y":"`+long+`"}`, "validate", "-")
	lines := strings.Split(out, "\n")
	require.Contains(t, lines[0], ":5050: error")
	at := strings.IndexByte(lines[2], '^')
	require.Equal(t, "1", string([]rune(lines[1])[at]))
	require.Less(t, len([]rune(lines[1])), 120)

	// The window of bytes around the value begins and ends inside of code points.
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("😀", 3000)
		line, _ := excerpt([]byte(text), 1, shift+4*1500, shift+4*1500+4)
		require.NotContains(t, line, "?", "a code point is cut")
		require.NotContains(t, line, "\ufffd")
	}
}

// TestControlCharacters checks that control characters of names and lines are escaped.
func TestControlCharacters(t *testing.T) {
	_, out, _ := execute(t, "{\"name\":\"a/b\",\"description\":\"d\",\"version\":\"^1\",\"k\u202e\":\"\u009b31m\"}", "validate", "-")
	require.NotContains(t, out, "\u202e")
	require.NotContains(t, out, "\u009b")
}

// TestHintsArePasted checks that an unsafe name of an input is not part of a suggested command.
func TestHintsArePasted(t *testing.T) {
	text := `{"name":"a/b","description":"d","version":"1","remotes":[{"type":"sse","url":"https://e.com","headers":[],"variables":{}},
		{"type":"sse","url":"https://{x';reboot;'}.e.com","variables":{"x';reboot;'":{"isRequired":true}}}]}`
	code, _, errs := execute(t, text, "resolve", "-remote", "1", "-")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "has no value")
	require.NotContains(t, errs, "-set")
}

// TestInterrupted checks that an incomplete command is not a success.
func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"validate", "-"}, {"init", "-o", "-"}, {"fetch", "-sha256", strings.Repeat("0", 64), "-o", "f", "https://192.0.2.1/f"}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stdin, end := io.Pipe()
		var errs bytes.Buffer
		code := cli.Run(ctx, "manifest", run, cli.Env{Args: args, Stdin: stdin, Stdout: io.Discard, Stderr: &errs})
		require.NoError(t, end.Close())
		require.Equal(t, 1, code, args)
		require.Contains(t, errs.String(), args[0]+" was interrupted")
		require.NoFileExists(t, "f")
	}
}

func TestDiff(t *testing.T) {
	var before, after []string
	for i := range 40 {
		before = append(before, strings.Repeat("x", i))
	}
	after = append(after, before...)
	after[5], after[30] = "five", "thirty"
	after = append(after[:20], after[22:]...)
	got := diff("f", strings.Join(before, "\n")+"\n", strings.Join(after, "\n"))
	require.Equal(t, 4, strings.Count(got, "@@ -"), got)
	require.Contains(t, got, "@@ -3,7 +3,7 @@\n xx\n xxx\n xxxx\n-xxxxx\n+five\n")
	require.Contains(t, got, "no line break")
	require.Empty(t, diff("f", "a", "a"))
	require.Equal(t, "--- f\n+++ f\n@@ -1,0 +1,1 @@\n+a\n", diff("f", "", "a\n"))
}

// FuzzDiff checks that a diff has the lines of both texts.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		var was, is []string
		for _, c := range compare(lines(a), lines(b)) {
			if c.op != '+' {
				was = append(was, c.text)
			}
			if c.op != '-' {
				is = append(is, c.text)
			}
		}
		require.Equal(t, lines(a), was)
		require.Equal(t, lines(b), is)
	})
}

// FuzzEnvFile checks that a file has values or an error.
func FuzzEnvFile(f *testing.F) {
	f.Add("A=1\n# c\nexport B='x y'\nC=\"a\\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseEnv(text)
		require.Equal(t, err == nil, values != nil)
	})
}
