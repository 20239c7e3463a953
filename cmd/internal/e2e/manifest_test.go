//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Paths of manifests, relative to the checkout.
const (
	good   = "manifest/testdata/examples/local.json"
	broken = "cmd/manifest/testdata/broken.json" // five problems, and a secret: hunter2
	old    = "cmd/manifest/testdata/old.json"
)

// result is the output of a program.
type result struct{ out, errs string }

// runWithInput runs a program with a standard input and requires an exit code.
func runWithInput(t *testing.T, want int, stdin, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, built(name), args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = checkout, strings.NewReader(stdin), &out, &errs
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), promptRaces, "WEATHER_API_KEY=wk-123"}
	_ = cmd.Run() // ProcessState has the result
	require.NotNil(t, cmd.ProcessState, "%v does not start", cmd.Args)
	require.Equal(t, want, cmd.ProcessState.ExitCode(), "%v\n%s%s", cmd.Args, &out, &errs)
	return result{out.String(), errs.String()}
}

// copied returns the path of a writable copy of a file.
func copied(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.json")
	require.NoError(t, os.WriteFile(path, []byte(content(t, filepath.Join(checkout, name))), 0o600))
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestManifestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why         string
		code        int
		stdin       string
		out, errs   string // patterns
		file, flags string
	}{
		{"a valid manifest", 0, "", `(?m)^1 manifest: `, `^$`, good, ""},
		{"a pattern that no shell has expanded", 0, "", `(?m)^3 manifests: `, `^$`, "manifest/testdata/examples/*.json", ""},
		{"the standard input", 0, content(t, filepath.Join(checkout, good)), `(?m)^1 manifest: `, `^$`, "-", ""},
		{"what stands there is no JSON", 1, `{"name": `, `^<stdin>:1:10: error: `, `^$`, "-", ""},
		{"a broken manifest", 1, "", `broken\.json:4:14: error: version is .*\n +4 \| +"version": "\^1\.4\.2",\n +\| +\^{8}\n`, `^$`, broken, ""},
		{"warnings that count", 1, "", `warning`, `^$`, old, "-strict"},
		{"no such file", 2, "", `^$`, `nowhere\.json`, "nowhere.json", ""},
		{"no such flag", 2, "", `^$`, `-colour`, good, "-colour=always"},
		{"no such profile", 2, "", `^$`, `use neutral, `, good, "-profile=strict"},
	} {
		args := []string{"validate", c.file}
		if c.flags != "" {
			args = append(args, c.flags)
		}
		s := runWithInput(t, c.code, c.stdin, "manifest", args...)
		assert.Regexp(t, c.out, s.out, c.why)
		assert.Regexp(t, c.errs, s.errs, c.why)
		assert.NotContains(t, s.out+s.errs, "hunter2", c.why)
	}
}

