package manifest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

// TestPublish: what the public registry refuses by the document alone is an error of the profile Publish and a warning of
// Registry; Neutral knows nothing of it.
func TestPublish(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("a", 64)
	bundle := func(link string) object {
		return pack(object{"registryType": "mcpb", "identifier": link, "fileSha256": sum})
	}
	image := func(reference string) object {
		return pack(object{"registryType": "oci", "identifier": reference, "version": nil})
	}
	for name, c := range map[string]struct {
		set  object
		want manifest.Rule
	}{
		"plain":                   {pack(object{"registryBaseUrl": "https://registry.npmjs.org"}), ""},
		"a crate":                 {pack(object{"registryType": "cargo", "registryBaseUrl": "https://crates.io"}), ""},
		"unknown type":            {pack(object{"registryType": "github_release"}), "public-type"},
		"type in capitals":        {pack(object{"registryType": "NuGet"}), "public-type"},
		"no version":              {pack(object{"registryType": "pypi", "version": nil}), "public-version"},
		"a hash":                  {pack(object{"registryType": "cargo", "fileSha256": sum}), "public-sha256"},
		"a slash":                 {pack(object{"registryBaseUrl": "https://registry.npmjs.org/"}), "public-base-url"},
		"another index":           {pack(object{"registryType": "pypi", "registryBaseUrl": "https://pypi.org/simple"}), "public-base-url"},
		"a private one":           {pack(object{"registryType": "nuget", "registryBaseUrl": "https://nuget.acme.example"}), "public-base-url"},
		"image":                   {image("ghcr.io/a/b:1.0.0"), ""},
		"image by digest":         {image("us-docker.pkg.dev/a/b/c:1@sha256:" + sum), ""},
		"image without host":      {image("a/b"), ""},
		"image with version":      {pack(object{"registryType": "oci", "identifier": "ghcr.io/a/b"}), "public-version"},
		"image with base":         {pack(object{"registryType": "mcpb", "identifier": "https://github.com/a/mcp/releases/download/v1/x.mcpb", "fileSha256": sum, "registryBaseUrl": "https://github.com"}), "public-base-url"},
		"image elsewhere":         {image("images.acme.example/a/b:1"), "public-identifier"},
		"image with port":         {image("ghcr.io:443/a/b:1"), "public-identifier"},
		"image in capitals":       {image("ghcr.io/A/b:1"), "public-identifier"},
		"image with short digest": {image("ghcr.io/a/b@sha256:abc"), "public-identifier"},
		"bundle":                  {bundle("https://www.github.com/a/mcp-b/releases/download/v1/x.mcpb"), ""},
		"bundle at gitlab":        {bundle("https://gitlab.com/a/b/c/-/package_files/12/download?mcp"), ""},
		"bundle elsewhere":        {bundle("https://acme.example/mcp.mcpb"), "public-identifier"},
		"bundle of no release":    {bundle("https://github.com/a/mcp/raw/main/x.mcpb"), "public-identifier"},
		"bundle over http":        {bundle("http://github.com/a/mcp/releases/download/v1/x.mcpb"), "public-identifier"},
		"bundle of another name":  {bundle("https://github.com/a/b/releases/download/v1/x.zip"), "public-identifier"},
		"meta":                    {object{"_meta": object{manifest.PublisherKey: object{"x": strings.Repeat("x", 4096)}}}, "publisher-meta"},
	} {
		c.set["$schema"] = manifest.CurrentSchema
		text := document(t, c.set)
		report := manifest.Validate(text, &manifest.Options{Profile: manifest.Publish})
		var errors []manifest.Rule
		for _, p := range report.Problems {
			if p.Severity == manifest.Error {
				errors = append(errors, p.Rule)
			}
		}
		if c.want == "" && len(errors) > 0 || c.want != "" && !slices.Equal(errors, []manifest.Rule{c.want}) {
			t.Errorf("%s: got %v, want %q", name, report.Problems, c.want)
		}
		if r := manifest.Validate(text, &manifest.Options{Profile: manifest.Registry}); r.Valid() == (c.want == "publisher-meta") {
			t.Errorf("%s in the profile registry: %v", name, r.Problems)
		}
		if r := manifest.Validate(text, nil); !r.Valid() {
			t.Errorf("%s in the profile neutral: %v", name, r.Problems)
		}
	}
}

