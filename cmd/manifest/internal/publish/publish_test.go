package publish_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/publish"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/manifest"
)

const name = "io.github.ann/weather"

// files of one project of each kind.
var files = map[string]map[string]string{
	"npm": {
		"package.json": "{\n  \"name\": \"@ann/weather\",\n  \"version\": \"1.2.3\",\n  \"description\": \"Tells the weather\",\n  \"homepage\": \"https://weather.example.com\",\n  \"repository\": {\"type\": \"git\", \"url\": \"git+https://github.com/ann/weather.git\"}\n}\n",
	},
	"pypi": {
		"pyproject.toml": "[project]\nname = \"ann-weather\" # mine\nversion = \"1.2.3\"\ndescription = 'Tells the weather'\nreadme = \"docs.md\"\n\n[project.urls]\nRepository = \"https://github.com/ann/weather\"\n",
		"docs.md":        "# Weather\r\n",
	},
	"cargo": {
		"Cargo.toml": "[package]\nname = \"ann_weather\"\nversion = \"1.2.3\"\ndescription = \"Tells the weather\"\nrepository = \"https://github.com/ann/weather\"\n\n[dependencies]\nversion = \"9.9.9\"\n",
		"README.md":  "# Weather",
	},
	"nuget": {
		"Ann.Weather.csproj": "<Project Sdk=\"Microsoft.NET.Sdk\">\n  <PropertyGroup>\n    <PackageId>Ann.Weather</PackageId>\n    <Version> 1.2.3 </Version>\n    <Description>Tells the weather</Description>\n    <RepositoryUrl>git@github.com:ann/weather.git</RepositoryUrl>\n  </PropertyGroup>\n</Project>\n",
		"README.md":          "Weather, <!-- mcp-name: io.github.bob/weather -->\n",
	},
	"oci": {
		"Dockerfile":  "FROM scratch\nLABEL org.opencontainers.image.version=\"1.2.3\" \\\n  org.opencontainers.image.description='Tells the weather' \\\n  org.opencontainers.image.source=https://github.com/ann/weather \\\n  org.opencontainers.image.ref.name=images.example.com/ann/weather\nCOPY x /x\n",
		".git/config": "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@github.com:ann/weather.git\n",
	},
}

// project writes the files of a kind and reads them.
func project(t *testing.T, kind string) *publish.Project {
	t.Helper()
	dir := t.TempDir()
	for file, text := range files[kind] {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	p, err := publish.Read(dir)
	require.NoError(t, err)
	return p
}

// A draft from the files of each kind is a manifest that a registry accepts.
func TestDraft(t *testing.T) {
	t.Parallel()
	for kind, identifier := range map[string]string{"npm": "@ann/weather", "pypi": "ann-weather", "cargo": "ann_weather", "nuget": "Ann.Weather", "oci": "images.example.com/ann/weather:1.2.3"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := project(t, kind).Draft()
			if kind == "nuget" {
				require.Equal(t, "io.github.bob/weather", s.Name, "the README names the server")
			} else {
				require.Equal(t, name, s.Name)
			}
			require.Equal(t, "1.2.3", s.Version)
			require.Equal(t, "Tells the weather", s.Description)
			require.Equal(t, "https://github.com/ann/weather", s.Repository.URL)
			require.Len(t, s.Packages, 1)
			require.Equal(t, kind, s.Packages[0].RegistryType)
			require.Equal(t, identifier, s.Packages[0].Identifier)
			text, err := json.Marshal(s)
			require.NoError(t, err)
			require.NoError(t, manifest.Validate(text, nil).Err())
		})
	}
}

