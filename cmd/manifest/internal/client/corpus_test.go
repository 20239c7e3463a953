package client_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/client"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// servers returns published manifests where they are, else those of this tree.
func servers(t *testing.T) []*manifest.Server {
	t.Helper()
	var texts [][]byte
	if dir := os.Getenv("ASHLAR_MANIFEST_CORPUS"); dir != "" {
		texts = published(t, filepath.Join(dir, "published", "even.ndjson.gz"))
	} else {
		t.Log("ASHLAR_MANIFEST_CORPUS is not set: without published manifests")
		files, err := filepath.Glob("../../../../manifest/testdata/corpus/valid/*.json")
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts = append(texts, text)
		}
	}
	var all []*manifest.Server
	for _, text := range texts {
		if d, err := manifest.Parse(text, nil); err == nil {
			all = append(all, d.Read(nil).Server)
		}
	}
	return all
}

// published reads a file with a document a line.
func published(t *testing.T, file string) [][]byte {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var lines [][]byte
	for s := bufio.NewReader(z); ; {
		line, err := s.ReadBytes('\n')
		if len(line) > 1 {
			lines = append(lines, line)
		}
		if err != nil {
			return lines
		}
	}
}

// values returns values for what is required and not secret.
func values(form *launch.Form) launch.Values {
	v := launch.Values{}
	for _, p := range form.Prompts {
		if !p.Required || p.Default != nil || p.Secret {
			continue
		}
		text := map[string]string{"number": "8080", "boolean": "true", "filepath": "/srv/data"}[p.Format]
		if len(p.Choices) > 0 {
			text = p.Choices[0]
		}
		if text == "" {
			text = "value"
		}
		v[p.Pointer] = []string{text}
	}
	return v
}

// server is a server of a configuration, with references replaced by secrets.
type server struct {
	argv    []string
	env     map[string]string
	url     string
	headers map[string]string
}

// layout is the documented form of each program: the format, the key of the servers, and the keys of an
// entry. It is written apart from the package's own table.
var layouts = map[string]struct{ root, command, env, url, sse, headers, open, end string }{
	"claude":         {"mcpServers", "command", "env", "url", "url", "headers", "${", "}"},
	"claude-desktop": {"mcpServers", "command", "env", "", "", "", "", ""},
	"codex":          {"mcp_servers", "command", "env", "url", "", "http_headers", "", ""},
	"cursor":         {"mcpServers", "command", "env", "url", "url", "headers", "${env:", "}"},
	"gemini":         {"mcpServers", "command", "env", "httpUrl", "url", "headers", "${", "}"},
	"goose":          {"extensions", "cmd", "envs", "uri", "", "headers", "${", "}"},
	"jetbrains":      {"mcpServers", "command", "env", "", "", "", "", ""},
	"vscode":         {"servers", "command", "env", "url", "url", "headers", "${input:", "}"},
	"windsurf":       {"mcpServers", "command", "env", "serverUrl", "serverUrl", "headers", "${env:", "}"},
	"zed":            {"context_servers", "command", "env", "url", "", "headers", "", ""},
}

// decode decodes a file of a program.
func decode(t *testing.T, p *client.Program, file []byte) map[string]any {
	t.Helper()
	all := map[string]any{}
	switch p.Format {
	case client.TOML:
		require.NoError(t, toml.Unmarshal(file, &all))
	case client.YAML:
		require.NoError(t, yaml.Unmarshal(file, &all))
	default:
		standard, err := hujson.Standardize(slices.Clone(file))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(standard, &all))
	}
	return all
}

// read returns an entry of a file as the program would use it.
func read(t *testing.T, p *client.Program, file []byte, name string, secrets map[string]string) server {
	t.Helper()
	l := layouts[p.ID]
	entry := decode(t, p, file)[l.root].(map[string]any)[name].(map[string]any)
	expand := func(v any) string {
		s := v.(string)
		for variable, secret := range secrets {
			if l.open != "" {
				s = strings.ReplaceAll(s, l.open+variable+l.end, secret)
			}
		}
		return s
	}
	texts := func(key string) map[string]string {
		found, _ := entry[key].(map[string]any)
		all := map[string]string{}
		for k, v := range found {
			all[k] = expand(v)
		}
		return all
	}
	s := server{env: texts(l.env), headers: texts(l.headers)}
	for _, key := range []string{l.url, l.sse} {
		if v, ok := entry[key]; ok && key != "" {
			s.url = expand(v)
		}
	}
	if v, ok := entry[l.command]; ok {
		s.argv = []string{expand(v)}
		args, _ := entry["args"].([]any)
		for _, a := range args {
			s.argv = append(s.argv, expand(a))
		}
	}
	// What programs take from their environment without a reference in a string.
	names := func(key string) []any { list, _ := entry[key].([]any); return list }
	for _, n := range append(names("env_vars"), names("env_keys")...) {
		if s.argv != nil {
			s.env[n.(string)] = secrets[n.(string)]
		}
	}
	for k, v := range map[string]any(mapOf(entry["env_http_headers"])) {
		s.headers[k] = secrets[v.(string)]
	}
	if v, ok := entry["bearer_token_env_var"]; ok {
		s.headers["Authorization"] = "Bearer " + secrets[v.(string)]
	}
	if (p.ID == "zed" || p.ID == "jetbrains") && s.argv != nil {
		maps.Copy(s.env, secrets) // inherited
	}
	return s
}

func mapOf(v any) map[string]any { m, _ := v.(map[string]any); return m }

