package manifest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/manifest"
)

type object = map[string]any

func arguments(args ...any) object { return object{"packageArguments": args} }

func remoteTo(url string) object {
	return object{"remotes": []any{object{"type": "sse", "url": url}}}
}

// messageCase is a document with one problem, and key words of its message.
type messageCase struct {
	data []byte
	want string
}

func (c *messageCase) check(t *testing.T) {
	t.Helper()
	r := manifest.Validate(c.data, nil)
	if len(r.Problems) != 1 || !errtest.Names(r.Problems[0].Error(), c.want) {
		t.Errorf("%s\ngot %v\nwant one problem with %s", c.data, r.Problems, c.want)
	}
}

// TestPublishedMistakes checks mistakes of published manifests.
func TestPublishedMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []messageCase{
		{document(t, object{"repository": object{"url": "https://e.com", "source": "s", "subfolder": "a b"}}), "has white space"},
		{document(t, object{"repository": object{}}), "repository empty leave"},
		{document(t, object{"repository": object{"url": "", "source": " "}}), "repository empty leave"},
		{document(t, object{"repository": object{"url": "", "source": "github"}}), "repository.url is \"\""},
		{document(t, dated("")), "$schema is empty (use " + manifest.CurrentSchema + ")"},
		{document(t, dated("https://e.com/schemas/2025-07-09/server.schema.json")), "2025-07-09 2025-12-11 migrate"},
		{document(t, dated("https://e.com/schemas/2999-01-01/server.schema.json")), "newer"},
		{document(t, object{"title": ""}), "title empty leave"},
		{document(t, object{"tilte": "x"}), `"tilte" "title"?`},
		{[]byte(`{"nmae": "a/b", "description": "d", "version": "1"}`), `"name" "nmae"`},
		{inPackage(t, object{"transport": object{"tpye": "stdio"}}), `"tpye" "type"`},
		{inPackage(t, object{"version": "latest "}), `packages[0].version "latest white 1.0.0`},
		{inPackage(t, object{"version": "1.0.0 "}), `white "1.0.0"`},
		{document(t, object{"version": "\t1.0.0"}), `white "1.0.0"`},
		{inPackage(t, object{"registryType": "MCPB", "fileSha256": strings.Repeat("0", 64)}), `"mcpb" case`},
		{inPackage(t, object{"identifier": ""}), "packages[0].identifier is empty"},
		{inPackage(t, object{"runtimeArguments": []any{object{"type": "named", "name": "--yes"}}}), `runtimeHint "npx"`},
		{inPackage(t, arguments(object{"type": "named", "name": "--n", "format": "number", "default": "0x1"})), "packageArguments[0].default number"},
		{inPackage(t, arguments(object{"type": "named", "name": "--n", "format": "boolean", "value": "yes"})), "packageArguments[0].value boolean"},
		{inPackage(t, arguments(object{"type": "named", "name": "--n", "format": "integer"})), `"integer" "number"?`},
		{inPackage(t, arguments(object{"type": "", "value": "-m"})), `type "positional"`},
		{inPackage(t, object{"transport": object{}}), `"type" packages[0].transport "stdio"`},
		{document(t, object{"remotes": []any{object{"type": "", "url": "https://e.com/sse/"}}}), `(write "sse")`},
		{document(t, object{"remotes": []any{object{"url": "https://e.com/mcp"}}}), `(add "type": "streamable-http")`},
		{document(t, object{"remotes": []any{object{"type": "stdio", "url": "https://e.com/mcp"}}}), "(use streamable-http or sse)"},
		{inPackage(t, arguments(object{"name": "--n"})), `"type" packages[0].packageArguments[0] "named"`},
		{document(t, headers(object{"name": "A", "value": "Bearer {api_key}"})), "remotes[0].headers[0].value declare"},
		{document(t, object{"repository": object{"url": "https://e.com", "source": "s", "subfolder": "c:/a"}}), "names a drive"},
	} {
		c.check(t)
	}
}

