package printable_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/printable"
)

func TestString(t *testing.T) {
	for s, want := range map[string]string{
		"":               "",
		"café №1":        "café №1",
		"a\nb\x00c":      "a?b?c",
		"\u202eabc":      "?abc",
		"\xff\xfe":       "??",
		"tab\tand\u2028": "tab?and?",
	} {
		if got := printable.String(s); got != want {
			t.Errorf("String(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"ab€", 5, "ab€"},
		{"ab€c", 5, "ab€..."},
		{"ab€c", 4, "ab..."},
		{"ab€c", 3, "ab..."},
		{"€€", 1, "..."},
		{strings.Repeat("\x80", 9), 8, "????????..."},
	} {
		if got := printable.Truncate(c.s, c.n); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestPrefixCountsCharacters(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"ab", 3, "ab"},
		{"a\nb€d", 4, "a?b€"},
		{"😀😀😀", 2, "😀😀"},
		{"aaaaaaa😀", 2, "aa"},
	} {
		if got := printable.Prefix(c.s, c.n); got != c.want {
			t.Errorf("Prefix(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestJoin(t *testing.T) {
	if got := printable.Join([]int{1, 20}, ", ", strconv.Itoa); got != "1, 20" {
		t.Errorf("%q", got)
	}
	if got := printable.Join(nil, ", ", strconv.Itoa); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
