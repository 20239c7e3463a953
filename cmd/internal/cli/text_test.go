package cli_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                  "",
		"naïve, 日本":         "naïve, 日本",
		"a\tb\r\n":          "a b??",
		"\x1b[31m\u202ered": "?[31m?red",
		"\xff\u00a0":        "??", // not UTF-8, and a space that looks like any other
	} {
		require.Equal(t, want, cli.Printable(in), "%q", in)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 errors, 1 error, 2 errors", cli.Count(0, "error")+", "+cli.Count(1, "error")+", "+cli.Count(2, "error"))
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 1000)
	for name, c := range map[string]struct {
		before, after string
		width         int
		want          string
	}{
		"within":        {"a:\tb ", "c d", 1, "    7 | a: b c d\n      |      ^"},
		"wide":          {"a ", "bcd e", 3, "    7 | a bcd e\n      |   ^^^"},
		"over the end":  {"a ", "bcd", 30, "    7 | a bcd\n      |   ^^^"},
		"start of line": {"", "x", 0, "    7 | x\n      | ^"},
		"end of line":   {"x", "", 5, "    7 | x\n      |  ^"},
		"long line": {
			long, "!" + long, 1,
			"    7 | ..." + strings.Repeat("ä", 66) + "!" + strings.Repeat("ä", 33) + "...\n      | " + strings.Repeat(" ", 3+66) + "^",
		},
		"long, at its start": {"", long, 1, "    7 | " + strings.Repeat("ä", 100) + "...\n      | ^"},
	} {
		shown, marker := cli.Excerpt(7, c.before, c.after, c.width)
		require.Equal(t, c.want, shown+marker, name)
	}
}

func TestReadInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		stdin io.Reader
		want  string
		err   error
	}{
		"all":    {strings.NewReader("abc"), "abc", nil},
		"bound":  {strings.NewReader("abcdef"), "abcd", nil},
		"broken": {iotest.ErrReader(broken), "", broken},
	} {
		got, err := cli.Env{Stdin: c.stdin}.ReadInput(t.Context(), 4)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.want, string(got), name)
	}
}

// A program that waits for somebody to type ends with its context.
func TestReadInputInterrupted(t *testing.T) {
	t.Parallel()
	silent, typist := io.Pipe()
	defer typist.Close() // which ends the reader that is left behind
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("the program ends")
	cancel(ended)
	_, err := cli.Env{Stdin: silent}.ReadInput(ctx, 4)
	require.ErrorIs(t, err, ended)
}