// Sync changes the version and the server name of each kind and no other byte; a second time nothing.
func TestSync(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]map[string]string{
		"npm": {
			"package.json": strings.NewReplacer("1.2.3", "2.0.0", "weather.git\"}\n", "weather.git\"},\n  \"mcpName\": \""+name+"\"\n").Replace(files["npm"]["package.json"]),
		},
		"pypi": {
			"pyproject.toml": strings.Replace(files["pypi"]["pyproject.toml"], "1.2.3", "2.0.0", 1),
			"docs.md":        "# Weather\r\n\r\n<!-- mcp-name: " + name + " -->\r\n",
		},
		"cargo": {
			"Cargo.toml": strings.Replace(files["cargo"]["Cargo.toml"], "1.2.3", "2.0.0", 1),
			"README.md":  "# Weather\n\nmcp-name: " + name + "\n",
		},
		"nuget": {
			"Ann.Weather.csproj": strings.Replace(files["nuget"]["Ann.Weather.csproj"], "1.2.3", "2.0.0", 1),
			"README.md":          "Weather, <!-- mcp-name: " + name + " -->\n",
		},
		"oci": {
			"Dockerfile": strings.Replace(files["oci"]["Dockerfile"], "1.2.3", "2.0.0", 1) + "LABEL io.modelcontextprotocol.server.name=\"" + name + "\"\n",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := project(t, kind)
			s := &manifest.Server{Name: name, Version: "2.0.0"}
			c, err := p.Sync(s)
			require.NoError(t, err)
			got := map[string]string{}
			for _, file := range c.Names() {
				got[file] = string(c.Files[file])
				require.NoError(t, os.WriteFile(filepath.Join(p.Dir, file), c.Files[file], 0o600))
			}
			require.Equal(t, want, got)
			require.Len(t, c.Differences, 2)
			p, err = publish.Read(p.Dir)
			require.NoError(t, err)
			c, err = p.Sync(s)
			require.NoError(t, err)
			require.Empty(t, c.Differences)
			require.Empty(t, c.Files)
		})
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, step, want string }{
		{"1.2.3", "patch", "1.2.4"},
		{"1.2.3", "minor", "1.3.0"},
		{"1.2.3", "major", "2.0.0"},
		{"1.2.3-rc.1", "patch", "1.2.3"},
		{"2.0.0-rc.1", "major", "2.0.0"},
		{"1.2.3-rc.1", "minor", "1.3.0"},
		{"v1.2.3+build", "patch", "v1.2.4"},
		{"1.2.3", "7.0.0-beta", "7.0.0-beta"},
	} {
		got, err := publish.Next(c.version, c.step)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s %s", c.version, c.step)
	}
	_, err := publish.Next("2026.1", "minor")
	require.ErrorContains(t, err, "has not the form 1.2.3")
}

// Bump changes what has the version of the server, and says what else there is to do.
func TestBump(t *testing.T) {
	t.Parallel()
	const text = `{
  "name": "io.github.ann/weather", "description": "d", "version": "1.2.3", "x": 1,
  "packages": [
    {"registryType": "npm", "identifier": "w", "version": "1.2.3", "transport": {"type": "stdio"}},
    {"registryType": "pypi", "identifier": "w", "version": "9.0.0", "transport": {"type": "stdio"}},
    {"registryType": "oci", "identifier": "ghcr.io/a/w:1.2.3@sha256:00", "transport": {"type": "stdio"}},
    {"registryType": "mcpb", "identifier": "https://example.com/mcp/1.2.3/w.mcpb", "fileSha256": "aa", "transport": {"type": "stdio"}}
  ]
}
`
	d, err := manifest.Parse([]byte(text), nil)
	require.NoError(t, err)
	bumped, notes, err := publish.Bump(d, "1.3.0")
	require.NoError(t, err)
	require.Equal(t, strings.NewReplacer("1.2.3@sha256:00", "1.3.0", "1.2.3", "1.3.0").Replace(text), bumped.Text())
	require.Len(t, notes, 3)
	for i, words := range []string{`/packages/1/version "9.0.0"`, "/packages/2/identifier digest", "/packages/3/fileSha256"} {
		require.True(t, errtest.Names(notes[i], words), notes[i])
	}
}