// expected returns what a plan or endpoint says, with secrets as their values.
func expected(t *testing.T, s *client.Server, secrets map[string]string, needs []client.Need) server {
	t.Helper()
	given := maps.Clone(s.Values)
	for _, n := range needs {
		given[n.Key] = []string{secrets[n.Name]}
	}
	pairs := func(list []launch.Setting) map[string]string {
		all := map[string]string{}
		for _, v := range list {
			all[v.Name] = v.Value.Reveal()
		}
		return all
	}
	if s.Remote != nil {
		e, err := launch.ResolveRemote(s.Remote, given, nil)
		require.NoError(t, err)
		return server{url: e.URL.Value.Reveal(), headers: pairs(e.Headers), env: map[string]string{}}
	}
	plan, err := launch.ResolvePackage(s.Package, given, nil)
	require.NoError(t, err)
	if plan.URL != nil {
		return server{url: plan.URL.Value.Reveal(), headers: pairs(plan.Headers), env: map[string]string{}}
	}
	return server{argv: plan.Argv(), env: pairs(plan.Environment), headers: map[string]string{}}
}

// Every package and remote of every manifest is written for every program, in a file with other
// content, and read again: it is the plan of package launch, or there are faults. Secrets are
// nowhere in the file.
func TestPublishedServers(t *testing.T) {
	t.Parallel()
	all := servers(t)
	for _, p := range client.Programs() {
		t.Run(p.ID, func(t *testing.T) {
			t.Parallel()
			written, packages, remotes := 0, 0, 0
			refused := map[string]int{}
			for _, manifest := range all {
				var list []*client.Server
				for i := range manifest.Packages {
					packages++
					list = append(list, &client.Server{Package: &manifest.Packages[i], Values: values(launch.PackageForm(&manifest.Packages[i]))})
				}
				for i := range manifest.Remotes {
					remotes++
					list = append(list, &client.Server{Remote: &manifest.Remotes[i], Values: values(launch.RemoteForm(&manifest.Remotes[i]))})
				}
				for _, s := range list {
					s.Name = client.Name(manifest.Name)
					if reason := roundTrip(t, p, s); reason != "" {
						refused[reason]++
					} else {
						written++
					}
				}
			}
			t.Logf("%s: %d of %d packages and %d remotes written, refused: %v", p.ID, written, packages, remotes, refused)
			require.Greater(t, written, (packages+remotes)/4)
		})
	}
}

// kinds groups messages by a part of them.
var kinds = []string{"would replace", "cannot refer to a secret", "does not accept", "bundle", "is a secret"}

// roundTrip writes and reads one server, or returns why it is refused.
func roundTrip(t *testing.T, p *client.Program, s *client.Server) string {
	t.Helper()
	entry, err := p.Entry(s)
	var faults launch.Faults
	if errors.As(err, &faults) {
		for _, kind := range kinds {
			if strings.Contains(faults[0].Message, kind) {
				return kind
			}
		}
		return "launch: " + string(faults[0].Kind)
	}
	require.NoError(t, err)
	secrets := map[string]string{}
	for i, n := range entry.Needs {
		secrets[n.Name] = fmt.Sprintf("secret%d-%%\"'$x", i)
		if n.Key == "" || n.Name == "" {
			t.Errorf("%s: a need without a name: %+v", s.Name, n)
		}
	}
	want := expectedWith(t, s, secrets, entry.Needs)
	file := other[p.Format]
	added, err := p.Add([]byte(file), entry)
	require.NoError(t, err, "%s", s.Name)
	for _, secret := range secrets {
		require.NotContains(t, string(added), secret)
	}
	got := read(t, p, added, s.Name, secrets)
	if p.ID == "zed" || p.ID == "jetbrains" {
		for name := range secrets {
			if _, wanted := want.env[name]; !wanted {
				delete(got.env, name)
			}
		}
	}
	require.Equal(t, want, got, "%s\n%s", s.Name, added)
	removed, err := p.Remove(added, s.Name)
	require.NoError(t, err)
	require.Equal(t, file, string(removed), "%s", s.Name)
	return ""
}

// expectedWith is expected with secrets that are restored after resolving: a value in a url would be
// escaped, and one of a certain form refused, which a reference is not.
func expectedWith(t *testing.T, s *client.Server, secrets map[string]string, needs []client.Need) server {
	t.Helper()
	plain := map[string]string{}
	for i, n := range needs {
		plain[n.Name] = fmt.Sprintf("plainsecret%dx", i)
		if len(n.Choices) > 0 {
			plain[n.Name] = n.Choices[0]
		}
	}
	want := expected(t, s, plain, needs)
	restore := func(text string) string {
		for _, n := range needs {
			text = strings.ReplaceAll(text, plain[n.Name], secrets[n.Name])
		}
		return text
	}
	for i := range want.argv {
		want.argv[i] = restore(want.argv[i])
	}
	for _, m := range []map[string]string{want.env, want.headers} {
		for k := range m {
			m[k] = restore(m[k])
		}
	}
	want.url = restore(want.url)
	return want
}

// other is the content of files before an entry is added.
var other = map[client.Format]string{
	client.JSON: `{
    // settings of somebody
    "theme": "dark", /* kept */
    "inputs": [
        { "type": "promptString", "id": "mine" } // mine
    ],
    "mcpServers": { "x": { "command": "x" } },
    "servers": {
        "x": { "command": "x", "env": { "A": "${input:mine}" } }
    },
    "context_servers": {
        "x": { "command": "x" } // last
    },
}
`,
	client.TOML: `# mine
model = "x" # kept

[mcp_servers.x]
command = "x"

[mcp_servers.x.env]
A = "b"
`,
	client.YAML: `# mine
extensions:
  x:
    enabled: true
    cmd: x

  # before y
  y:
    cmd: y
GOOSE_MODE: auto # kept
`,
}
