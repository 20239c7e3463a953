package ashlar_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// smallTree returns a small repository to which the test documents refer.
func smallTree() fs.FS {
	files := map[string]string{
		"go.mod":             "module github.com/ashlar-go/ashlar\n\ngo 1.26\n",
		"Makefile":           "test: ## run all tests\n\techo run:\n",
		"LICENSE":            "free\n",
		"OTHER.md":           "# Other\n\n## What's `here`, and why\n",
		"a/a.go":             "package a\n\nfunc F() {\n\tif true {\n\t\tg()\n\n\t\th()\n\t}\n}\n",
		"a/a_test.go":        "package a\n",
		"a/testdata/t.go":    "package t\n\nfunc F() {}\n",
		"a/_old/o.go":        "package o\n\nfunc F() {}\n",
		"a/ignored.go":       "//go:build ignore\n\npackage a\n\nfunc F() {}\n",
		"b/go.mod":           "module b\n",
		"b/b.go":             "package b\n\nfunc F() {}\n",
		"examples/c/go.mod":  "module c\n",
		"examples/c/c.go":    "package c\n\nfunc F() {}\n",
		"tests/only_test.go": "package tests\n",
		"a/limits.yaml":      "domain: d\ndescriptors:\n  - key: k\n    value: v\n",
	}
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return tree
}

// runCases runs a check on small documents. It must report exactly one fault that contains the
// value, or none if the value is empty.
func runCases(t *testing.T, check func(*markdown.Page, fs.FS) []string, documents map[string]string) {
	t.Helper()
	t.Parallel()
	for text, want := range documents {
		found := strings.Join(check(markdown.New("D.md", text), smallTree()), "\n")
		if want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("%s\n\nreported %q, want %q", text, found, want)
		}
		if strings.Contains(found, "\n") {
			t.Errorf("%s\n\nmore than one fault reported:\n%s", text, found)
		}
	}
}

func TestCheckCode(t *testing.T) {
	runCases(t, checkCode, map[string]string{
		"<!-- from a/a.go -->\n```go\nfunc F() {\n\tif true {\n```":              "",
		"<!-- from a/a.go -->\n```go\ng()\n\nh()\n```":                           "",
		"<!-- from a/a.go -->\n```go\n    g()\n\n    h()\n```":                   "",
		"<!-- from a/a.go -->\n```go\nif true {\n\tg()\n```":                     "",
		"<!-- from a/limits.yaml -->\n```yaml\n- key: k\n  value: v\n```":        "",
		"```text\nfree\n```\n\n```\nfree too\n```":                               "",
		"<!-- from a/a.go -->\n```go\ng()\nh()\n```":                             "D.md:2: a/a.go does not contain the block",
		"<!-- from a/a.go -->\n```go\nif true {\ng()\n```":                       "does not contain the block",
		"<!-- from a/a.go -->\n```go\nfunc F()\n```":                             "does not contain the block",
		"<!-- from a/a.go -->\n```go\n\n```":                                     "the block is empty",
		"text\n```go\ng()\n```":                                                  "D.md:2: a block of go without a source",
		"<!-- from a/a.go -->\n\n```go\ng()\n```":                                "without a source",
		"```yaml\ndomain: d\n```":                                                "without a source",
		"```yml\ndomain: d\n```":                                                 "without a source",
		"<!-- from a/limits.yaml -->\n```yaml\n- key: other\n```":                "does not contain the block",
		"<!-- from a/missing.yaml -->\n```yaml\nx: y\n```":                       "a/missing.yaml: file does not exist",
		"<!-- from a/missing.go -->\n```go\nx\n```":                              "a/missing.go: file does not exist",
		"<!-- from a/limits.yaml -->\n```go\ndomain: d\n```":                     "is not a Go file",
		"<!-- from a/testdata/t.go -->\n```go\nfunc F() {}\n```":                 "the go command ignores a/testdata",
		"<!-- from a/_old/o.go -->\n```go\nfunc F() {}\n```":                     "the go command ignores a/_old",
		"<!-- from a/ignored.go -->\n```go\nfunc F() {}\n```":                    "a build constraint excludes it",
		"<!-- from b/b.go -->\n```go\nfunc F() {}\n```":                          "b is another module",
		"<!-- from examples/c/c.go -->\n```go\nfunc F() {}\n```":                 "",
		"<!-- from a/a.go -->\n```go\ng()\n```\n\n```go\nfunc Unclosed() {\n}\n": "D.md:6: ",
	})
}

