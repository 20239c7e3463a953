package bundle_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/bundle"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// The test is also the program of a binary server: it answers as the scripts below do.
func TestMain(m *testing.M) {
	if os.Getenv("ASHLAR_BUNDLE_SERVER") == "1" {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		answer, _ := json.Marshal(map[string]any{"got": line, "args": os.Args[1:], "key": os.Getenv("API_KEY")})
		fmt.Println(string(answer))
		return
	}
	os.Exit(m.Run())
}

const nodeServer = `const r = require("readline").createInterface({ input: process.stdin });
r.on("line", (line) => {
  console.log(JSON.stringify({ got: line + "\n", args: process.argv.slice(2), key: process.env.API_KEY || "" }));
  r.close();
});
`

const pythonServer = `import json, os, sys
line = sys.stdin.readline()
print(json.dumps({"got": line, "args": sys.argv[1:], "key": os.environ.get("API_KEY", "")}))
`

// entry is a file of an archive.
type entry struct {
	name, text string
	mode       fs.FileMode
}

// archive writes a bundle and returns its path and SHA-256.
func archive(t testing.TB, entries ...entry) (file, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode == 0 {
			e.mode = 0o644
		}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		require.NoError(t, err)
		_, err = io.WriteString(w, e.text)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return save(t, b.Bytes())
}

func save(t testing.TB, data []byte) (file, sum string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "x.mcpb")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	h := sha256.Sum256(data)
	return file, hex.EncodeToString(h[:])
}

// document returns a manifest.json.
func document(version, server, config string) entry {
	key := "manifest_version"
	return entry{name: "manifest.json", text: fmt.Sprintf(`{%q: %q, "name": "x", "version": "1.0.0", "description": "d", "author": {"name": "a"}, "server": %s, "user_config": {%s}}`, key, version, server, config)}
}

const config = `"dirs": {"type": "directory", "title": "Directories", "multiple": true, "required": true},
	"key": {"type": "string", "title": "Key", "description": "The key", "sensitive": true, "required": true},
	"size": {"type": "number", "title": "Size", "default": 10, "min": 1, "max": 100},
	"verbose": {"type": "boolean", "title": "Verbose", "default": false},
	"note": {"type": "string", "title": "Note"}`

const arguments = `"args": ["ENTRY", "${user_config.dirs}", "--size=${user_config.size}", "--home", "${HOME}${/}x", "${user_config.note}", "{literal}"],
	"env": {"API_KEY": "k-${user_config.key}", "NOTE": "${user_config.note}"}`

