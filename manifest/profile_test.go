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
		{"a package without version", inPackage(t, object{}), []manifest.Profile{oct, dec, neutral}},
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
	p := object{"registryType": "npm", "identifier": "i", "transport": object{"type": "stdio"}}
	for key, value := range set {
		p[key] = value
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
		{"a route", repo("https://gitlab.com/a/b/-/tree", "gitlab"), manifest.RuleRepositoryHost},
		{"more than a repository", repo("https://github.com/o/r/tree/main", "github"), manifest.RuleRepositoryHost},
		{"other source", repo("https://e.com/o/r", "bitbucket"), manifest.RuleRepositoryHost},
		{"other host", repo("https://e.com/o/r", "github"), manifest.RuleRepositoryHost},
		{"group", repo("https://gitlab.com/a/b/c", "gitlab"), ""},
		{"repository", repo("https://github.com/o/r/", "github"), ""},
		{"http and www", repo("http://www.github.com/o/r.git", "github"), ""},
		{"capitals in the host", repo("https://GitHub.com/o/r", "github"), manifest.RuleRepositoryHost},
		{"a port", repo("https://github.com:443/o/r", "github"), manifest.RuleRepositoryHost},
		{"a user", repo("https://me@github.com/o/r", "github"), manifest.RuleRepositoryHost},
		{"an escape", repo("https://github.com/o/r%20", "github"), manifest.RuleRepositoryHost},
		{"two slashes", repo("https://github.com/o/r//", "github"), manifest.RuleRepositoryHost},
		{"a query", repo("https://gitlab.com/a/b?c", "gitlab"), manifest.RuleRepositoryHost},
		{"an owner", repo("https://gitlab.com/a", "gitlab"), manifest.RuleRepositoryHost},
	} {
		c.check(t)
	}
}

func TestRegistryRules(t *testing.T) {
	t.Parallel()
	for _, c := range []registryCase{
		{"nothing special", object{}, ""},
		{"no schema", dated("https://e.com/other.json"), manifest.RuleSchemaUnknown},
		{"an old schema", dated("https://e.com/schemas/2025-09-29/server.schema.json"), manifest.RuleSchemaDeprecated},
		{"a future schema", dated("https://e.com/schemas/2999-01-01/server.schema.json"), manifest.RuleSchemaUnknown},
		{"a fragment", dated(manifest.CurrentSchema + "#/definitions/ServerDetail"), ""},
		{"an old schema with a fragment", dated("https://e.com/schemas/2025-10-17/server.schema.json#/a"), manifest.RuleSchemaDeprecated},
		{"another file", dated(manifest.CurrentSchema + "x"), manifest.RuleSchemaUnknown},
		{"a draft", dated("https://e.com/schemas/draft/server.schema.json"), manifest.RuleSchemaUnknown},
		{"a date that never was", dated("https://e.com/schemas/2025-01-01/server.schema.json"), manifest.RuleSchemaUnknown},
		{"short name", object{"name": "a/b"}, manifest.RuleNameParts},
		{"name with a dot at the end", object{"name": "com.example/ab."}, manifest.RuleNameParts},
		{"dots", object{"name": "../.."}, manifest.RuleNameParts},
		{"latest", object{"version": "latest"}, manifest.RuleLatest},
		{"blank title", object{"title": " \t"}, manifest.RuleBlankTitle},
		{"website", object{"websiteUrl": "http://e.com"}, manifest.RuleWebsiteHTTPS},
		{"an icon without a host", object{"icons": []any{object{"src": "https:x"}}}, manifest.RuleIconHTTPS},
		{"an icon with a port only", object{"icons": []any{object{"src": "https://:1/x"}}}, manifest.RuleIconHTTPS},
		{"a website without a host", object{"websiteUrl": "https:x"}, manifest.RuleWebsiteHTTPS},
		{"no identifier", pack(object{"identifier": ""}), manifest.RuleIdentifierEmpty},
		{"two braces", local("http://localhost:1/{{PORT}}"), manifest.RuleURLVariable},
		{"an empty brace", local("http://localhost:{PORT}/{}"), ""},
		{"subfolder", object{"repository": object{"url": "https://github.com/o/r", "source": "github", "subfolder": "a@b"}}, manifest.RuleSubfolderChars},
		{"identifier", pack(object{"identifier": "a b"}), manifest.RuleIdentifierSpace},
		{"flag with a value", pack(arguments(object{"type": "named", "name": "--a <b>"})), manifest.RuleFlagName},
		{"empty flag", pack(arguments(object{"type": "named", "name": ""})), manifest.RuleFlagName},
		{"flag twice", pack(arguments(object{"type": "named", "name": "--a", "default": "--a=1"})), manifest.RuleFlagRepeated},
		{"stdio with url", pack(object{"transport": object{"type": "stdio", "url": "x"}}), manifest.RuleStdioURL},
		{"port from the environment", local("http://localhost:{PORT}/mcp"), ""},
		{"undeclared", local("http://localhost:{port}/mcp"), manifest.RuleURLVariable},
		{"base from the environment", local("{PORT}/mcp"), manifest.RuleURLHost},
		{"remote", remoteTo("https://e.com"), ""},
		{"http remote", remoteTo("http://e.com"), manifest.RuleRemoteHost},
		{"local remote", remoteTo("https://api.LOCALHOST:1/"), manifest.RuleRemoteHost},
		{"no host", remoteTo("https://:::"), manifest.RuleURLHost},
	} {
		c.check(t)
	}
	if r := manifest.Validate(document(t, nil), &manifest.Options{Profile: manifest.Registry}); r.Errors != 1 || r.Problems[0].Rule != manifest.RuleSchemaRequired {
		t.Errorf("without $schema: %v", r.Problems)
	}
}
