package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call runs the program.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), "ratelimit-check", run, cli.Env{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// TestGolden compares what the program prints with testdata/golden, and its exit code.
func TestGolden(t *testing.T) {
	t.Chdir("testdata")
	piped, err := os.ReadFile("good/edge/proxy.yml")
	require.NoError(t, err)
	shop := func(descriptors ...string) []string {
		args := []string{"-ignore_dot_files", "good", "-at", "2026-01-02T03:04:05Z"}
		for _, d := range descriptors {
			args = append(args, "-explain", "shop", d)
		}
		return args
	}
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"good", 0, []string{"-ignore_dot_files", "good"}},
		{"dot files", 1, []string{"good"}},
		{"broken", 1, []string{"-config_dir", "broken"}},
		{"file", 0, []string{"good/shop.yaml"}},
		{"several", 1, []string{"good/shop.yaml", "broken/z.yaml", "good/shop.yaml"}},
		{"stdin", 0, []string{"-"}},
		{"stdin and file", 1, []string{"-", "good/edge/proxy.yml"}},
		{"merge off", 1, []string{"merge"}},
		{"merge on", 1, []string{"-merge_domain_configs", "merge"}},
		{"suspect", 0, []string{"suspect"}},
		{"suspect strict", 1, []string{"suspect", "-strict"}},
		{"missing", 1, []string{"nowhere"}},
		{"json", 0, []string{"-format=json", "suspect", "-explain", "suspect", "k=abc", "-at", "7200"}},
		{"json broken", 1, []string{"-format", "json", "broken"}},
		{"explain", 0, shop("client=bob,path=/login")},
		{"explain shadow", 0, append(shop("client=bob,path=/a:b"), "-cache_key_prefix", "p:")},
		{"explain replaces", 0, shop("visits=1", "client=ann", "client=bob,path=/login")},
		{"explain none", 0, shop("client=bob", "client=health,path=/login", "path=/login,client=bob", "Client=x=y", "visits=")},
		{"explain whitelisted", 0, shop("client=Health")},
		{"explain domains", 0, []string{"-ignore_dot_files", "-at", "90", "-explain", "edge", "remote_address=10.1.2.3", "-explain", "egde", "a=b", "good", "-explain", "edge", "remote_address=127.0.0.1"}},
		{"replay", 0, []string{"replay/limits.yaml", "-replay", "replay/access.log", "-mapping", "replay/mapping.yaml"}},
		{"replay default mapping", 0, []string{"replay/limits.yaml", "-replay", "replay/access.log", "-top", "1"}},
		{"replay against", 0, []string{"replay/limits.yaml", "-replay", "replay/access.log", "-against", "replay/looser.yaml", "-mapping", "replay/mapping.yaml"}},
		{"misspelt", 1, []string{"misspelt/limits.yaml"}},
		{"explain broken", 1, []string{"broken/z.yaml", "broken/tabs.yaml", "-explain", "shop", "a=b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := call(t, string(piped), c.args...)
			assert.Equal(t, c.code, code)
			assert.Empty(t, errs, "everything is printed on the standard output")
			golden := filepath.Join("golden", strings.ReplaceAll(c.name, " ", "-")+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(out), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), out)
		})
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		why, want string
		args      []string
	}{
		{"nothing to do", "nothing to check", nil},
		{"an empty path", "empty directory name", []string{"-config_dir", ""}},
		{"a bad form", `-format "xml"`, []string{"-format", "xml", "d"}},
		{"a bad time", "-at", []string{"-at", "noon", "d"}},
		{"a time before 1970", "1970 to 9999", []string{"-at", "-1", "d"}},
		{"a time after 9999", "1970 to 9999", []string{"-at", "253402300800", "d"}},
		{"no descriptor", "-explain shop", []string{"d", "-explain", "shop"}},
		{"a bad descriptor", `"b" is not key=value`, []string{"d", "-explain", "shop", "a=1,b"}},
		{"an empty key", `"=1" is not key=value`, []string{"d", "-explain", "shop", "=1"}},
		{"an empty domain", "the domain is empty", []string{"d", "-explain", "", "a=1"}},
		{"an unknown flag", "unknown shorthand", []string{"d", "-x"}},
	} {
		code, out, errs := call(t, "", c.args...)
		assert.Equal(t, cli.ExitUsage, code, c.why)
		assert.Contains(t, errs, c.want, c.why)
		assert.Empty(t, out, c.why)
	}
	code, out, _ := call(t, "", "-help")
	assert.Zero(t, code)
	assert.Contains(t, out, "-explain demo client=alice")
}

// After "--" everything is a path.
func TestEndOfFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("-strict", []byte("domain: d\n"), 0o600))
	code, out, errs := call(t, "", "--", "-strict")
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "opening config file: -strict\n")
}

// An empty directory is accepted as the server accepts it, with a warning.
func TestEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	code, out, _ := call(t, "", dir)
	require.Zero(t, code)
	require.Contains(t, out, dir+": warning: ")
	code, _, _ = call(t, "", "-strict", dir)
	require.Equal(t, 1, code)
}