// A bundle of each type starts from its plan, with the values of the user.
func TestServersStart(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	program, err := os.ReadFile(self)
	require.NoError(t, err)
	command := func(command, entry string) string {
		return fmt.Sprintf(`{"command": %q, %s}`, command, strings.Replace(arguments, "ENTRY", entry, 1))
	}
	for _, c := range []struct {
		name, needs string
		entries     []entry
	}{
		{"node", "node", []entry{document("0.3", `{"type": "node", "entry_point": "server/index.js", "mcp_config": `+command("node", "${__dirname}/server/index.js")+`}`, config), {name: "server/index.js", text: nodeServer}}},
		{"python", "python3", []entry{document("0.1", `{"type": "python", "entry_point": "main.py", "mcp_config": `+command("python3", "main.py")+`}`, config), {name: "main.py", text: pythonServer}}},
		{"binary", "", []entry{document("0.2", `{"type": "binary", "entry_point": "bin/server", "mcp_config": {"command": "bin/unused", "platform_overrides": {"`+runtime.GOOS+`": `+
			strings.Replace(command("bin/server", "first"), `"env": {`, `"env": {"ASHLAR_BUNDLE_SERVER": "1", `, 1)+`}}}`, config), {name: "bin/server", text: string(program)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.needs != "" {
				if _, err := exec.LookPath(c.needs); err != nil {
					t.Skipf("SKIPPED: %s is not on PATH: a bundle of type %s was not started", c.needs, c.name)
				}
			}
			file, sum := archive(t, c.entries...)
			b, err := bundle.Open(file, sum, &bundle.Options{Home: "/home/ann"})
			require.NoError(t, err)
			defer b.Close()
			dir := filepath.Join(t.TempDir(), "installed")
			require.NoError(t, b.Unpack(dir))
			plan, err := b.Resolve(dir, launch.Values{"dirs": {"/a b", "/c"}, "key": {"hunter2"}}, nil)
			require.NoError(t, err)
			require.NotContains(t, plan.Consent(), "hunter2")
			require.Empty(t, plan.Notices)

			cmd := exec.CommandContext(t.Context(), plan.Argv()[0], plan.Argv()[1:]...)
			cmd.WaitDelay = 10 * time.Second
			cmd.Env = append(os.Environ(), plan.Env()...)
			cmd.Stdin = strings.NewReader("{\"method\":\"initialize\"}\n")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			require.NoError(t, err, errs.String())
			var got struct {
				Got, Key string
				Args     []string
			}
			require.NoError(t, json.Unmarshal(out, &got))
			require.Equal(t, "{\"method\":\"initialize\"}\n", got.Got)
			require.Equal(t, "k-hunter2", got.Key)
			want := []string{"/a b", "/c", "--size=10", "--home", "/home/ann/x", "{literal}"}
			if c.name == "binary" {
				want = append([]string{"first"}, want...)
			}
			require.Equal(t, want, got.Args)
			require.NotContains(t, strings.Join(plan.Env(), " "), "NOTE", "an input without a value")
		})
	}
}

// A uv server needs no command of its own.
func TestDefaultCommand(t *testing.T) {
	t.Parallel()
	file, sum := archive(t, document("0.4", `{"type": "uv", "entry_point": "src/server.py"}`, ""), entry{name: "src/server.py"})
	b, err := bundle.Open(file, sum, nil)
	require.NoError(t, err)
	defer b.Close()
	plan, err := b.Resolve("/opt/x", nil, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"uv", "run", "--directory", "/opt/x", "src/server.py"}, plan.Argv())
}

// Archives that are not plain are refused before anything is written.
func TestRefusedArchives(t *testing.T) {
	t.Parallel()
	good := document("0.3", `{"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["i.js"]}}`, "")
	script := entry{name: "i.js", text: "//"}
	for _, c := range []struct {
		message string
		entries []entry
	}{
		{"could leave the directory", []entry{good, script, {name: "../x"}}},
		{"could leave the directory", []entry{good, script, {name: "/etc/x"}}},
		{"could leave the directory", []entry{good, script, {name: "a/../../x"}}},
		{"could leave the directory", []entry{good, script, {name: `a\..\x`}}},
		{"could leave the directory", []entry{good, script, {name: "C:x"}}},
		{"could leave the directory", []entry{good, script, {name: "a/NUL.txt"}}},
		{"could leave the directory", []entry{good, script, {name: "a/x. "}}},
		{"which is a link", []entry{good, script, {name: "l", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}}},
		{"not a file", []entry{good, script, {name: "p", mode: fs.ModeNamedPipe | 0o666}}},
		{"below more than 63 directories", []entry{good, script, {name: strings.Repeat("a/", 64) + "x"}}},
		{"below more than 63 directories", []entry{good, script, {name: strings.Repeat("a/", 65)}}},
		{"take for one", []entry{good, script, {name: "I.JS"}}},
		{"more than 1000000 bytes unpacked", []entry{good, script, {name: "big", text: strings.Repeat("x", 1_000_001)}}},
		{"has 12 entries, more than 10", append([]entry{good, script}, many(10)...)},
		{"no manifest.json", []entry{script}},
		{"manifest.json has more than 1048576 bytes", []entry{{name: "manifest.json", text: strings.Repeat(" ", 1<<20+1)}}},
	} {
		file, sum := archive(t, c.entries...)
		_, err := bundle.Open(file, sum, &bundle.Options{MaxBytes: max(1_000_000, int64(len(c.entries[0].text))+1), MaxFiles: 10})
		require.ErrorContains(t, err, c.message)
	}

	file, _ := archive(t, good, script)
	_, err := bundle.Open(file, strings.Repeat("0", 64), nil)
	wrong, ok := errors.AsType[*bundle.SumError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, strings.Repeat("0", 64), wrong.Want)
	_, err = bundle.Open(file, "x", nil)
	require.ErrorContains(t, err, "invalid SHA-256 of 1 characters")
	file, sum := save(t, []byte("no archive"))
	_, err = bundle.Open(file, sum, nil)
	require.ErrorContains(t, err, "not an archive")
}

