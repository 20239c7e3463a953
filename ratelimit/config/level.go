package config

import (
	"slices"
	"strings"
)

// level is one kind of map in a configuration document.
type level int

const (
	inDocument level = iota
	inRule
	inLimit
	inReplaces
)

// levelTable says where each level is, in the words of reasons, and which keys
// mean something there.
var levelTable = [...]struct {
	name string
	keys []string
}{
	inDocument: {"at the top of the file", []string{"domain", "descriptors"}},
	inRule: {"in a descriptor", []string{
		"key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode",
		"detailed_metric", "value_to_metric", "share_threshold", "on_store_failure", "metadata",
	}},
	inLimit:    {"in rate_limit", []string{"unit", "requests_per_unit", "unlimited", "name", "replaces"}},
	inReplaces: {"in an entry of replaces", []string{"name"}},
}

func (l level) String() string { return levelTable[l].name }

func (l level) knows(key string) bool { return slices.Contains(levelTable[l].keys, key) }

// known reports whether the key means something somewhere: the reference service
// asks no more of it.
func known(key string) bool {
	for l := range levelTable {
		if level(l).knows(key) {
			return true
		}
	}
	return false
}

// belongs says where a known key belongs.
func belongs(key string) string {
	var names []string
	for l := range levelTable {
		if level(l).knows(key) {
			names = append(names, level(l).String())
		}
	}
	return strings.Join(names, " or ")
}

// suggest finds the key that was probably meant by an unknown one: first among
// those of this level, then among all. It is empty if none is close.
func suggest(key string, here level) string {
	if len(key) > maxShown {
		return ""
	}
	if s := closest(key, levelTable[here].keys); s != "" {
		return s
	}
	for _, l := range levelTable {
		if s := closest(key, l.keys); s != "" {
			return s
		}
	}
	return ""
}

// closest finds the candidate that differs by spelling (requestsPerUnit) or else
// by the fewest edits: one for each three letters.
func closest(key string, candidates []string) string {
	best, fewest := "", len(key)/3+1
	for _, c := range candidates {
		a, b := fold(key), fold(c)
		if a == b {
			return c
		}
		if abs(len(a)-len(b)) >= fewest {
			continue
		}
		if n := edits(a, b); n < fewest {
			best, fewest = c, n
		}
	}
	return best
}

func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

func abs(n int) int { return max(n, -n) }

// edits is the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