func TestCheckCommands(t *testing.T) {
	sh := func(lines string) string { return "```sh\n" + lines + "\n```" }
	runCases(t, checkCommands, map[string]string{
		sh("make test\nmake test RACE=1  # all of them\ncd x"): "",
		sh("go run ./a\ncurl \\\n  x"):                         "",
		sh("go get \\\n  github.com/ashlar-go/ashler"):         `D.md:2: "go get github.com/ashlar-go/ashler": use`,
		sh("go get github.com/ashlar-go/ashlar@latest"):        "",
		sh("go get github.com/ashlar-go/ashlar/a"):             "",
		sh("go test ./...\ngo test -race ./a ./tests"):         "",
		"```text\ngo run ./b\n```":                             "",
		sh("make"):                                             "",
		sh("cd x\nmake tset"):                                  `D.md:3: "make tset": the Makefile has no target tset`,
		sh("make run"):                                         "no target run",
		sh("make test && rm -r x"):                             "no target &&",
		sh("go get github.com/ashlar-go/ashler"):               "use go get github.com/ashlar-go/ashlar",
		sh("go get github.com/ashlar-go/ashlar/c"):             "use go get",
		sh("go get -u github.com/ashlar-go/ashlar"):            "without other arguments",
		sh("go test ./b"):                                      "no tests in ./b",
		sh("go test ./a; go run ./b"):                          "no tests in ./a;",
	})
}

func TestCheckPackages(t *testing.T) {
	const module = "github.com/ashlar-go/ashlar"
	runCases(t, checkPackages, map[string]string{
		"Import " + module + "/a. Or `" + module + "/a@latest`, or " + module + ".": "",
		"go list " + module + "/...":                    "",
		"https://" + module + "/issues":                 "",
		"pkg.example/" + module + "/a":                  "",
		"```go\nimport \"" + module + "/missing\"\n```": "D.md:2: unknown package " + module + "/missing",
		module + "/a/b":                                 "unknown package",
		"pkg.example/" + module + "/c":                  "unknown package",
		module + "/tests":                               "unknown package",
	})
}

func TestCheckMap(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	for _, name := range []string{"doc.go", "a/a.go", "a/b/b.go", "a/internal/c/c.go", "a/testdata/d.go", "cmd/e/e.go", "examples/f/f.go", "g/g_test.go", ".h/h.go"} {
		tree[name] = &fstest.MapFile{}
	}
	const a, b = "[github.com/ashlar-go/ashlar/a]", "[github.com/ashlar-go/ashlar/a/b]"
	for text, want := range map[string]string{
		a + ", " + b: "",
		a:            "doc.go: package a/b is not in the package index: add a link, " + b,
		a + "\n" + b + " [github.com/ashlar-go/ashlar/a/x]": "doc.go:2: unknown package a/x",
		a + b + "[github.com/ashlar-go/ashlar/g]":           "unknown package g",
	} {
		found := strings.Join(checkMap(markdown.New("doc.go", text), tree), "\n")
		if want == "" && found != "" || !strings.Contains(found, want) || strings.Contains(found, "\n") {
			t.Errorf("%s\n\nreported %q, want %q", text, found, want)
		}
	}
}

func TestFillSettings(t *testing.T) {
	t.Parallel()
	rows := []settings.Variable{
		{Group: "G", Name: "A", Default: "1", Doc: "this | that"},
		{Group: "G", Name: "B", Doc: "other"},
		{Group: "H", Name: "C", Aliases: []string{"D", "E"}},
	}
	const table = "x\n<!-- settings -->\n\n| G | Default | Meaning |\n|---|---|---|\n| `A` | `1` | this \\| that |\n| `B` |  | other |\n\n" +
		"| H | Default | Meaning |\n|---|---|---|\n| `C`, `D`, `E` |  |  |\n\n<!-- /settings -->\ny"
	for text, want := range map[string]string{
		"no table": "no table",
		table:      table,
		"x\n<!-- settings -->\n<!-- /settings -->\ny":         table,
		strings.Replace(table, "`1`", "`2`", 1):               table,
		strings.Replace(table, "| `B` |  | other |\n", "", 1): table,
	} {
		if got, faults := fillSettings(markdown.New("D.md", text), rows); got != want || len(faults) > 0 {
			t.Errorf("%s\n\nbecomes %s\n\nand %q, want\n\n%s", text, got, faults, want)
		}
	}
	for _, text := range []string{"<!-- settings -->", "<!-- /settings -->", "<!-- /settings -->\n<!-- settings -->"} {
		if got, faults := fillSettings(markdown.New("D.md", text), rows); got != text || len(faults) != 1 {
			t.Errorf("%s\n\nbecomes %s\n\nand %q, want one fault", text, got, faults)
		}
	}
}