// Files of a directory need the extension that the service looks for; arguments don't.
// A directory with files that ratelimitd passes over, all of them, is an error: nothing would be limited.
func TestOnlyOtherFiles(t *testing.T) {
	for _, name := range []string{"limits", "config.json"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("domain: d\n"), 0o666))
		code, out, _ := call(t, "", dir)
		require.Equal(t, 1, code)
		require.Contains(t, out, name)
		require.Contains(t, out, dir)
		code, _, _ = call(t, "", filepath.Join(dir, name))
		require.Zero(t, code, "a file that is named is read")
	}
}

func TestExtensions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("domain: d\n"), 0o600))
	}
	code, out, _ := call(t, "", dir)
	require.Equal(t, 0, code, out)
	require.Contains(t, out, filepath.Join(dir, "notes.txt"))
	code, out, _ = call(t, "", filepath.Join(dir, "notes.txt"), filepath.Join(dir, "a.yaml"))
	require.Equal(t, 1, code)
	require.Contains(t, out, filepath.Join(dir, "notes.txt")+":1:9: error: duplicate domain 'd'")
}

// Two files of a directory may have one name in package config.
func TestSameName(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.b.yaml"), []byte("domain: x\nfoo: 1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "b.yaml"), []byte("domain: y\nbar: 1\n"), 0o600))
	code, out, _ := call(t, "", dir)
	require.Equal(t, 1, code)
	require.Regexp(t, "/a.b.yaml:2:1: .*'foo'\n.* foo: 1", out)
	require.Regexp(t, "/a/b.yaml:2:1: .*'bar'\n.* bar: 1", out)
}

// Control characters in names and lines are not printed.
func TestPlainText(t *testing.T) {
	_, out, _ := call(t, "domain: d\n\"k\u009b31m\u202e\": \"\x1b[31m\"\n", "-", "no\nsuch\x1bfile")
	require.NotRegexp(t, "[\x00-\x09\x0b-\x1f\u009b\u202e]", out)
	require.NotContains(t, out, "\nsuch")
}

// Very many faults and very long lines produce bounded output.
func TestHugeLines(t *testing.T) {
	text := "domain: d\ndescriptors: [" + strings.Repeat("{x: 1}, ", 20_000) + "]\n"
	code, out, _ := call(t, text, "-")
	require.Equal(t, 1, code)
	require.Less(t, len(out), 1<<20)
	long := "domain: d\n" + strings.Repeat("# ", 300) + "\n" + strings.Repeat(" ", 500) + "\n{" + strings.Repeat("a: 1, ", 50) + "}\n"
	code, out, _ = call(t, long, "-")
	require.Equal(t, 1, code)
	for line := range strings.SplitSeq(out, "\n") {
		require.Less(t, len(line), 400)
	}
}

type blocked struct{ until chan struct{} }

func (b blocked) Read([]byte) (int, error) { <-b.until; return 0, io.EOF }

// A canceled context ends the program while it waits for the standard input.
func TestStandardInputDoesNotBlock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	input := blocked{make(chan struct{})}
	defer close(input.until)
	code := cli.Run(ctx, "ratelimit-check", run, cli.Env{Args: []string{"-"}, Stdin: input, Stdout: io.Discard, Stderr: io.Discard})
	require.Zero(t, code, "a canceled program exits with 0")
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestStreamsFail(t *testing.T) {
	f := failing{errors.New("no disk")}
	for _, env := range []cli.Env{
		{Args: []string{"-"}, Stdin: f, Stdout: io.Discard},
		{Args: []string{"-"}, Stdin: strings.NewReader("domain: d\n"), Stdout: f},
	} {
		var errs bytes.Buffer
		env.Stderr = &errs
		require.Equal(t, 1, cli.Run(t.Context(), "ratelimit-check", run, env))
		require.Equal(t, "ratelimit-check: no disk\n", errs.String())
	}
}

// FuzzCheck checks that any input gives the same verdict in plain text and in JSON.
func FuzzCheck(f *testing.F) {
	f.Add("domain: d\ndescriptors: [{key: a, value: b*, rate_limit: {unit: day, requests_per_unit: 1}}]\n", "a=b,c=d=e")
	f.Add("domain: d\ndescriptors:\n\t- x\r\u2028  y: [", "a")
	f.Add("\xff", "=,")
	f.Fuzz(func(t *testing.T, file, descriptor string) {
		code, out, errs := call(t, file, "-", "-explain", "d", descriptor)
		if code == cli.ExitUsage {
			require.NotEmpty(t, errs)
			return
		}
		require.Equal(t, code == 0, strings.Contains(out, "\nall rate limit configs ok\n"), out)
		jsonCode, out, _ := call(t, file, "-", "-format=json", "-explain", "d", descriptor)
		require.Equal(t, code, jsonCode)
		var r report
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		require.Equal(t, code == 0, r.OK)
		require.Equal(t, code == 0, len(r.Errors) == 0)
	})
}
