package manifest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

func TestParseProfile(t *testing.T) {
	t.Parallel()
	for p := manifest.Neutral; p <= manifest.Declared; p++ {
		if got, err := manifest.ParseProfile(p.String()); got != p || err != nil {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
	}
	if _, err := manifest.ParseProfile("2024"); err == nil || !strings.Contains(err.Error(), "use neutral") {
		t.Errorf("got %v, want an error that lists the profiles", err)
	}
}

// TestDatedSchemas checks the differences between the public schemas.
func TestDatedSchemas(t *testing.T) {
	t.Parallel()
	sep, oct, dec, neutral := manifest.Schema20250929, manifest.Schema20251017, manifest.Schema20251211, manifest.Neutral
	versioned := func(set object) []byte {
		set["version"] = "1"
		return inPackage(t, set)
	}
	for _, c := range []struct {
		name  string
		data  []byte
		valid []manifest.Profile
	}{
		{"a url that begins with a variable", document(t, remoteTo("{a}")), []manifest.Profile{neutral}},
		{"an sse url with a variable", document(t, remoteTo("https://{a}/")), []manifest.Profile{dec, neutral}},
		{"an sse url that is not of http", document(t, remoteTo("ftp://e.com")), []manifest.Profile{sep, oct}},
		{"a streamable url that is none", document(t, object{"remotes": []any{object{"type": "streamable-http", "url": "x y"}}}), []manifest.Profile{sep, oct}},
		{"wrong variables of a remote", document(t, object{"remotes": []any{object{"type": "sse", "url": "https://e.com", "variables": 1}}}), []manifest.Profile{sep, oct}},
		{"a wrong title", document(t, object{"title": 1}), []manifest.Profile{sep}},
		{"a package without version", inPackage(t, object{"version": nil}), []manifest.Profile{oct, dec, neutral}},
		{"an unknown key of a package", versioned(object{"x": 1}), []manifest.Profile{oct, dec, neutral}},
		{"a long version of a package", inPackage(t, object{"version": strings.Repeat("1", 256)}), []manifest.Profile{sep, oct}},
		{"a bundle without digest", versioned(object{"registryType": "mcpb"}), []manifest.Profile{sep, oct, dec}},
		{"an icon over http", document(t, object{"icons": []any{object{"src": "http://e.com"}}}), []manifest.Profile{sep, oct, dec}},
	} {
		for _, p := range []manifest.Profile{sep, oct, dec, neutral} {
			r := manifest.Validate(c.data, &manifest.Options{Profile: p})
			if want := slices.Contains(c.valid, p); r.Valid() != want {
				t.Errorf("%s, %v: valid is %v, want %v: %v", c.name, p, r.Valid(), want, r.Problems)
			}
		}
	}
}

// registered returns a manifest that is valid for a registry, with some keys set.
func registered(t *testing.T, set object) []byte {
	t.Helper()
	full := object{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"}
	for key, value := range set {
		full[key] = value
	}
	return document(t, full)
}

func dated(schema string) object { return object{"$schema": schema} }

func repo(url, source string) object {
	return object{"repository": object{"url": url, "source": source, "subfolder": "a"}}
}

func pack(set object) object {
	p := object{"registryType": "npm", "identifier": "i", "version": "1.0.0", "transport": object{"type": "stdio"}}
	for key, value := range set {
		if p[key] = value; value == nil {
			delete(p, key)
		}
	}
	return object{"packages": []any{p}}
}

func local(url string) object {
	return pack(object{"transport": object{"type": "sse", "url": url}, "environmentVariables": []any{object{"name": "PORT"}}})
}

// registryCase is a manifest and the rule of a registry that it breaks, or "".
type registryCase struct {
	name string
	set  object
	want manifest.Rule
}

func (c *registryCase) check(t *testing.T) {
	t.Helper()
	r := manifest.Validate(registered(t, c.set), &manifest.Options{Profile: manifest.Registry})
	if got := rulesOf(r.Problems); c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, []manifest.Rule{c.want}) {
		t.Errorf("%s: got %v, want %q", c.name, r.Problems, c.want)
	}
}

func TestRegistryRepositories(t *testing.T) {
	t.Parallel()
	for _, c := range []registryCase{
		{"a route", repo("https://gitlab.com/a/b/-/tree", "gitlab"), "repository-host"},
		{"more than a repository", repo("https://github.com/o/r/tree/main", "github"), "repository-host"},
		{"other source", repo("https://e.com/o/r", "bitbucket"), "repository-host"},
		{"other host", repo("https://e.com/o/r", "github"), "repository-host"},
		{"group", repo("https://gitlab.com/a/b/c", "gitlab"), ""},
		{"repository", repo("https://github.com/o/r/", "github"), ""},
		{"http and www", repo("http://www.github.com/o/r.git", "github"), ""},
		{"capitals in the host", repo("https://GitHub.com/o/r", "github"), "repository-host"},
		{"a port", repo("https://github.com:443/o/r", "github"), "repository-host"},
		{"a user", repo("https://me@github.com/o/r", "github"), "repository-host"},
		{"an escape", repo("https://github.com/o/r%20", "github"), "repository-host"},
		{"two slashes", repo("https://github.com/o/r//", "github"), "repository-host"},
		{"a query", repo("https://gitlab.com/a/b?c", "gitlab"), "repository-host"},
		{"an owner", repo("https://gitlab.com/a", "gitlab"), "repository-host"},
	} {
		c.check(t)
	}
}

func TestRegistryRules(t *testing.T) {
	t.Parallel()
	for _, c := range []registryCase{
		{"nothing special", object{}, ""},
		{"no schema", dated("https://e.com/other.json"), "schema-unknown"},
		{"an old schema", dated("https://e.com/schemas/2025-09-29/server.schema.json"), "schema-deprecated"},
		{"a future schema", dated("https://e.com/schemas/2999-01-01/server.schema.json"), "schema-unknown"},
		{"a fragment", dated(manifest.CurrentSchema + "#/definitions/ServerDetail"), ""},
		{"an old schema with a fragment", dated("https://e.com/schemas/2025-10-17/server.schema.json#/a"), "schema-deprecated"},
		{"another file", dated(manifest.CurrentSchema + "x"), "schema-unknown"},
		{"a draft", dated("https://e.com/schemas/draft/server.schema.json"), "schema-unknown"},
		{"a date that never was", dated("https://e.com/schemas/2025-01-01/server.schema.json"), "schema-unknown"},
		{"short name", object{"name": "a/b"}, "name-parts"},
		{"name with a dot at the end", object{"name": "com.example/ab."}, "name-parts"},
		{"dots", object{"name": "../.."}, "name-parts"},
		{"latest", object{"version": "latest"}, "version-latest"},
		{"blank title", object{"title": " \t"}, "title-blank"},
		{"website", object{"websiteUrl": "http://e.com"}, "website-https"},
		{"an icon without a host", object{"icons": []any{object{"src": "https:x"}}}, "icon-https"},
		{"an icon with a port only", object{"icons": []any{object{"src": "https://:1/x"}}}, "icon-https"},
		{"a website without a host", object{"websiteUrl": "https:x"}, "website-https"},
		{"no identifier", pack(object{"identifier": ""}), "identifier-empty"},
		{"two braces", local("http://localhost:1/{{PORT}}"), "url-variable"},
		{"an empty brace", local("http://localhost:{PORT}/{}"), ""},
		{"subfolder", object{"repository": object{"url": "https://github.com/o/r", "source": "github", "subfolder": "a@b"}}, "subfolder-characters"},
		{"identifier", pack(object{"identifier": "a b"}), "identifier-space"},
		{"flag with a value", pack(arguments(object{"type": "named", "name": "--a <b>"})), "flag-name"},
		{"empty flag", pack(arguments(object{"type": "named", "name": ""})), "flag-name"},
		{"flag twice", pack(arguments(object{"type": "named", "name": "--a", "default": "--a=1"})), "flag-in-value"},
		{"stdio with url", pack(object{"transport": object{"type": "stdio", "url": "x"}}), "stdio-url"},
		{"port from the environment", local("http://localhost:{PORT}/mcp"), ""},
		{"undeclared", local("http://localhost:{port}/mcp"), "url-variable"},
		{"base from the environment", local("{PORT}/mcp"), "url-host"},
		{"remote", remoteTo("https://e.com"), ""},
		{"http remote", remoteTo("http://e.com"), "remote-host"},
		{"local remote", remoteTo("https://api.LOCALHOST:1/"), "remote-host"},
		{"no host", remoteTo("https://:::"), "url-host"},
	} {
		c.check(t)
	}
	if r := manifest.Validate(document(t, nil), &manifest.Options{Profile: manifest.Registry}); r.Errors != 1 || r.Problems[0].Rule != "schema-required" {
		t.Errorf("without $schema: %v", r.Problems)
	}
}