// TestValidateMessages checks documents with one problem and its key words.
func TestValidateMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []messageCase{
		{document(t, object{"name": "{{NAME}}"}), `"{{NAME}}" placeholder`},
		{document(t, object{"version": "{{VERSION}}"}), `version "{{VERSION}}"`},
		{document(t, object{"version": "${VERSION}"}), `the placeholder "${VERSION}"`},
		{document(t, object{"version": "<<Version>>"}), `the placeholder "<<Version>>"`},
		{document(t, object{"version": "__VERSION__"}), `the placeholder "__VERSION__"`},
		{inPackage(t, object{"fileSha256": "{{ SHA }}"}), `"{{ SHA }}" is a placeholder`},
		{inPackage(t, object{"identifier": "images.example/e/x:${TAG}"}), `packages[0].identifier has the placeholder "${TAG}"`},
		{document(t, remoteTo("https://e.com/{{PATH}}")), `the placeholder "{{PATH}}"`},
		{document(t, object{"websiteUrl": "git@e.com:a/b"}), "write https://e.com/a/b"},
		{document(t, object{"Title": "x"}), `did you mean "title"?`},
		{document(t, object{"Title": "x", "title": "x"}), `remove "title"`},
		{inPackage(t, object{"runtime_hint": "npx"}), `did you mean "runtimeHint"?`},
		{inPackage(t, object{"registryType": "PyPI"}), `"pypi" case`},
		{inPackage(t, object{"transport": object{"type": "Streamable_HTTP", "url": "x"}}), `did you mean "streamable-http"?`},
		{inPackage(t, object{"transport": object{"Type": "stdio"}}), `"Type" "type"`},
		{inPackage(t, arguments(object{"type": "positionel", "value": "x"})), `did you mean "positional"?`},
		{inPackage(t, arguments(object{"type": "named"})), `"name" packages[0].packageArguments[0]`},
		{inPackage(t, object{"transport": object{"type": "sse", "url": "https://e.com", "headers": []any{object{"name": "X", "value": "a\r\nb"}}}}), "headers[0].value has a line break"},
		{document(t, object{"version": "latest"}), "version latest specific"},
		{document(t, remoteTo("https://")), "ends after its scheme"},
		{document(t, remoteTo("{base")), "has an unclosed brace"},
		{document(t, remoteTo("https://e.com/\u00a0")), "has white space"},
		{document(t, remoteTo("https://e.com/\v")), "has white space"},
		{document(t, remoteTo("{1a}")), "without a variable name"},
		{document(t, object{"icons": []any{object{"src": "http://e.com"}}}), "is not https"},
		{document(t, object{"_meta": object{manifest.NeutralPublisherKey: 1}}), "object number"},
		{document(t, object{"_meta": object{manifest.PublisherKey: []any{}}}), "object array"},
		{document(t, object{"repository": object{"url": "https://e.com", "source": "s", "subfolder": "/a"}}), "begins with a slash"},
	} {
		c.check(t)
	}
}

func headers(list ...any) object {
	return object{"remotes": []any{object{"type": "sse", "url": "https://e.com", "headers": list}}}
}

// TestNoAdvice checks documents that are near a rule and have no problem.
func TestNoAdvice(t *testing.T) {
	t.Parallel()
	for _, data := range [][]byte{
		document(t, headers(object{"name": "A", "value": "Bearer {k}", "variables": object{"k": object{}}})),
		document(t, headers(object{"name": "A", "value": `{"a": 1}`})),
		document(t, headers(object{"name": "A", "default": "{k}"})),
		document(t, object{"license": "MIT", "titel ": "x"}),
		document(t, dated("https://e.com/other.json")),
		document(t, dated("https://e.com/schemas/draft/server.schema.json")),
		inPackage(t, object{"runtimeArguments": []any{}}),
		inPackage(t, arguments(object{"type": "named", "name": "--n", "format": "number", "default": "-1.5e3"})),
		inPackage(t, arguments(object{"type": "named", "name": "--n", "format": "boolean", "default": "True"})),
		inPackage(t, arguments(object{"type": "named", "name": "--n", "format": "number", "value": "{v}"})),
	} {
		if r := manifest.Validate(data, nil); len(r.Problems) > 0 {
			t.Errorf("%s: %v", data, r.Problems)
		}
	}
}

func TestBaseURLAloneIsValid(t *testing.T) {
	t.Parallel()
	data := document(t, object{"remotes": []any{object{"type": "sse", "url": "{baseUrl}", "variables": object{"baseUrl": object{}}}}})
	if r := manifest.Validate(data, nil); len(r.Problems) > 0 {
		t.Error(r.Problems)
	}
}

// TestNoSecretInMessages checks that no message contains a value of an input.
func TestNoSecretInMessages(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	for _, field := range []string{"value", "default", "placeholder"} {
		for _, value := range []any{
			secret, secret + "\r\n", []any{secret}, object{secret: secret}, "${" + strings.ToUpper(secret) + "}", "--token" + secret,
		} {
			in := object{"name": "--token", "type": "named", "isSecret": true, "choices": []any{"x", 5}, field: value, "variables": object{"v": object{"isSecret": true, field: value, "choices": []any{"y"}}}}
			set := arguments(in)
			set["environmentVariables"] = []any{in, in}
			set["transport"] = object{"type": "sse", "url": "https://e.com", "headers": []any{in}}
			for p := manifest.Neutral; p <= manifest.Declared; p++ {
				text := fmt.Sprintf("%+v", manifest.Validate(inPackage(t, set), &manifest.Options{Profile: p}).Problems)
				if strings.Contains(strings.ToLower(text), secret) {
					t.Errorf("%v, %s: %s", p, field, text)
				}
			}
		}
	}
}