func many(n int) []entry {
	var all []entry
	for i := range n {
		all = append(all, entry{name: fmt.Sprintf("f%d", i)})
	}
	return all
}

// A bundle whose sizes are not what its directory says leaves no file.
func TestUnpackDamaged(t *testing.T) {
	t.Parallel()
	good := document("0.3", `{"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["i.js"]}}`, "")
	file, _ := archive(t, good, entry{name: "i.js", text: strings.Repeat("abc", 10_000)})
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("i.js")) + 10
	data[at] ^= 0xff
	file, sum := save(t, data)
	b, err := bundle.Open(file, sum, nil)
	require.NoError(t, err)
	defer b.Close()
	parent := t.TempDir()
	require.Error(t, b.Unpack(filepath.Join(parent, "x")))
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
	require.ErrorContains(t, b.Unpack(parent), "already exists")
}

// The problems of a manifest and of values are reported together, with pointers.
func TestFaults(t *testing.T) {
	t.Parallel()
	open := func(e entry) (*bundle.Bundle, error) {
		file, sum := archive(t, e, entry{name: "i.js"})
		b, err := bundle.Open(file, sum, &bundle.Options{GOOS: "linux"})
		if err == nil {
			t.Cleanup(func() { require.NoError(t, b.Close()) })
		}
		return b, err
	}
	_, err := open(document("0.9", `{"type": "perl", "entry_point": "nowhere", "mcp_config": {"command": ""}}`, `"a b": {"type": "text", "default": [1]}`))
	require.EqualError(t, err, `/manifest_version: manifest_version "0.9" is not known (use 0.1, 0.2, 0.3 or 0.4)
/server/type: unknown type "perl" (use node, python, binary or uv)
/server/entry_point: entry_point "nowhere" is not a file of the bundle
/server/mcp_config/command: command is missing
/user_config/a b: the key "a b" cannot be referred to (use letters, digits, dots, dashes and underscores)
/user_config/a b/type: unknown type "text" (use string, number, boolean, directory or file)
/user_config/a b/default: the default is a list, and multiple is not set`)

	b, err := open(document("0.3", `{"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["i.js", "${user_config.dirs}", "x${user_config.dirs}", "${user_config.nope}"]}}`, config))
	require.NoError(t, err)
	_, err = b.Resolve("/x", launch.Values{"dirs": {"/a", "/b"}, "size": {"500"}, "kye": {"x"}}, nil)
	require.EqualError(t, err, `unknown input "kye"
/user_config/size: "size" is outside of its range (use 1 to 100)
/server/mcp_config/args/2: the values of "dirs" are a list, which cannot be a part of a string
/server/mcp_config/args/3: "${user_config.nope}" refers to an input that user_config does not have`)

	b, err = open(document("0.3", `{"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", `+strings.Replace(arguments, "ENTRY", "i.js", 1)+`}}`, config))
	require.NoError(t, err)
	_, err = b.Resolve("/x", launch.Values{"size": {"ten"}}, nil)
	faults, ok := errors.AsType[launch.Faults](err)
	require.True(t, ok)
	require.Equal(t, []string{"dirs", "key"}, faults.Missing())
	require.ErrorContains(t, err, "/user_config/size: ")
	require.Equal(t, []string{"dirs", "key", "size", "verbose", "note"}, keys(b.Form()))

	b, err = open(document("0.3", `{"type": "binary", "entry_point": "i.js", "mcp_config": {"command": "/bin/sh", "args": ["-c", "x"], "platform_overrides": {"win32": {"command": "cmd"}}}}`, ""))
	require.NoError(t, err)
	plan, err := b.Resolve("/x", nil, nil)
	require.NoError(t, err)
	require.Len(t, plan.Notices, 1)
	require.Contains(t, plan.Notices[0].Message, `/bin/sh`)
}