// registry answers as the registries of packages and servers do.
func registry(t *testing.T, paths map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := paths[r.Method+" "+r.URL.EscapedPath()]
		switch {
		case !ok:
			http.NotFound(w, r)
		case strings.HasPrefix(text, "status "):
			w.WriteHeader(map[string]int{"500": 500, "429": 429}[strings.TrimPrefix(text, "status ")])
		default:
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Each registry accepts the package that names the server, and refuses the others with what to do.
func TestCheck(t *testing.T) {
	t.Parallel()
	paths := func(server string) map[string]string {
		readme := "# Weather\n<!-- mcp-name: " + server + " -->\n"
		text, err := json.Marshal(readme)
		require.NoError(t, err)
		return map[string]string{
			"GET /@ann%2Fweather/1.2.3":                      `{"mcpName": "` + server + `"}`,
			"GET /pypi/ann-weather/1.2.3/json":               `{"info": {"description": ` + string(text) + `}}`,
			"GET /v3-flatcontainer/ann.weather/index.json":   `{"versions": ["1.0.0", "1.2.3"]}`,
			"GET /v3-flatcontainer/ann.weather/1.2.3/readme": readme,
			"GET /api/v1/crates/ann_weather/1.2.3":           `{"version": {}}`,
			"GET /api/v1/crates/ann_weather/1.2.3/readme":    `{"url": "/readmes/ann_weather.html"}`,
			"GET /readmes/ann_weather.html":                  "<p>mcp-name: " + server + "</p>",
			"GET /v2/ann/weather/manifests/1.2.3":            `{"manifests": [{"digest": "sha256:aa"}, {"digest": "sha256:bb"}]}`,
			"GET /v2/ann/weather/manifests/sha256:aa":        `{"config": {"digest": "sha256:cc"}}`,
			"GET /v2/ann/weather/blobs/sha256:cc":            `{"config": {"Labels": {"io.modelcontextprotocol.server.name": "` + server + `"}}}`,
			"HEAD /mcp/w.mcpb":                               "",
		}
	}
	check := func(paths map[string]string, version string) ([]publish.Problem, error) {
		base := registry(t, paths)
		s := &manifest.Server{Name: name, Version: version}
		opts := &publish.Options{Registry: base, Files: true, Packages: map[string]string{}}
		for _, kind := range []string{"npm", "pypi", "nuget", "cargo", "oci"} {
			k := manifest.Package{RegistryType: kind, Identifier: map[string]string{"npm": "@ann/weather", "pypi": "ann-weather", "nuget": "Ann.Weather", "cargo": "ann_weather", "oci": "images.example.com/ann/weather:1.2.3"}[kind]}
			if kind != "oci" {
				k.Version = new("1.2.3")
			}
			s.Packages = append(s.Packages, k)
			opts.Packages[kind] = base
		}
		s.Packages = append(s.Packages, manifest.Package{RegistryType: "mcpb", Identifier: base + "/mcp/w.mcpb"})
		return publish.Check(t.Context(), s, opts)
	}

	problems, err := check(paths(name), "1.2.3")
	require.NoError(t, err)
	require.Empty(t, problems)

	// A name that only begins with that of the server is another one.
	for _, server := range []string{name + "-evil", "io.github.bob/weather"} {
		problems, err = check(paths(server), "1.2.3")
		require.NoError(t, err)
		require.Len(t, problems, 5)
		for i, p := range problems {
			require.Equal(t, fmt.Sprintf("/packages/%d", i), p.Pointer)
			require.Contains(t, p.Message, "\""+server+"\"")
			require.Contains(t, p.Message, name)
		}
	}
	problems, err = check(paths(""), "1.2.3")
	require.NoError(t, err)
	require.Len(t, problems, 5)
	require.Contains(t, problems[0].Message, `"mcpName": "`+name+`"`)

	problems, err = check(map[string]string{"GET /v0.1/servers/io.github.ann%2Fweather/versions/1.2.3": `{"server": {"name": "a/b", "description": "d", "version": "1"}}`}, "1.2.3")
	require.NoError(t, err)
	require.Len(t, problems, 7)
	require.Equal(t, "/version", problems[0].Pointer)
	require.Contains(t, problems[0].Message, "published already")
	require.Contains(t, problems[1].Message, `"@ann/weather" 1.2.3 is not published`)
	require.Contains(t, problems[6].Message, "404")

	broken := paths(name)
	broken["GET /@ann%2Fweather/1.2.3"] = "status 500"
	broken["GET /pypi/ann-weather/1.2.3/json"] = "<html>"
	_, err = check(broken, "1.2.3")
	require.ErrorContains(t, err, "500")
	require.ErrorContains(t, err, "not the JSON")
}

// Files that cannot be read are errors that name them.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{"package.json": "{", "pyproject.toml": "a = ", "x.csproj": "<a>", "Cargo.toml": "[", "Dockerfile": strings.Repeat("x", 5<<20)} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		_, err := publish.Read(dir)
		require.ErrorContains(t, err, file+": ")
	}
}
