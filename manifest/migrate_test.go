package manifest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

func migrate(t testing.TB, text, from string) (string, *manifest.Migration) {
	t.Helper()
	d, err := manifest.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Migrate(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Apply(text)), m
}

func TestMigrateKeepsTheForm(t *testing.T) {
	t.Parallel()
	const before = `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json",
	"name":   "com.example/w",  "description": "d",
  "status": "active",
  "version": "1.0.0",
  "website_url": "https://e.com",
  "packages": [
    { "registry_type": "oci", "registry_base_url": "https://images.example", "identifier": "e/w",
      "transport": {"type": "stdio"},
      "package_arguments": [ {"type": "positional", "value_hint": "a", "is_required": true, "is_secret": false, "is_repeated": true} ],
      "environment_variables": [{"name": "is_required", "is_required": true, "value": "{is_secret}", "variables": {"is_secret": {"is_secret": true}}}],
      "version": "1.0.0" },
    {"registry_type": "mcpb", "registry_base_url": "https://e.com", "identifier": "https://e.com/w", "file_sha256": "x", "runtime_hint": "h", "transport": {"type": "stdio"}, "x_is_required": 1}
  ],
  "remotes": [{"type": "sse", "url": "https://e.com", "headers": [{"name": "A", "is_secret": true}]}],
  "_meta": {"a": {"is_required": 1}, "io.modelcontextprotocol.registry/official": {"id": "x"}}
}
`
	const want = `{
  "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
	"name":   "com.example/w",  "description": "d",
  "version": "1.0.0",
  "websiteUrl": "https://e.com",
  "packages": [
    { "registryType": "oci", "identifier": "images.example/e/w:1.0.0",
      "transport": {"type": "stdio"},
      "packageArguments": [ {"type": "positional", "valueHint": "a", "isRequired": true, "isSecret": false, "isRepeated": true} ],
      "environmentVariables": [{"name": "is_required", "isRequired": true, "value": "{is_secret}", "variables": {"is_secret": {"isSecret": true}}}] },
    {"registryType": "mcpb", "identifier": "https://e.com/w", "fileSha256": "x", "runtimeHint": "h", "transport": {"type": "stdio"}, "x_is_required": 1}
  ],
  "remotes": [{"type": "sse", "url": "https://e.com", "headers": [{"name": "A", "isSecret": true}]}],
  "_meta": {"a": {"is_required": 1}}
}
`
	got, m := migrate(t, before, "")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if m.From != "2025-07-09" || m.To != "2025-12-11" || len(m.Changes) != 21 {
		t.Errorf("got %s to %s in %d changes: %v", m.From, m.To, len(m.Changes), m.Changes)
	}
	if again, m := migrate(t, got, ""); again != got || len(m.Changes) != 0 {
		t.Errorf("migrating twice changes %v", m.Changes)
	}
}

// current returns a manifest with the current $schema before the other keys.
func current(text string) string {
	return strings.Replace(`{"$schema":"`+manifest.CurrentSchema+`",`+text[1:], ",}", "}", 1)
}

// TestMigrateUndated checks which date a manifest without a dated $schema has.
func TestMigrateUndated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                   "2025-12-11",
		`{"$schema":"","a":1}`: "2025-12-11",
		`{"website_url":"u"}`:  "2025-07-09",
		`{"status":"active"}`:  "2025-09-16",
		`{"$schema":"https://e.com/mcp-server-v0.json","_meta":{"io.modelcontextprotocol.registry/official":{}}}`: "2025-09-16",
		`{"status":"a","packages":[{"registry_type":"npm"}]}`:                                                     "2025-07-09",
		`{"packages":[{"registryType":"oci","identifier":"a","version":"1"}]}`:                                    "2025-09-29",
		`{"packages":[{"registryType":"npm","identifier":"a","version":"1"}]}`:                                    "2025-12-11",
		`{"$schema":"https://e.com/schemas/draft/server.schema.json","status":1}`:                                 "2025-12-11",
		`{"$schema":"` + manifest.CurrentSchema + `#/definitions/ServerDetail","status":1}`:                       "2025-12-11",
	} {
		got, m := migrate(t, text, "")
		if m.From != want {
			t.Errorf("%s is of %s, want %s", text, m.From, want)
		}
		if schema := parsed(t, got).Lookup("/$schema"); schema == nil || !strings.HasPrefix(schema.Text, manifest.CurrentSchema) {
			t.Errorf("%s became %s", text, got)
		}
	}
	got, _ := migrate(t, "{\n\t\"name\": \"a/b\"\n}\n", "")
	if want := "{\n\t\"$schema\": \"" + manifest.CurrentSchema + "\",\n\t\"name\": \"a/b\"\n}\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMigrateSteps checks that each date gets only the changes of later schemas.
