package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// naiveMatch is the definition: a star matches nothing, or one byte and what follows.
func naiveMatch(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] == '*':
		return naiveMatch(pattern[1:], s) || s != "" && naiveMatch(pattern, s[1:])
	}
	return s != "" && s[0] == pattern[0] && naiveMatch(pattern[1:], s[1:])
}

// regexpMatch is the definition by a regular expression. It is for ASCII only.
func regexpMatch(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(s)
}

// draw returns a string of up to n letters from a small alphabet, so that strings collide.
func draw(r *rand.Rand, letters string, n int) string {
	b := make([]byte, r.IntN(n+1))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func TestGlobAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for range 200_000 {
		pattern, s := draw(r, "ab**", 7)+"*"+draw(r, "ab*", 3), draw(r, "ab", 9)
		want := naiveMatch(pattern, s)
		if want {
			matched++
		}
		if got := ratelimit.GlobMatch(pattern, s); got != want {
			t.Fatalf("%q matches %q: got %v", pattern, s, got)
		}
	}
	if matched < 10_000 {
		t.Errorf("only %d of the strings match, want at least 10,000", matched)
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*", "a*", "*a", "a*b*c", "a**a", "*ab*ab*", "bar*b", "?[*]", "*é*"} {
		for _, s := range []string{"", "a", "abc", "barb", "xbarb", "abab", "?[x]", "é"} {
			f.Add(p, s)
		}
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if !strings.Contains(pattern, "*") || strings.Count(pattern, "*") > 6 || len(pattern) > 40 || len(s) > 40 {
			return
		}
		got := ratelimit.GlobMatch(pattern, s)
		if want := naiveMatch(pattern, s); got != want {
			t.Errorf("%q matches %q: got %v", pattern, s, got)
		}
		if isASCII(pattern+s) && got != regexpMatch(pattern, s) {
			t.Errorf("%q matches %q: got %v, and the regular expression differs", pattern, s, got)
		}
		if x := ratelimit.NewGlobIndex(append(fillers(), pattern)); got != (x.First(s) == len(fillers())) {
			t.Errorf("%q matches %q: the index differs", pattern, s)
		}
	})
}

// fillers make an index large enough to be hashed, and match nothing that fits
// the fuzzer's bounds.
func fillers() []string {
	all := make([]string, 20)
	for i := range all {
		all[i] = fmt.Sprintf("%050d*%050d*", i, i)
	}
	return all
}

func isASCII(s string) bool {
	for _, c := range []byte(s) {
		if c > 126 {
			return false
		}
	}
	return true
}

// One pattern covers another if no string matches only the other,
// and overlaps it if some string matches both. For short patterns, short strings suffice
// if the alphabet has a letter that no pattern has.
func TestGlobCoversAndOverlaps(t *testing.T) {
	scaletest.Unraced(t)
	r := rand.New(rand.NewPCG(3, 4))
	texts := allTexts("abz", 7)
	for range 1500 {
		p, q := draw(r, "ab*", 2)+"*"+draw(r, "ab*", 1), draw(r, "ab*", 2)+"*"+draw(r, "ab*", 1)
		covers, overlaps := true, false
		for _, s := range texts {
			inP, inQ := naiveMatch(p, s), naiveMatch(q, s)
			covers = covers && (inP || !inQ)
			overlaps = overlaps || inP && inQ
		}
		if got := ratelimit.GlobCovers(p, q); got != covers {
			t.Errorf("%q covers %q: got %v", p, q, got)
		}
		if got := ratelimit.GlobOverlaps(p, q); got != overlaps {
			t.Errorf("%q overlaps %q: got %v", p, q, got)
		}
	}
}