func TestReportIsSortedAndBounded(t *testing.T) {
	t.Parallel()
	env := make([]any, 300)
	for i := range env {
		env[i] = object{"name": "A"} // 299 warnings
	}
	data := inPackage(t, object{"environmentVariables": env, "version": "latest", "runtimeHint": 1})
	r := manifest.Validate(data, nil)
	if r.Errors != 2 || r.Warnings != 299 || len(r.Problems) != 100 || r.Omitted() != 201 || r.Valid() {
		t.Fatalf("got %d errors, %d warnings, %d listed", r.Errors, r.Warnings, len(r.Problems))
	}
	checkReport(t, data, r)
	if got := len(r.Err().(manifest.Problems)); got != 2 {
		t.Errorf("the error has %d problems, want the 2 errors", got)
	}
	if r := manifest.Validate(data, &manifest.Options{MaxProblems: 1}); len(r.Problems) != 1 || r.Problems[0].Severity != manifest.Error {
		t.Errorf("got %v, want one error", r.Problems)
	}
}

// TestFixes checks that a document has no problem after its fixes.
func TestFixes(t *testing.T) {
	t.Parallel()
	data := []byte("\uFEFF" + `{"Name": "com.example/a", "description": "d", "version": "1", "packages": [
		{"registry_type": "npm", "identifier": "i", "transport": {"type": "STDIO"}, "fileSha256": "` + strings.Repeat("AB", 32) + `"},
		{"registryType": "PyPI", "identifier": "i", "transport": {"type": "stdio"}, "runtime_hint": "uvx"}]}`)
	r := manifest.Validate(data, nil)
	if len(r.Problems) != 7 {
		t.Fatalf("got %d problems, want 7: %v", len(r.Problems), r.Problems)
	}
	fixed, n := r.Problems.Fix(data)
	if r := manifest.Validate(fixed, nil); len(r.Problems) != 0 || n != 7 {
		t.Errorf("%d fixes left %v\n%s", n, r.Problems, fixed)
	}
}

// TestEmptyReport checks that the list of problems is [] and not null.
func TestEmptyReport(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(manifest.Validate(document(t, nil), nil))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"problems":[],"errors":0,"warnings":0}`; string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
}

func TestBundleLabels(t *testing.T) {
	t.Parallel()
	data := inPackage(t, object{"registryType": "zip"})
	if r := manifest.Validate(data, &manifest.Options{BundleLabels: []string{"zip"}}); r.Valid() {
		t.Error("a bundle with a label of the options is valid without fileSha256")
	}
	data = inPackage(t, object{"registryType": "mcpb"})
	if r := manifest.Validate(data, &manifest.Options{BundleLabels: []string{}}); !r.Valid() {
		t.Errorf("without labels: %v", r.Problems)
	}
}

// TestRules checks that every rule is listed once and that REFERENCE.md has a table of the
// rules of each category.
func TestRules(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[manifest.Rule]bool)
	tables := make(map[manifest.Category]string)
	for _, r := range manifest.Rules() {
		if seen[r.Rule] || r.Summary == "" || r.Category == "" {
			t.Errorf("%+v is incomplete or a duplicate", r)
		}
		seen[r.Rule] = true
		tables[r.Category] += fmt.Sprintf("| `%s` | %s |\n", r.Rule, r.Summary)
	}
	for category, rows := range tables {
		if !strings.Contains(string(page), "| rule | requires |\n|---|---|\n"+rows+"\n") {
			t.Errorf("REFERENCE.md does not have this table of the category %s:\n%s", category, rows)
		}
	}
}

func TestPositionsAfterWideCharacters(t *testing.T) {
	t.Parallel()
	data := []byte("{\"name\": \"a/b\",\r\"description\": \"😀é\", \"version\": 1}")
	r := manifest.Validate(data, nil)
	if len(r.Problems) != 1 {
		t.Fatal(r.Problems)
	}
	p := r.Problems[0]
	if p.Line != 2 || p.Column != 33 || string(data[p.Offset:p.End]) != "1" || p.Pointer != "/version" {
		t.Errorf("got %d:%d %q %s, want 2:33 \"1\" /version", p.Line, p.Column, data[p.Offset:p.End], p.Pointer)
	}
}

func TestFixOfOtherText(t *testing.T) {
	t.Parallel()
	ps := manifest.Problems{
		{Fix: &manifest.Edit{Offset: 1, End: 3, Text: "x"}},
		{Fix: &manifest.Edit{Offset: 2, End: 4, Text: "overlaps"}},
		{Fix: nil},
		{Fix: &manifest.Edit{Offset: 3, End: 3, Text: "-"}},
		{Fix: &manifest.Edit{Offset: 4, End: 99, Text: "beyond the end"}},
		{Fix: &manifest.Edit{Offset: 5, End: 4, Text: "backwards"}},
	}
	if got, n := ps.Fix([]byte("abcdef")); string(got) != "ax-def" || n != 2 {
		t.Errorf("got %q and %d, want ax-def and 2", got, n)
	}
}
