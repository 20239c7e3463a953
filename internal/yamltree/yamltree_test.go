package yamltree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// TestParse: scalars are as they are written, and aliases and merge keys are resolved.
func TestParse(t *testing.T) {
	t.Parallel()
	root, err := yamltree.Parse([]byte("base: &base {version: 15.20, kind: a}\nnode:\n  <<: *base\n  kind: b\nlist: [*base, !vault x, ~]\n"))
	require.NoError(t, err)
	node := root.Get("node")
	require.Equal(t, "15.20", node.Get("version").Text)
	require.Equal(t, "b", node.Get("kind").Text, "own fields count before merged ones")
	require.Equal(t, 4, node.Get("kind").Line)
	list := root.Get("list").Items
	require.Len(t, list, 3)
	require.Equal(t, "a", list[0].Get("kind").Text)
	require.Equal(t, "!vault", list[1].Tag)
	require.Equal(t, yamltree.Null, list[2].Kind)
	require.Equal(t, yamltree.Null, root.Get("other").Get("deeper").Kind)
}

// TestBounds: a file that is wrong or too large has an error with its line.
func TestBounds(t *testing.T) {
	t.Parallel()
	laughs := "a: &a [x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("%c: &%[1]c [%s]\n", 'b'+i, strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 10))
	}
	for _, c := range []struct {
		text, want string
		line       int
	}{
		{"", "is empty", 1},
		{"a: 1\nb: [", "is not YAML", 2},
		{"a: 1\nb: *hunter2\n", "an alias names no anchor", 1},
		{"a: 1\na: 2\n", "duplicate key", 2},
		{"? [a]\n: 1\n", "must be a text", 1},
		{"a: 1\n---\nb: 1\n", "a second document", 3},
		{"a: &a [*a]\n", "contains itself", 1},
		{"a: \xff", "is not UTF-8", 1},
		{strings.Repeat("[", 5000), "is not YAML", 1},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested more than 100 levels", 1},
		{laughs, "excessive aliasing", 7},
		{strings.Repeat("# comment\n", 1<<20), "more than 8 MiB", 1},
	} {
		_, err := yamltree.Parse([]byte(c.text))
		require.ErrorContains(t, err, c.want)
		e, ok := err.(*yamltree.Error)
		require.True(t, ok, c.want)
		require.Equal(t, c.line, e.Line, c.want)
	}
}

// FuzzParse: no file breaks the parser, and errors have a line.
func FuzzParse(f *testing.F) {
	f.Add("a: &a {b: 1}\nc: {<<: *a}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		root, err := yamltree.Parse([]byte(text))
		if err == nil {
			require.NotNil(t, root)
			return
		}
		e, ok := err.(*yamltree.Error)
		require.True(t, ok)
		require.Positive(t, e.Line)
	})
}