// TestKeys: what manifest.json has beside the keys of the format is named, and what looks secret is hidden.
func TestKeys(t *testing.T) {
	t.Parallel()
	open := func(server, config string) (*bundle.Bundle, error) {
		file, sum := archive(t, document("0.4", server, config), entry{name: "i.js"})
		b, err := bundle.Open(file, sum, &bundle.Options{Home: "/home/ann"})
		if err == nil {
			t.Cleanup(func() { require.NoError(t, b.Close()) })
		}
		return b, err
	}
	b, err := open(`{"type": "node", "entry_point": "i.js", "transport": "stdio", "mcp_config": {"command": "node", "args": ["i.js", "${user_config.pass}", "${user_config.dirs}", "${user_config.max_tokens}"],
		"env": {"DIRS": "${user_config.dirs}", "KEY": "${user_config.key}", "API_KEY": "fixed", "A_TOKEN": "${user_config.a}", "~x": "y"}, "enviroment": {}}}`,
		`"pass": {"type": "string", "senstive": true, "default": "hunter1"}, "key": {"type": "string", "title": "API key", "default": "hunter2"}, "a": {"type": "string", "default": "hunter3"},
		"max_tokens": {"type": "string", "requird": true, "default": "12"}, "dirs": {"type": "directory", "multiple": true, "default": ["${HOME}/Desktop"]}`)
	require.NoError(t, err)
	plan, err := b.Resolve("/x", nil, nil)
	require.NoError(t, err)
	named := map[string]string{}
	for _, n := range plan.Notices {
		require.NotEmpty(t, n.Severity)
		named[n.Pointer] += n.Message
	}
	require.Contains(t, named["/server/transport"], "unknown key")
	require.Contains(t, named["/server/mcp_config/enviroment"], "unknown key")
	require.Contains(t, named["/user_config/pass/senstive"], `"sensitive"`)
	require.Contains(t, named["/user_config/max_tokens/requird"], `"required"`)
	for _, key := range []string{"pass", "key", "a"} {
		require.Contains(t, named["/user_config/"+key], "secret")
	}
	require.Empty(t, named["/user_config/max_tokens"])
	shown := plan.Consent()
	require.NotContains(t, shown, "hunter")
	require.NotContains(t, shown, "fixed")
	require.Contains(t, shown, " 12")
	require.Len(t, plan.Paths, 1)
	require.Equal(t, "dirs", plan.Paths[0].Name)

	_, err = open(`{"type": "node", "entrypoint": "i.js", "mcp_config": {"command": "node"}}`, "")
	require.ErrorContains(t, err, `did you mean "entry_point"?`)
}

// TestCases: a directory that an argument and a variable have is listed once.
func TestCases(t *testing.T) {
	t.Parallel()
	samples := os.Getenv("ASHLAR_SAMPLES")
	if samples == "" {
		t.Skip("THIS TEST DID NOT RUN: ASHLAR_SAMPLES does not name the directory of samples")
	}
	text, err := os.ReadFile(filepath.Join(samples, "cases", "manifest", "bundle-directory-twice.manifest.json"))
	require.NoError(t, err)
	file, sum := archive(t, entry{name: "manifest.json", text: string(text)}, entry{name: "server/index.js"})
	b, err := bundle.Open(file, sum, &bundle.Options{Home: "/home/ann"})
	require.NoError(t, err)
	defer b.Close()
	plan, err := b.Resolve("/x", nil, nil)
	require.NoError(t, err)
	require.Len(t, plan.Paths, 1)
	require.Equal(t, "/home/ann/Desktop", plan.Paths[0].Value.Reveal())
}

func keys(f *launch.Form) []string {
	var all []string
	for _, p := range f.Prompts {
		all = append(all, p.Key)
	}
	return all
}

// FuzzOpen reads any archive. It never panics, and what it accepts can be unpacked below its
// directory only.
func FuzzOpen(f *testing.F) {
	good := document("0.3", `{"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["i.js"]}}`, config)
	for _, entries := range [][]entry{{good, {name: "i.js"}}, {good, {name: "../x"}}, {good, {name: "d/"}, {name: "i.js", text: "x"}}} {
		file, _ := archive(f, entries...)
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, sum := save(t, data)
		b, err := bundle.Open(file, sum, &bundle.Options{MaxBytes: 1 << 20, MaxFiles: 100})
		if err != nil {
			return
		}
		defer b.Close()
		parent := t.TempDir()
		dir := filepath.Join(parent, "x")
		if b.Unpack(dir) == nil {
			_, _ = b.Resolve(dir, nil, nil)
			require.NoError(t, os.RemoveAll(dir))
		}
		left, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