// TestMisplaced: what is in the wrong place or has no effect is a warning, and the fix keeps everything else.
func TestMisplaced(t *testing.T) {
	t.Parallel()
	head := `{"name":"a.b/c","description":"d","version":"1",`
	for _, c := range []struct {
		before, after string
		rule          manifest.Rule
	}{
		{`"registryType":"npm","packages":[{"identifier":"x","transport":{"type":"stdio"}}]`, `"packages":[{"identifier":"x","transport":{"type":"stdio"},"registryType":"npm"}]`, "package-key-at-root"},
		{`"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"}}],"environment_variables":[]`, `"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[]}]`, "package-key-at-root"},
		{`"packages":[{"registryType":"npm","identifier":"@your-org/your-package","transport":{"type":"stdio"}}]`, "", "placeholder"},
		{`"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"YOUR_API_KEY"}]}]`, "", "placeholder"},
		{`"packages":[{"registryType":"npm","identifier":"x","version":"${VERSION}","transport":{"type":"stdio"}}]`, "", "placeholder"},
		{`"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"A"},{"name":"YOUR_API_KEY","description":"Your API key for the service"}]}]`, `"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"A"}]}]`, "placeholder"},
		{`"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"A","value":"your-api-key"}]}]`, `"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"A","placeholder":"your-api-key"}]}]`, "placeholder"},
		{`"remotes":[{"type":"sse","url":"https://e.com","headers":[{"name":"A","default":"Bearer <YOUR_TOKEN>","placeholder":"x"}]}]`, `"remotes":[{"type":"sse","url":"https://e.com","headers":[{"name":"A","placeholder":"x"}]}]`, "placeholder"},
		{`"identifier":"x"`, `"identifier":"x"`, "package-key-at-root"},
		{`"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"A"},{"name":" "}]}]`, `"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":"A"}]}]`, "variable-name-empty"},
		{`"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[{"name":""}]}]`, `"packages":[{"registryType":"npm","identifier":"x","transport":{"type":"stdio"},"environmentVariables":[]}]`, "variable-name-empty"},
		{`"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","runtimeArguments":[{"type":"named","name":"--toolset","value":"x"}]}]`, `"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","packageArguments":[{"type":"named","name":"--toolset","value":"x"}]}]`, "runtime-argument"},
		{`"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","runtimeArguments":[{"type":"named","name":"--env","value":"x"},{"type":"positional","value":"--log-format=x"},{"type":"named","name":"-it"}]}]`, `"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","runtimeArguments":[{"type":"named","name":"--env","value":"x"},{"type":"named","name":"-it"}],"packageArguments":[{"type":"positional","value":"--log-format=x"}]}]`, "runtime-argument"},
		{`"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","packageArguments":[{"type":"positional","value":"serve"}],"runtimeArguments":[{"type":"named","name":"--toolset","value":"x"},{"type":"named","name":"--log-format","value":"y"}]}]`, `"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","packageArguments":[{"type":"positional","value":"serve"}, {"type":"named","name":"--toolset","value":"x"}, {"type":"named","name":"--log-format","value":"y"}],"runtimeArguments":[]}]`, "runtime-argument"},
		{`"packages":[{"registryType":"oci","identifier":"a/b:1","transport":{"type":"stdio"},"runtimeHint":"docker","runtimeArguments":[{"type":"positional","value":"--toolset"},{"type":"positional","value":"x"}]}]`, "", "runtime-argument"},
	} {
		text := head + c.before + "}"
		report := manifest.Validate([]byte(text), nil)
		i := slices.IndexFunc(report.Problems, func(p manifest.Problem) bool { return p.Rule == c.rule })
		if i < 0 || report.Problems[i].Severity != manifest.Warning || report.Problems[i].Suggestion == "" {
			t.Errorf("%s: got %v, want %s", c.before, report.Problems, c.rule)
		}
		want := head + c.after + "}"
		if c.after == "" {
			want = text
		}
		if fixed, _, _ := manifest.Fix([]byte(text), nil); string(fixed) != want {
			t.Errorf("got %s\nwant %s", fixed, want)
		}
	}
}

// TestCases: each reported document that the public registry refuses has one error.
func TestCases(t *testing.T) {
	t.Parallel()
	samples := os.Getenv("ASHLAR_SAMPLES")
	if samples == "" {
		t.Skip("THIS TEST DID NOT RUN: ASHLAR_SAMPLES does not name the directory of samples")
	}
	dir := filepath.Join(samples, "cases", "manifest")
	refused, err := filepath.Glob(filepath.Join(dir, "publish-check", "*.json"))
	if err != nil || len(refused) == 0 {
		t.Fatalf("%s has no documents: %v", dir, err)
	}
	for _, file := range refused {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := manifest.Validate(text, &manifest.Options{Profile: manifest.Publish}); r.Errors != 1 {
			t.Errorf("%s: %v", file, r.Problems)
		}
	}
	for name, want := range map[string]struct {
		rule   manifest.Rule
		errors int // after the fixes
	}{
		"02-github-release": {"public-type", 0}, "03-root-package-keys": {"package-key-at-root", 1}, "10-base-url": {"public-base-url", 0},
		"18-default-all": {"default-not-a-choice", 0}, "19-empty-env": {"variable-name-empty", 0},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		opts := &manifest.Options{Profile: manifest.Registry}
		if r := manifest.Validate(text, opts); !slices.Contains(rulesOf(r.Problems), want.rule) {
			t.Errorf("%s: %v", name, r.Problems)
		}
		if _, _, r := manifest.Fix(text, opts); r.Errors != want.errors {
			t.Errorf("%s after the fixes: %v", name, r.Problems)
		}
	}
}
