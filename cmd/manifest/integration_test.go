package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

const (
	goodManifest = `{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": "io.github.ann/weather", "description": "d", "version": "1.0.0"}`
	badManifest  = `{"name": "weather", "description": "d", "version": "^1.0.0"}`
)

// shell runs a script as bash with the settings of a CI, and returns its exit code and output.
func shell(t *testing.T, dir, script string, env map[string]string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// root returns the directory of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return dir
}

// decodeYAML reads a file of the module.
func decodeYAML(t *testing.T, file string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, to))
}

// built builds the program and returns the directory that it is in.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "manifest"), ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// project is a directory with a manifest and a package file.
func project(t *testing.T, manifest, version string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "server.json"), []byte(manifest), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"version": "`+version+`", "mcpName": "io.github.ann/weather"}`), 0o600))
	return dir
}

// The steps of the action that are scripts run as the runner would run them.
func TestAction(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Name, Uses, Shell, If, Run string
				Env                        map[string]string
			}
		}
	}
	decodeYAML(t, ".github/actions/manifest/action.yml", &action)
	require.Equal(t, "composite", action.Runs.Using)
	temp := t.TempDir()
	expression := regexp.MustCompile(`\$\{\{ *([a-z_.]+) *\}\}`)
	run := func(dir string, inputs map[string]string) (failed, output string) {
		value := func(name string) string {
			if name == "github.action_path" {
				return filepath.Join(root(t), ".github", "actions", "manifest")
			}
			input := strings.TrimPrefix(name, "inputs.")
			if v, ok := inputs[input]; ok {
				return v
			}
			declared, ok := action.Inputs[input]
			require.True(t, ok, "%s is not an input", name)
			return declared.Default
		}
		for _, step := range action.Runs.Steps {
			if step.Run == "" || strings.HasSuffix(step.If, "!= ''") && value("inputs.sarif") == "" || strings.HasSuffix(step.If, "== 'true'") && value("inputs.sync") != "true" {
				continue
			}
			require.Equal(t, "bash", step.Shell)
			require.NotContains(t, step.Run, "${{", "%s: values go through the environment, so that none is a part of the script", step.Name)
			env := map[string]string{"RUNNER_TEMP": temp}
			for name, text := range step.Env {
				env[name] = expression.ReplaceAllStringFunc(text, func(m string) string { return value(expression.FindStringSubmatch(m)[1]) })
			}
			code, out := shell(t, dir, step.Run, env)
			output += out
			if code != 0 {
				return step.Name, output
			}
		}
		return "", output
	}
	failed, out := run(project(t, goodManifest, "1.0.0"), nil)
	require.Empty(t, failed, out)
	bad := project(t, badManifest, "1.0.0")
	failed, out = run(bad, map[string]string{"sarif": "problems.sarif"})
	require.Equal(t, "Validate", failed, out)
	require.Contains(t, out, "::error file=server.json,line=1")
	checkSARIF(t, filepath.Join(bad, "problems.sarif"))
	failed, out = run(project(t, goodManifest, "0.9.0"), nil)
	require.Equal(t, "Compare package files", failed, out)
	failed, out = run(project(t, goodManifest, "0.9.0"), map[string]string{"sync": "false", "files": "server.json; touch pwned"})
	require.Equal(t, "Validate", failed, out)
}

// sarifSchema returns the schema of SARIF 2.1.0, which a module for SARIF has in its source.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", reflect.TypeFor[sarif.Report]().PkgPath()).Output()
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "schema.go"))
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(source), "`")
	text, _, _ = strings.Cut(text, "`")
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("sarif.json", schema))
	compiled, err := c.Compile("sarif.json")
	require.NoError(t, err)
	return compiled
}

// checkSARIF validates a file by the schema of SARIF 2.1.0.
func checkSARIF(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	schema := sarifSchema(t)
	require.NoError(t, schema.Validate(document))
	require.NotEmpty(t, document.(map[string]any)["runs"].([]any)[0].(map[string]any)["results"])
	delete(document.(map[string]any), "version")
	require.Error(t, schema.Validate(document), "the schema refuses nothing")
}

// Every problem of every golden file is valid SARIF.
func TestSARIF(t *testing.T) {
	checkSARIF(t, filepath.Join("testdata", "golden", "validate-sarif.txt"))
}

// The scripts of the job for GitLab, with the program on PATH instead of its installation.
func TestGitLab(t *testing.T) {
	var template struct {
		Variables map[string]string
		Manifest  struct{ Script []string }
	}
	decodeYAML(t, "integrations/gitlab/manifest.yml", &template)
	env := template.Variables
	env["PATH"] = built(t) + ":" + os.Getenv("PATH")
	script := strings.Join(template.Manifest.Script, "\n")
	code, out := shell(t, project(t, goodManifest, "1.0.0"), script, env)
	require.Equal(t, 0, code, out)
	code, out = shell(t, project(t, badManifest, "1.0.0"), script, env)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "server.json:1:")
	code, out = shell(t, project(t, goodManifest, "0.9.0"), script, env)
	require.Equal(t, 1, code, out)
}

// The hooks, on the files that their patterns choose.
func TestPreCommit(t *testing.T) {
	var hooks []struct {
		ID, Entry, Language, Files string
		PassFilenames              *bool `yaml:"pass_filenames"`
	}
	decodeYAML(t, ".pre-commit-hooks.yaml", &hooks)
	path := built(t) + ":" + os.Getenv("PATH")
	require.Len(t, hooks, 2)
	for _, h := range hooks {
		require.Equal(t, "golang", h.Language)
		files := regexp.MustCompile(h.Files)
		for _, c := range []struct {
			manifest, version string
			code              map[string]int
		}{
			{goodManifest, "1.0.0", map[string]int{}},
			{badManifest, "1.0.0", map[string]int{"manifest-validate": 1, "manifest-sync": 1}},
			{goodManifest, "0.9.0", map[string]int{"manifest-sync": 1}},
		} {
			script := h.Entry
			for _, name := range []string{"server.json", "package.json", "other.json"} {
				if files.MatchString(name) && h.PassFilenames == nil {
					script += " " + name
				}
			}
			code, out := shell(t, project(t, c.manifest, c.version), script, map[string]string{"PATH": path})
			assert.Equal(t, c.code[h.ID], code, "%s: %s", script, out)
		}
	}
}
