package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/client"
	"github.com/ashlar-go/ashlar/manifest"
)

func program(t testing.TB, id string) *client.Program {
	t.Helper()
	p, err := client.Find(id)
	require.NoError(t, err)
	return p
}

// weather is an entry with a reference to a secret.
func weather(t testing.TB, p *client.Program) *client.Entry {
	t.Helper()
	yes, version := true, "1.0.0"
	e, err := p.Entry(&client.Server{Name: "weather", Package: &manifest.Package{
		RegistryType: "npm", Identifier: "@example/weather", Version: &version, Transport: manifest.Transport{Type: manifest.Stdio},
		EnvironmentVariables: []manifest.KeyValueInput{{Name: "API_KEY", Input: manifest.Input{IsRequired: &yes, IsSecret: &yes}}},
	}})
	require.NoError(t, err)
	return e
}

// Files in the forms that people write, with the result of adding an entry.
func TestFiles(t *testing.T) {
	t.Parallel()
	const cursorEntry = `"command": "npx",
      "args": [
        "-y",
        "@example/weather@1.0.0"
      ],
      "env": {
        "API_KEY": "${env:API_KEY}"
      }
    }`
	for _, c := range []struct{ name, program, before, after string }{
		{"new file", "cursor", "", "{\n  \"mcpServers\": {\n    \"weather\": {\n      " + cursorEntry + "\n  }\n}\n"},
		{"empty object", "cursor", "{}", "{\n  \"mcpServers\": {\n    \"weather\": {\n      " + cursorEntry + "\n  }\n}"},
		{
			"empty servers with a comment", "cursor", "{\n  \"mcpServers\": { // mine\n  }\n}\n",
			"{\n  \"mcpServers\": { // mine\n    \"weather\": {\n      " + cursorEntry + "\n  }\n}\n",
		},
		{
			"comment after the last entry", "cursor", "{\n  \"mcpServers\": {\n    \"x\": {} // the last\n    // and more\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {}, // the last\n    // and more\n    \"weather\": {\n      " + cursorEntry + "\n  }\n}\n",
		},
		{
			"trailing comma", "cursor", "{\n  \"mcpServers\": {\n    \"x\": {}, // the last\n  },\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {}, // the last\n    \"weather\": {\n      " + cursorEntry + ",\n  },\n}\n",
		},
		{
			"one of the same name", "cursor", "{\n  \"mcpServers\": {\n    \"weather\": { \"command\": \"old\" }, // mine\n    \"x\": {}\n  }\n}\n",
			"{\n  \"mcpServers\": {\n    \"weather\": {\n      " + cursorEntry + ", // mine\n    \"x\": {}\n  }\n}\n",
		},
		{
			"Windows line breaks and tabs", "jetbrains", "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}\r\n",
			"\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {},\r\n\t\t\"weather\": {\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"-y\",\r\n\t\t\t\t\"@example/weather@1.0.0\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n",
		},
		{
			"an input of its own", "vscode", "{\n\t\"servers\": {}\n}\n",
			"{\n\t\"servers\": {\n\t\t\"weather\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\n\t\t\t\t\"-y\",\n\t\t\t\t\"@example/weather@1.0.0\"\n\t\t\t],\n\t\t\t\"env\": {\n\t\t\t\t\"API_KEY\": \"${input:weather-api-key}\"\n\t\t\t}\n\t\t}\n\t},\n" +
				"\t\"inputs\": [\n\t\t{\n\t\t\t\"type\": \"promptString\",\n\t\t\t\"id\": \"weather-api-key\",\n\t\t\t\"description\": \"API_KEY\",\n\t\t\t\"password\": true\n\t\t}\n\t]\n}\n",
		},
		{
			"TOML", "codex", "model = \"x\"", "model = \"x\"\n\n[mcp_servers.weather]\ncommand = \"npx\"\nargs = [\"-y\", \"@example/weather@1.0.0\"]\nenv_vars = [\"API_KEY\"]\n",
		},
		{
			"TOML with one of the same name", "codex", "[mcp_servers.weather]\ncommand = \"old\"\n[mcp_servers.weather.env]\nA = \"[x]\" # old\n\n# of b\n[b]\nc = 1\n",
			"[mcp_servers.weather]\ncommand = \"npx\"\nargs = [\"-y\", \"@example/weather@1.0.0\"]\nenv_vars = [\"API_KEY\"]\n\n# of b\n[b]\nc = 1\n",
		},
		{
			"YAML", "goose", "# mine\nGOOSE_MODE: auto\n",
			"# mine\nGOOSE_MODE: auto\nextensions:\n  weather:\n    type: \"stdio\"\n    name: \"weather\"\n    cmd: \"npx\"\n    args:\n      - \"-y\"\n      - \"@example/weather@1.0.0\"\n    env_keys:\n      - \"API_KEY\"\n    enabled: true\n    timeout: 300\n",
		},
		{
			"YAML with one of the same name", "goose", "extensions:\n    weather:\n        cmd: |\n          # old\n          x: y\n\n    # of z\n    z: {}\n",
			"extensions:\n    weather:\n      type: \"stdio\"\n      name: \"weather\"\n      cmd: \"npx\"\n      args:\n        - \"-y\"\n        - \"@example/weather@1.0.0\"\n      env_keys:\n        - \"API_KEY\"\n      enabled: true\n      timeout: 300\n\n    # of z\n    z: {}\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := program(t, c.program)
			added, err := p.Add([]byte(c.before), weather(t, p))
			require.NoError(t, err)
			require.Equal(t, c.after, string(added))
			again, err := p.Add(added, weather(t, p))
			require.NoError(t, err)
			require.Equal(t, c.after, string(again), "a second time")
			removed, err := p.Remove(added, "weather")
			require.NoError(t, err)
			require.NotContains(t, string(removed), "weather")
		})
	}
}

