package diff_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/diff"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/manifest"
)

// older is the manifest that the cases below change.
const older = `{
	"name": "com.example/weather", "description": "Weather", "version": "1.0.0",
	"packages": [
		{"registryType": "npm", "identifier": "@example/weather", "version": "1.0.0", "transport": {"type": "stdio"},
			"packageArguments": [{"type": "positional", "value": "serve"}, {"type": "named", "name": "--units", "default": "metric", "choices": ["metric", "imperial"]}],
			"environmentVariables": [{"name": "LOG", "description": "Level"}, {"name": "KEY", "isSecret": true, "isRequired": true}]},
		{"registryType": "mcpb", "identifier": "https://example.com/a/b/releases/1.0.0/w.mcpb", "version": "1.0.0", "fileSha256": "aa", "transport": {"type": "stdio"}},
		{"registryType": "oci", "identifier": "ghcr.io/a/b:1.0.0", "transport": {"type": "stdio"}}
	],
	"remotes": [{"type": "streamable-http", "url": "https://{region}.example.com/mcp", "variables": {"region": {"default": "eu"}},
		"headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": true, "isRequired": true}}}]}]
}`

func parse(t testing.TB, text string) *manifest.Server {
	t.Helper()
	var s manifest.Server
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Each class of change, by the replacements that make it. A release replaces the version of the server
// too.
func TestCompare(t *testing.T) {
	t.Parallel()
	release := []string{`"version": "1.0.0",
	"packages"`, `"version": "1.1.0",
	"packages"`}
	for _, c := range []struct {
		risk    diff.Risk
		message string
		replace []string
	}{
		{diff.Text, "/description: description is another one", []string{`"Weather"`, `"The weather"`}},
		{diff.Text, "/packages/0/environmentVariables/0/description: description is another one", []string{`"Level"`, `"The level"`}},
		{diff.Text, "/title: title is another one", []string{`"description": "Weather"`, `"description": "Weather", "title": "W"`}},
		{diff.Update, `/version: version "1.1.0" instead of "1.0.0"`, release},
		{diff.Update, `/packages/0/version: "1.1.0" package "1.0.0"`, append(release, `weather", "version": "1.0.0"`, `weather", "version": "1.1.0"`)},
		{diff.Update, `/packages/2/version: package`, append(release, "b:1.0.0", "b:1.1.0")},
		{diff.Update, `/packages/1/version: "1.1.0" package "1.0.0"`, append(release, `1.0.0/w.mcpb", "version": "1.0.0", "fileSha256": "aa"`, `1.1.0/w.mcpb", "version": "1.1.0", "fileSha256": "bb"`)},
		{diff.Input, `/packages/0/environmentVariables/0: optional "PORT"`, []string{`{"name": "LOG"`, `{"name": "PORT"}, {"name": "LOG"`}},
		{diff.Input, `/packages/0/packageArguments/1/default: another default of "--units"`, []string{`"default": "metric"`, `"default": "imperial"`}},
		{diff.Required, `/packages/0/environmentVariables/0: required "PORT"`, []string{`{"name": "LOG"`, `{"name": "PORT", "isRequired": true}, {"name": "LOG"`}},
		{diff.Required, `/packages/0/environmentVariables/0/isRequired: "LOG" is required now`, []string{`"name": "LOG"`, `"name": "LOG", "isRequired": true`}},
		{diff.Secret, `/packages/0/environmentVariables/0: a new secret: "TOKEN"`, []string{`{"name": "LOG"`, `{"name": "TOKEN", "isSecret": true}, {"name": "LOG"`}},
		{diff.Secret, `/packages/0/environmentVariables/0/isSecret: "LOG" now`, []string{`"name": "LOG"`, `"name": "LOG", "isSecret": true`}},
		{diff.Secret, `/remotes/0/headers/0/variables/org: a new secret: "org"`, []string{`"variables": {"token"`, `"variables": {"org": {"isSecret": true}, "token"`}},
		{diff.Command, `/packages/0/packageArguments/0: fixed "run"`, []string{`"value": "serve"`, `"value": "run"`}},
		{diff.Command, `/packages/0/environmentVariables/0/value: fixed "LOG"`, []string{`"name": "LOG"`, `"name": "LOG", "value": "x"`}},
		{diff.Command, `/packages/0/environmentVariables/1/isSecret: "KEY" longer`, []string{`"KEY", "isSecret": true`, `"KEY", "isSecret": false`}},
		{diff.Command, `/remotes/0/url: same`, []string{"example.com/mcp", "example.com/v2"}},
		{diff.Package, `/packages/0/identifier: another package: "@evil/weather" instead of "@example/weather"`, append(release, "@example", "@evil")},
		{diff.Package, `/packages/0: cargo "w"`, append(release, `{"registryType": "npm"`, `{"registryType": "cargo", "identifier": "w", "transport": {"type": "stdio"}}, {"registryType": "npm"`)},
		{diff.Package, `/packages/0/transport/type: "sse" "stdio"`, append(release, `"version": "1.0.0", "transport": {"type": "stdio"},`, `"version": "1.0.0", "transport": {"type": "sse", "url": "http://localhost:1/"},`)},
		{diff.Package, `/name: another server`, []string{"com.example/weather", "com.example/other"}},
		{diff.Host, `/remotes/0/url: a new host: "https://{region}.evil.com"`, []string{"{region}.example.com", "{region}.evil.com"}},
		{diff.Host, `/remotes/0/url: a new host: "http://{region}.example.com"`, []string{"https://{region}", "http://{region}"}},
		{diff.Host, `/packages/1/identifier: a new host: "https://evil.com"`, append(release, "https://example.com/a", "https://evil.com/a")},
		{diff.Content, "/packages/1/fileSha256: same", append(release, `"aa"`, `"bb"`)},
		{diff.Content, "/packages/0/version: another same", []string{`weather", "version": "1.0.0"`, `weather", "version": "1.1.0"`}},
	} {
		newer := strings.NewReplacer(c.replace...).Replace(older)
		if newer == older {
			t.Fatalf("%v: nothing was replaced", c.replace)
		}
		changes := diff.Compare(parse(t, older), parse(t, newer))
		if len(changes) == 0 || changes[0].Risk != c.risk {
			t.Errorf("%s: want %s first, got %+v", c.message, c.risk, changes)
			continue
		}
		pointer, words, _ := strings.Cut(c.message, ": ")
		if !slices.ContainsFunc(changes, func(got diff.Change) bool { return got.Pointer == pointer && errtest.Names(got.Message, words) }) {
			t.Errorf("want %s, got %+v", c.message, changes)
		}
	}
	if changes := diff.Compare(parse(t, older), parse(t, older)); len(changes) != 0 {
		t.Errorf("a manifest differs from itself: %+v", changes)
	}
}

// Successive versions of published manifests. A document does not differ from itself; every new
// host and every new secret, counted another way, has its class.
func TestPublishedVersions(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_MANIFEST_CORPUS")
	if dir == "" {
		t.Skip("SKIPPED: ASHLAR_MANIFEST_CORPUS is not set: without published manifests")
	}
	f, err := os.Open(filepath.Join(dir, "published", "even.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string][]*manifest.Server{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s manifest.Server
		if json.Unmarshal(lines.Bytes(), &s) == nil {
			versions[s.Name] = append(versions[s.Name], &s)
		}
	}
	pairs, classes := 0, map[diff.Risk]int{}
	for name, list := range versions {
		for i, s := range list {
			if changes := diff.Compare(s, s); len(changes) > 0 {
				t.Errorf("%s differs from itself: %+v", name, changes)
			}
			if i == 0 {
				continue
			}
			changes := diff.Compare(list[i-1], s)
			pairs++
			if len(changes) == 0 {
				continue
			}
			classes[changes[0].Risk]++
			hosts, secrets := news(list[i-1], s)
			if hosts > 0 && !slices.ContainsFunc(changes, func(c diff.Change) bool { return c.Risk == diff.Host }) {
				t.Errorf("%s %s: a new host without its class: %+v", name, s.Version, changes)
			}
			if secrets > 0 && !slices.ContainsFunc(changes, func(c diff.Change) bool { return c.Risk == diff.Secret || c.Risk >= diff.Package }) {
				t.Errorf("%s %s: a new secret without its class: %+v", name, s.Version, changes)
			}
		}
	}
	t.Logf("%d pairs of successive versions of %d servers, by the gravest change: %v", pairs, len(versions), classes)
	if pairs < 100 {
		t.Errorf("only %d pairs", pairs)
	}
}

// news counts the hosts of remotes and the names of secrets that only the newer manifest has.
func news(before, after *manifest.Server) (hosts, secrets int) {
	find := func(s *manifest.Server) (hosts, secrets map[string]bool) {
		hosts, secrets = map[string]bool{}, map[string]bool{}
		secret := func(name string, in *manifest.Input) {
			if in.IsSecret != nil && *in.IsSecret && in.Value == nil {
				secrets[name] = true
			}
		}
		for _, r := range s.Remotes {
			if u, err := url.Parse(r.URL); err == nil && u.Host != "" && !strings.HasPrefix(u.Host, "localhost") {
				hosts[u.Host] = true
			}
		}
		for _, p := range s.Packages {
			if u, err := url.Parse(p.Identifier); err == nil && u.Host != "" {
				hosts[u.Host] = true
			}
			for i := range p.EnvironmentVariables {
				secret(p.EnvironmentVariables[i].Name, &p.EnvironmentVariables[i].Input)
			}
		}
		return hosts, secrets
	}
	oldHosts, oldSecrets := find(before)
	newHosts, newSecrets := find(after)
	for h := range newHosts {
		if !oldHosts[h] {
			hosts++
		}
	}
	for s := range newSecrets {
		if !oldSecrets[s] {
			secrets++
		}
	}
	return hosts, secrets
}

// The table of REFERENCE.md, 13, lists the classes in their order.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../manifest/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## 13 ")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, r := range diff.Risks() {
		code := 0
		if r > diff.Text {
			code = 10 + int(r)
		}
		row := fmt.Sprintf("\n| %s | %d |", r, code)
		if !strings.Contains(table, row) {
			t.Errorf("no row %q in this order", row)
		}
		_, table, _ = strings.Cut(table, row)
	}
}

// The gravest change is the first one.
func ExampleCompare() {
	before := &manifest.Server{Name: "com.example/weather", Version: "1.0.0", Remotes: []manifest.Remote{{Type: manifest.SSE, URL: "https://example.com/mcp"}}}
	after := &manifest.Server{Name: "com.example/weather", Version: "1.0.1", Remotes: []manifest.Remote{{Type: manifest.SSE, URL: "https://example.org/mcp"}}}
	for _, c := range diff.Compare(before, after) {
		fmt.Printf("%s: %s: %s\n", c.Risk, c.Pointer, c.Message)
	}
	// Output:
	// host: /remotes/0/url: a new host: "https://example.org"
	// update: /version: version "1.0.1" instead of "1.0.0"
}