func allTexts(letters string, n int) []string {
	all, last := []string{""}, []string{""}
	for range n {
		var next []string
		for _, s := range last {
			for _, c := range letters {
				next = append(next, s+string(c))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// An index finds what a scan in the order of the patterns finds.
func TestGlobIndexAgainstScan(t *testing.T) {
	kinds := map[string]func(*rand.Rand) string{
		"prefix": func(r *rand.Rand) string { return draw(r, "abc", 4) + "*" },
		"suffix": func(r *rand.Rand) string { return "*" + draw(r, "abc", 4) },
		"infix":  func(r *rand.Rand) string { return "*" + draw(r, "abc", 9) + "*" },
		"ends":   func(r *rand.Rand) string { return draw(r, "ab", 3) + "*" + draw(r, "ab", 3) },
		"stars":  func(r *rand.Rand) string { return strings.Repeat("*", 1+r.IntN(3)) },
		"any":    func(r *rand.Rand) string { return draw(r, "abc*", 9) + "*" + draw(r, "abc*", 9) },
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 7, 8, 9, 60, 3000} {
				r := rand.New(rand.NewPCG(5, uint64(size)))
				patterns := make([]string, size)
				for i := range patterns {
					patterns[i] = kind(r)
				}
				compareIndex(t, r, patterns)
			}
		})
	}
}

func compareIndex(t *testing.T, r *rand.Rand, patterns []string) {
	t.Helper()
	x := ratelimit.NewGlobIndex(patterns)
	for range 400 {
		s := draw(r, "abcd", 14)
		if got, want := x.First(s), scan(patterns, s); got != want {
			t.Fatalf("%d patterns, %q: got %d, want %d", len(patterns), s, got, want)
		}
	}
}

func scan(patterns []string, s string) int {
	for i, p := range patterns {
		if ratelimit.GlobMatch(p, s) {
			return i
		}
	}
	return -1
}

// Mixed kinds compete for the first position; the stars-only pattern at the end
// catches the rest, and at the start catches all.
func TestGlobIndexMixedKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var patterns []string
	for i := range 1000 {
		patterns = append(patterns, []string{
			draw(r, "abc", 3) + "a*", "*b" + draw(r, "abc", 3), "*c" + draw(r, "abc", 3) + "*", "a*" + draw(r, "abc", 2) + "*b",
		}[i%4])
	}
	compareIndex(t, r, patterns)
	compareIndex(t, r, append(patterns, "*"))
	compareIndex(t, r, append([]string{"**"}, patterns...))
}

// Long values match like short ones, wherever the literal is.
func TestGlobIndexLongValues(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	patterns := fillers()
	for range 500 {
		patterns = append(patterns, "*"+draw(r, "abcdef", 12)+"x*")
	}
	x := ratelimit.NewGlobIndex(patterns)
	for range 300 {
		p := patterns[r.IntN(len(patterns))]
		s := draw(r, "abcdef", 3000) + strings.ReplaceAll(p, "*", "") + draw(r, "abcdef", 3000)
		if got, want := x.First(s), scan(patterns, s); got != want {
			t.Fatalf("%d bytes with %q: got %d, want %d", len(s), p, got, want)
		}
	}
}

// A value that repeats a pattern's literal at every position must not be compared
// with the pattern at every position: a client could keep a core busy for minutes.
func TestGlobIndexDoesNotHang(t *testing.T) {
	values := map[string]string{
		"one letter":         strings.Repeat("a", 1<<20),
		"two letters":        strings.Repeat("ab", 1<<19),
		"late":               strings.Repeat("c", 1<<19) + strings.Repeat("a", 1<<19),
		"just short":         strings.Repeat("a", 1000),
		"one letter, ending": strings.Repeat("a", 1<<20) + "z",
	}
	patterns := append(fillers(), "*aaaaaaa*b*z*", "*ababab*c*z*", "*bababa*c*", "*cccccc*b*")
	x := ratelimit.NewGlobIndex(patterns)
	for name, s := range values {
		start := time.Now()
		got := x.First(s)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v for one value", name, took)
		}
		equal(t, name, got, scan(patterns, s))
	}
}
