package manifest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/manifest"
)

// mixed has sound and broken parts.
const mixed = `{"name": 5, "description": "d", "title": null, "repository": {"url": 1, "source": "s"}, "icons": "x", "x": [1],
"packages": [
	{"registryType": "npm", "identifier": "good", "version": "1.0.0", "transport": {"type": "stdio"}},
	{"registryType": "npm", "identifier": "bad", "version": "latest", "transport": {"type": "stdio"}, "runtimeHint": 7},
	"nothing",
	{"registryType": "npm", "identifier": "twice", "identifier": "two", "transport": {"type": "stdio"}}
],
"remotes": [{"type": "sse", "url": "nowhere"}, {"type": "sse", "url": "https://e.com", "headers": [{"name": "A"}]}]}`

func TestRead(t *testing.T) {
	t.Parallel()
	d, _ := manifest.Parse([]byte(mixed), nil)
	r := d.Read(nil)
	s := r.Server
	if s.Name != "" || s.Description != "d" || s.Title != nil || s.Icons != nil || s.Repository == nil || s.Repository.Source != "s" || len(s.Extra) != 1 {
		t.Errorf("read %+v", s)
	}
	if len(s.Packages) != 4 || len(s.Remotes) != 2 || s.Packages[1].Identifier != "bad" || s.Packages[1].RuntimeHint != nil {
		t.Fatalf("read %+v and %+v", s.Packages, s.Remotes)
	}
	if p, err := r.Package(0); err != nil || p.Identifier != "good" {
		t.Errorf("the sound package: %v, %v", p, err)
	}
	if e, err := r.Remote(1); err != nil || e.URL != "https://e.com" || len(e.Headers) != 1 {
		t.Errorf("the sound remote: %v, %v", e, err)
	}
	for i, want := range [][]manifest.Rule{1: {"package-version-latest", "type"}, 2: {"type"}, 3: {"json-duplicate-key"}} {
		_, err := r.Package(i)
		var ps manifest.Problems
		if errors.As(err, &ps); !slices.Equal(rulesOf(ps), want) {
			t.Errorf("package %d: got %v, want %v", i, err, want)
		}
		for j := range ps {
			if ps[j].Line != 3+i || !strings.HasPrefix(ps[j].Pointer, "/packages/") {
				t.Errorf("package %d: %v has another index", i, &ps[j])
			}
		}
	}
	if _, err := r.Package(4); err == nil || !strings.Contains(err.Error(), "no package 4") {
		t.Errorf("a package that does not exist: %v", err)
	}
	if want := manifest.Validate([]byte(mixed), nil); r.Report.Errors != want.Errors || r.Report.Errors < 8 {
		t.Errorf("got %d errors, want %d", r.Report.Errors, want.Errors)
	}
}

// TestReadAmbiguous checks texts of which readers could take other parts: none is usable.
func TestReadAmbiguous(t *testing.T) {
	t.Parallel()
	const good = `[{"registryType":"npm","identifier":"i","transport":{"type":"stdio"}}]`
	for text, usable := range map[string]bool{
		`{"packages":` + good + `}`:                                        true,
		"\uFEFF" + `{"packages":` + good + `}`:                             true,
		`{"x":1,"x":2,"packages":` + good + `}`:                            true,
		`{"packages":[],"packages":` + good + `}`:                          false,
		`{"packages":` + good + `} {"packages":[]}`:                        false,
		`{"packages":[{"packages":` + good + `}]}`:                         false,
		`{"_meta":{"packages":0},"packages":` + good + `}`:                 true,
		`{"packages":` + strings.Replace(good, `"i"`, "\"\xff\"", 1) + `}`: false,
	} {
		d, _ := manifest.Parse([]byte(text), nil)
		if _, err := d.Read(nil).Package(0); (err == nil) != usable {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`[]`, `null`, `{`, ``, `{"packages":{}}`, `{"packages":null}`} {
		d, _ := manifest.Parse([]byte(text), nil)
		if r := d.Read(nil); r.Server == nil || r.Report.Valid() || len(r.Server.Packages) != 0 {
			t.Errorf("%q is read as %+v", text, r.Server)
		}
	}
}

// TestReadUsesTheProfile checks that a part has the rules of the options.
func TestReadUsesTheProfile(t *testing.T) {
	t.Parallel()
	d := parsed(t, `{"remotes":[{"type":"sse","url":"http://localhost/"}]}`)
	if _, err := d.Read(nil).Remote(0); err != nil {
		t.Errorf("neutral: %v", err)
	}
	if _, err := d.Read(&manifest.Options{Profile: manifest.Registry}).Remote(0); err == nil {
		t.Error("a registry accepts a remote on the local host")
	}
}

// TestDeclared checks that the $schema selects the rules.
func TestDeclared(t *testing.T) {
	t.Parallel()
	const local = `"packages":[{"registryType":"npm","identifier":"i","transport":{"type":"stdio"}}]`
	const old = `"packages":[{"registry_type":"npm","identifier":"i","version":"1","transport":{"type":"stdio"},"environment_variables":[{"name":"A","is_required":true}]}]`
	for _, c := range []struct {
		date, keys string
		errors     int
		rules      []manifest.Rule
	}{
		{"2025-07-09", old, 0, []manifest.Rule{"schema-deprecated"}},
		{"2025-07-09", local, 1, []manifest.Rule{"schema-deprecated", "required"}},
		{"2025-09-16", local, 1, []manifest.Rule{"schema-deprecated", "required"}},
		{"2025-09-16", old, 2, []manifest.Rule{"schema-deprecated", "required", "package-key", "package-key"}},
		{"2025-09-29", local, 1, []manifest.Rule{"schema-deprecated", "required"}},
		{"2025-10-11", local, 0, []manifest.Rule{"schema-deprecated"}},
		{"2025-10-17", local, 0, []manifest.Rule{"schema-deprecated"}},
		{"2025-10-17", `"remotes":[{"type":"streamable-http","url":"nowhere"}]`, 0, []manifest.Rule{"schema-deprecated"}},
		{"2025-12-11", `"remotes":[{"type":"sse","url":"{a}"}]`, 1, []manifest.Rule{"url-template"}},
		{"draft", `"remotes":[{"type":"sse","url":"{a}","variables":{"a":{}}}]`, 0, nil},
		{"2999-01-01", `"title":"t"`, 0, []manifest.Rule{"schema-unknown"}},
	} {
		text := `{"$schema":"https://e.com/schemas/` + c.date + `/server.schema.json","name":"a/b","description":"d","version":"1",` + c.keys + `}`
		r := manifest.Validate([]byte(text), &manifest.Options{Profile: manifest.Declared})
		if r.Errors < c.errors || (c.errors == 0) != r.Valid() {
			t.Errorf("%s, %s: %v", c.date, c.keys, r.Problems)
		}
		for _, rule := range c.rules {
			if !slices.Contains(rulesOf(r.Problems), rule) {
				t.Errorf("%s, %s: %v has no %s", c.date, c.keys, r.Problems, rule)
			}
		}
	}
}