// Files that cannot be changed line by line are refused, and stay as they are.
// TestProgramsDiffer: programs that differ in their paths alone share a row of the table.
func TestProgramsDiffer(t *testing.T) {
	t.Parallel()
	secret := true
	link := "Bearer {token}"
	remote := &manifest.Remote{Type: manifest.StreamableHTTP, URL: "https://example.com/", Headers: []manifest.KeyValueInput{{Name: "X-Key", Input: manifest.Input{IsSecret: &secret, IsRequired: &secret}}, {Name: "Authorization", Input: manifest.Input{Value: &link, IsSecret: &secret}}}}
	pack := &manifest.Package{RegistryType: "npm", Identifier: "x", Transport: manifest.Transport{Type: manifest.Stdio}, EnvironmentVariables: []manifest.KeyValueInput{{Name: "KEY", Input: manifest.Input{IsSecret: &secret, IsRequired: &secret}}}}
	seen := map[string]string{}
	for _, p := range client.Programs() {
		require.NotEmpty(t, p.Checked, p.ID)
		form := ""
		for _, s := range []*client.Server{{Name: "x", Package: pack}, {Name: "x", Remote: remote}} {
			entry, err := p.Entry(s)
			if err == nil {
				file, _ := p.Add(nil, entry)
				form += string(file)
			}
			_, wrong := p.Mend([]byte("{} // x"))
			form += fmt.Sprint(err != nil, wrong)
		}
		require.Empty(t, seen[form], "%s: the file of %s", p.ID, form)
		seen[form] = p.ID
	}
}

// TestMend: what a program does not read has a position, and goes. What it reads stays.
func TestMend(t *testing.T) {
	t.Parallel()
	const all = "\ufeff{ // mine\r\n  /* two\r\n  lines */\r\n  \"a//b\": [1, /* é */ 2,],\r\n  \"b\": \"/*,}\"\r\n}\r\n"
	for id, want := range map[string]struct {
		line, column int
		mended       string
	}{
		"vscode": {0, 0, all},
		"codex":  {0, 0, all},
		"gemini": {1, 1, "{ // mine\r\n  /* two\r\n  lines */\r\n  \"a//b\": [1, /* é */ 2],\r\n  \"b\": \"/*,}\"\r\n}\r\n"},
		"claude": {1, 3, "\ufeff{\r\n  \"a//b\": [1,  2],\r\n  \"b\": \"/*,}\"\r\n}\r\n"},
	} {
		program, err := client.Find(id)
		require.NoError(t, err)
		mended, wrong := program.Mend([]byte(all))
		require.Equal(t, want.mended, string(mended), id)
		require.Equal(t, want.line > 0, wrong != nil, id)
		if wrong != nil {
			require.Equal(t, []int{want.line, want.column}, []int{wrong.Line, wrong.Column}, id)
		}
		if id != "codex" {
			_, again := program.Mend(mended)
			require.Nil(t, again, id)
		}
	}
	program, err := client.Find("claude")
	require.NoError(t, err)
	mended, wrong := program.Mend([]byte("{\"é\": [1,\n]}"))
	require.Equal(t, "{\"é\": [1\n]}", string(mended))
	require.Equal(t, 9, wrong.Column, "columns are characters")
	for _, other := range []string{"", "{", "// no value", "{} /* open"} {
		mended, wrong = program.Mend([]byte(other))
		require.Nil(t, wrong)
		require.Equal(t, other, string(mended))
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, file, message string }{
		{"cursor", "[]", "JSON object"},
		{"cursor", "{", "not JSON"},
		{"cursor", `{"mcpServers": []}`, `"mcpServers"`},
		{"cursor", strings.Repeat("[", 2000), "more than 500 levels"},
		{"vscode", `{"inputs": {}}`, `"inputs"`},
		{"codex", "a = ", "not TOML"},
		{"codex", "mcp_servers = { x = { command = \"x\" } }", "by hand"},
		{"codex", "mcp_servers.x.command = \"x\"", "by hand"},
		{"codex", "[[mcp_servers]]\na = 1", "by hand"},
		{"codex", "[mcp_servers]\nx = 1", "by hand"},
		{"codex", "[mcp_servers.weather]\na=1\n[b]\n[mcp_servers.weather.env]\nA=\"x\"", "by hand"},
		{"goose", "a: [", "not YAML"},
		{"goose", "{extensions: {x: {}}}", "by hand"},
		{"goose", "extensions: {x: {}}", "by hand"},
		{"goose", "- a", "by hand"},
		{"goose", "a: 1\n---\nb: 2\n", "second document"},
	} {
		p := program(t, c.program)
		_, err := p.Add([]byte(c.file), weather(t, p))
		require.ErrorContains(t, err, c.message, "%s: %s", c.program, c.file)
	}
}