// TestManifestForMachines checks the machine-readable output formats.
func TestManifestForMachines(t *testing.T) {
	t.Parallel()
	format := func(name string) string {
		out := runWithInput(t, 1, "", "manifest", "validate", "-format", name, broken).out
		require.NotContains(t, out, "hunter2")
		return out
	}
	var plain struct {
		Valid bool
		Files []struct {
			Errors, Warnings int
			Problems         []struct{ Line, Column int }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(format("json")), &plain))
	require.False(t, plain.Valid)
	require.Len(t, plain.Files, 1)
	require.Equal(t, []int{2, 3, 5}, []int{plain.Files[0].Errors, plain.Files[0].Warnings, len(plain.Files[0].Problems)})

	var sarif struct {
		Version string
		Runs    []struct {
			Results []struct {
				RuleID    string
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						Region struct{ StartLine, StartColumn int }
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(format("sarif")), &sarif))
	require.Equal(t, "2.1.0", sarif.Version)
	require.Len(t, sarif.Runs, 1)
	require.Len(t, sarif.Runs[0].Results, 5)
	for i, r := range sarif.Runs[0].Results {
		require.Regexp(t, `^(error|warning)$`, r.Level)
		require.NotEmpty(t, r.RuleID)
		require.Equal(t, plain.Files[0].Problems[i].Line, r.Locations[0].PhysicalLocation.Region.StartLine)
		require.Equal(t, plain.Files[0].Problems[i].Column, r.Locations[0].PhysicalLocation.Region.StartColumn)
	}

	lines := strings.Split(strings.TrimSuffix(format("github"), "\n"), "\n")
	require.Len(t, lines, 5)
	for _, line := range lines {
		require.Regexp(t, `^::(error|warning) file=cmd/manifest/testdata/broken\.json,line=\d+,col=\d+,title=[a-z-]+::\S`, line)
	}
}

func TestManifestResolve(t *testing.T) {
	t.Parallel()
	resolve := []string{"resolve", good, "-set", "city=Rome; reboot", "-set", "WEATHER_API_KEY"}
	s := runWithInput(t, 0, "", "manifest", resolve...)
	require.Contains(t, s.out, "\n  npx -y @example/weather@1.4.2 serve --units metric 'Rome; reboot'\n")
	require.Contains(t, s.out, "\n  WEATHER_API_KEY='***'\n")

	type words struct{ Value string }
	var plan struct {
		Command     []words
		Environment []struct{ Name, Value string }
	}
	s = runWithInput(t, 0, "", "manifest", append(resolve, "-format", "json")...)
	require.NotContains(t, s.out, "wk-123")
	require.NoError(t, json.Unmarshal([]byte(s.out), &plan))
	require.Equal(t, words{"Rome; reboot"}, plan.Command[len(plan.Command)-1], "a value is one argument")
	require.Equal(t, "***", plan.Environment[0].Value)
	s = runWithInput(t, 0, "", "manifest", append(resolve, "-format", "json", "-reveal")...)
	require.Contains(t, s.out, `"WEATHER_API_KEY=wk-123"`)

	s = runWithInput(t, 1, "", "manifest", "resolve", good)
	require.Empty(t, s.out)
	require.Regexp(t, `(?s)local\.json:\d+:\d+: "city" is required.*"WEATHER_API_KEY" is required`, s.errs)
}

// TestManifestEdits runs each editing command twice; the second run must not change the file.
func TestManifestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, file string
		code          int
	}{{"fmt", old, 0}, {"fix", broken, 0}, {"migrate", old, 0}} {
		path := copied(t, c.file)
		before := content(t, path)
		s := runWithInput(t, c.code, "", "manifest", c.command, path)
		after := content(t, path)
		require.NotEqual(t, before, after, c.command)
		require.Equal(t, c.command != "fmt", strings.Contains(s.out, "\n@@ -"), "%s shows a diff:\n%s", c.command, s.out)
		require.NotContains(t, s.out, "hunter2")
		runWithInput(t, c.code, "", "manifest", c.command, path)
		require.Equal(t, after, content(t, path), c.command)
		require.Equal(t, after, runWithInput(t, c.code, before, "manifest", c.command, "-").out, "%s in a pipe", c.command)
	}

	path := copied(t, old)
	runWithInput(t, 1, "", "manifest", "fmt", "-check", path)
	runWithInput(t, 0, "", "manifest", "fmt", path)
	runWithInput(t, 0, "", "manifest", "fmt", "-check", path)
	runWithInput(t, 1, "", "manifest", "validate", "-strict", "-profile=registry", path)
	runWithInput(t, 0, "", "manifest", "migrate", path)
	runWithInput(t, 0, "", "manifest", "validate", "-profile=2025-12-11", path)
	require.Contains(t, runWithInput(t, 0, "", "manifest", "migrate", path).out, "nothing to change")
}

// TestManifestSchema validates manifests against the printed schema with another library.
func TestManifestSchema(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(runWithInput(t, 0, "", "manifest", "schema").out))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("server.schema.json", schema))
	judge, err := compiler.Compile("server.schema.json")
	require.NoError(t, err)
	for file, code := range map[string]int{good: 0, "manifest/testdata/examples/container.json": 0, "manifest/testdata/examples/remote.json": 0, broken: 1} {
		text := content(t, filepath.Join(checkout, file))
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, code == 0, judge.Validate(document) == nil, file)
		runWithInput(t, code, text, "manifest", "validate", "-")
	}
}

func TestManifestCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash on this machine: completion is not tested")
	}
	check := exec.CommandContext(t.Context(), bash, "-n")
	check.Stdin = strings.NewReader(runWithInput(t, 0, "", "manifest", "completion", "bash").out)
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)

	// The script asks the program for completions: lines of name and description, and one of the shell's mode.
	completions := runWithInput(t, 0, "", "manifest", "__complete", "").out
	var completed []string
	for _, line := range regexp.MustCompile(`(?m)^([\w-]+)\t`).FindAllStringSubmatch(completions, -1) {
		completed = append(completed, line[1])
	}
	_, commands, _ := strings.Cut(runWithInput(t, 0, "", "manifest", "help").out, "\nCommands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	var names []string
	for _, line := range regexp.MustCompile(`(?m)^  ([\w-]+) +[A-Z]`).FindAllStringSubmatch(commands, -1) {
		names = append(names, line[1])
	}
	require.Greater(t, len(names), 5)
	require.ElementsMatch(t, names, completed, "all commands in the help")
}

func TestManifestInit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.json")
	answers := strings.Join([]string{
		"weather", "com.example/weather", "", "Tells the weather", "^1", "1.4.2", "", // a wrong name and a wrong version
		"npm", "@example/weather", "", "stdio", "WEATHER_API_KEY", "The key", "yes", "yes", "", "",
	}, "\n")
	s := runWithInput(t, 0, answers, "manifest", "init", "-o", path)
	require.Contains(t, s.errs, "has no slash")
	require.Contains(t, s.errs, "which is a range")
	runWithInput(t, 0, "", "manifest", "validate", "-strict", "-profile", "registry", path)
	runWithInput(t, 0, "", "manifest", "fmt", "-check", path)

	before := content(t, path)
	require.Contains(t, runWithInput(t, 2, answers, "manifest", "init", "-o", path).errs, "already exists")
	require.Equal(t, before, content(t, path))
	path += ".new"
	runWithInput(t, 1, "com.example/weather\n", "manifest", "init", "-o", path)
	require.NoFileExists(t, path, "incomplete input must not create a file")
}

// slowly serves none or half of a bundle, depending on the path, and then stalls. It serves requests
// for the rest completely. The channel receives a value when a request stalls.
func slowly(t *testing.T, bundle []byte) (url string, waits <-chan struct{}) {
	t.Helper()
	waiting := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(bundle))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(bundle)))
		if r.URL.Path == "/half" {
			_, _ = w.Write(bundle[:len(bundle)/2])
		}
		_ = http.NewResponseController(w).Flush()
		waiting <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, waiting
}

// TestManifestFetchInterrupted interrupts a download before the first byte and in the middle.
func TestManifestFetchInterrupted(t *testing.T) {
	t.Parallel()
	bundle := bytes.Repeat([]byte("bundle "), 4096)
	sum := sha256.Sum256(bundle)
	url, waits := slowly(t, bundle)
	dir := t.TempDir()
	path := filepath.Join(dir, "weather.mcpb")
	fetch := func(from string) []string {
		return []string{"fetch", "-allow-http", "-allow-private", "-sha256", hex.EncodeToString(sum[:]), "-o", path, url + from}
	}
	interrupt := func(from string, came int) {
		p := start(t, nil, "manifest", fetch(from)...)
		select {
		case <-waits:
		case <-p.ended:
			t.Fatal("no request arrived")
		}
		eventually(t, "what was sent is on the disk", func() bool { return size(t, dir) == came })
		p.signal(syscall.SIGINT)
		require.Equal(t, 1, p.code(), "exit code of an interrupted download")
		require.Contains(t, p.stderr.String(), "fetch was interrupted")
		require.Empty(t, p.stdout.String())
		require.NoFileExists(t, path)
	}

	interrupt("/nothing", 0)
	require.Empty(t, listed(t, dir))
	interrupt("/half", len(bundle)/2)
	require.Len(t, listed(t, dir), 1)
	require.Equal(t, byte('.'), listed(t, dir)[0][0], "a partial file must be hidden")

	require.Contains(t, runWithInput(t, 0, "", "manifest", fetch("/half")...).out, "is complete and has the SHA-256")
	require.Equal(t, string(bundle), content(t, path), "fetch must resume the download")
	require.Equal(t, []string{"weather.mcpb"}, listed(t, dir))
}

// listed returns the names in a directory, including hidden ones.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// size returns the total size of the files in a directory.
func size(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, name := range listed(t, dir) {
		n += len(content(t, filepath.Join(dir, name)))
	}
	return n
}
