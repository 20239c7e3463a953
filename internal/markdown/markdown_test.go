package markdown_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"github.com/ashlar-go/ashlar/internal/markdown"
)

func TestCheckLinks(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"LICENSE":     {Data: []byte("free\n")},
		"OTHER.md":    {Data: []byte("# Other\n\n## What's `here`, and why\n")},
		"docs/a/b.md": {Data: []byte("# One\n")},
	}
	for text, want := range map[string]string{
		"[a](../LICENSE), [b](a/b.md) and [c](a/) [d](./a \"title\")":        "",
		"[![badge](../LICENSE)](a)":                                          "",
		"[a]: ../LICENSE\n[b]: https://example.com/x":                        "",
		"[a](https://example.com/nothing) [b](mailto:x@example.com)":         "",
		"[a](https://github.com/ashlar-go/ashlar/blob/main/LICENSE)":         "",
		"# One thing\n\n[a](#one-thing) [b](../OTHER.md#whats-here-and-why)": "",
		"```text\n[a](missing)\n```\n`[a](missing)`":                         "",
		"\n[a](missing.md)":               "docs/D.md:2: link to missing.md: ",
		"[a](LICENSE)":                    "link to LICENSE",
		"[![badge](missing.svg)](a)":      "link to missing.svg",
		"[![badge](../LICENSE)](missing)": "link to missing",
		"[a]: missing":                    "link to missing",
		"[a](https://github.com/ashlar-go/ashlar/blob/main/no)": "main/no: ",
		"[a](/LICENSE)":            "path outside of the repository",
		"[a](../../LICENSE)":       "path outside of the repository",
		"[a](#missing)\n\nmissing": "docs/D.md has no heading for #missing",
		"[a](../OTHER.md#missing)": "OTHER.md has no heading for #missing",
		"[a](a#anchor)":            "link to a#anchor",
	} {
		faults := markdown.New("docs/D.md", text).CheckLinks(tree)
		if want == "" {
			assert.Empty(t, faults, text)
		} else if assert.Len(t, faults, 1, text) {
			assert.Contains(t, faults[0], want, text)
		}
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	page := markdown.New("D.md", "<!-- first -->\n```sh\na\nb\n```\n\n  ```text\n  c\n  ```\n`code` and ```\n```go\nopen")
	var got []string
	for _, b := range page.Blocks() {
		got = append(got, b.Above+"|"+b.Language+"|"+b.Text())
	}
	assert.Equal(t, []string{"<!-- first -->|sh|a\nb\n", "|text|  c\n", "`code` and ```|go|open\n"}, got)
	assert.Len(t, page.BlocksOf("sh", "go"), 2)
	assert.NotContains(t, strings.Join(page.Prose(), "\n"), "code")
}