func TestMigrateSteps(t *testing.T) {
	t.Parallel()
	const text = `{"status":"active","website_url":"u","packages":[{"registryType":"oci","identifier":"e/w","version":"1"}]}`
	for from, want := range map[string]string{
		"2025-07-09": `{"websiteUrl":"u","packages":[{"registryType":"oci","identifier":"e/w:1"}]}`,
		"2025-09-16": `{"website_url":"u","packages":[{"registryType":"oci","identifier":"e/w:1"}]}`,
		"2025-09-29": `{"status":"active","website_url":"u","packages":[{"registryType":"oci","identifier":"e/w:1"}]}`,
		"2025-10-11": text,
		"2025-10-17": text,
		"2025-12-11": text,
	} {
		if got, _ := migrate(t, text, from); got != current(want) {
			t.Errorf("from %s: got\n%s\nwant\n%s", from, got, want)
		}
	}
	digest := "sha256:" + strings.Repeat("0a", 32)
	if got, _ := migrate(t, `{"packages":[{"registryType":"oci","identifier":"e/w","version":"`+digest+`"}]}`, "2025-09-29"); got != current(`{"packages":[{"registryType":"oci","identifier":"e/w@`+digest+`"}]}`) {
		t.Errorf("got %s", got)
	}
	got, m := migrate(t, `{"packages":[{"registryType":"oci","identifier":"e/w:12","version":"2"}]}`, "2025-09-29")
	if got != current(`{"packages":[{"registryType":"oci","identifier":"e/w:12"}]}`) || len(m.Changes) != 2 || !strings.Contains(m.Changes[1].Message, "another version") {
		t.Errorf("got %s: %v", got, m.Changes)
	}
	if got, _ := migrate(t, `{"status":"a"}`, "2025-09-16"); got != current(`{}`) {
		t.Errorf("got %s", got)
	}
}

func TestMigrateErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, from, want string }{
		{`{"$schema":"https://e.com/schemas/2024-01-01/server.schema.json"}`, "", "unknown schema date"},
		{`{}`, "2024-01-01", "unknown schema date"},
		{`{}`, "2027-01-01", "newer"},
		{`{`, "2025-07-09", "unexpected end"},
	} {
		d, _ := manifest.Parse([]byte(c.text), nil)
		if _, err := d.Migrate(c.from); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s from %s: got %v, want %s", c.text, c.from, err, c.want)
		}
	}
}

// TestMigrateCorpus checks that migrated manifests of another corpus have no keys and no $schema
// of an older date. It needs the environment variable that names the corpus.
func TestMigrateCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(os.Getenv("ASHLAR_MANIFEST_CORPUS"), "real", "hist-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("ASHLAR_MANIFEST_CORPUS names no directory with real/hist-*.json")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := manifest.Parse(data, nil)
		if err != nil {
			continue
		}
		m, err := d.Migrate("")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		migrated := m.Apply(d.Text())
		for _, p := range manifest.Validate(migrated, &manifest.Options{Profile: manifest.Registry}).Problems {
			switch p.Rule {
			case "key-case":
				if p.Fix != nil {
					t.Errorf("%s: %v", file, &p)
				}
			case "schema-deprecated", "schema-unknown", "schema-required":
				t.Errorf("%s: %v", file, &p)
			}
		}
	}
}

func FuzzMigrate(f *testing.F) {
	f.Add(`{"status":"a","website_url":"u","packages":[{"registry_type":"oci","identifier":"e/w","version":"1","registry_base_url":"x"}],"_meta":{}}`)
	f.Add(`{"packages":[{"registry_type":"mcpb","registry_base_url":"x","registryBaseUrl":"y"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := manifest.Parse([]byte(text), nil)
		if err != nil {
			return
		}
		for _, from := range manifest.SchemaDates() {
			m, err := d.Migrate(from)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Apply(text); !json.Valid(got) {
				t.Fatalf("from %s: %s became %s", from, text, got)
			}
		}
	})
}