// What the file of a program cannot express is a fault, and secrets are never taken as values.
func TestFaults(t *testing.T) {
	t.Parallel()
	yes, token := true, "Bearer {token}"
	remote := &manifest.Remote{Type: manifest.StreamableHTTP, URL: "https://example.com/mcp", Headers: []manifest.KeyValueInput{{
		Name: "X-Key", Input: manifest.Input{Value: &token}, Variables: []manifest.Variable{{Name: "token", Input: manifest.Input{IsRequired: &yes, IsSecret: &yes}}},
	}}}
	for _, c := range []struct {
		program string
		server  client.Server
		message string
	}{
		{"zed", client.Server{Name: "w", Remote: remote}, "Zed"},
		{"codex", client.Server{Name: "w", Remote: remote}, "Codex"},
		{"claude-desktop", client.Server{Name: "w", Remote: remote}, "does not accept"},
		{"cursor", client.Server{Name: "w", Remote: remote, Values: map[string][]string{"token": {"hunter2"}}}, `"token" is a secret`},
		{"cursor", client.Server{Name: "w", Remote: &manifest.Remote{Type: manifest.SSE, URL: "https://example.com/", Headers: []manifest.KeyValueInput{{Name: "A", Input: manifest.Input{Value: new("${env:HOME}")}}}}}, `${env:HOME}`},
		{"cursor", client.Server{Name: "a b", Remote: remote}, "must have 1 to 128 letters"},
	} {
		_, err := program(t, c.program).Entry(&c.server)
		require.ErrorContains(t, err, c.message)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := client.Find("cursr")
	require.ErrorContains(t, err, `cursor"?`)
}

// FuzzFiles adds an entry to any file. What was in the file stays, byte by byte and in order, and
// the result can be read and changed again.
func FuzzFiles(f *testing.F) {
	for _, p := range client.Programs() {
		f.Add(p.ID, other[p.Format])
	}
	f.Add("goose", "extensions:\n- x\n")
	f.Add("codex", "[mcp_servers]\n")
	f.Fuzz(func(t *testing.T, id, file string) {
		p, err := client.Find(id)
		if err != nil || p.ID == "claude-desktop" || strings.Contains(file, "weather") || strings.TrimSpace(file) == "" {
			return
		}
		added, err := p.Add([]byte(file), weather(t, p))
		if err != nil {
			return
		}
		left := string(added)
		for i := range len(file) {
			at := strings.IndexByte(left, file[i])
			if at < 0 {
				t.Fatalf("byte %d of %q is not in %q", i, file, added)
			}
			left = left[at+1:]
		}
		before, after := decode(t, p, added), map[string]any{}
		list := before[layouts[id].root].(map[string]any)
		require.Contains(t, list, "weather")
		removed, err := p.Remove(added, "weather")
		require.NoError(t, err)
		require.NotContains(t, string(removed), "@example/weather")
		if strings.TrimSpace(string(removed)) != "" {
			after = decode(t, p, removed)
		}
		delete(list, "weather")
		if len(list) == 0 {
			delete(before, layouts[id].root)
			delete(after, layouts[id].root)
		}
		if p.ID == "vscode" { // whose inputs may have been anything
			delete(before, "inputs")
			delete(after, "inputs")
		}
		require.Equal(t, before, after)
	})
}
