package config

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
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

// suggestKey returns the known key that an unknown one was probably meant to be,
// preferring those of this level, or "". A third of its letters may be wrong.
func suggestKey(key string, here level) string {
	edits := len(key) / 3
	if s := suggest.Closest(key, levelTable[here].keys, edits); s != "" {
		return s
	}
	for _, l := range levelTable {
		if s := suggest.Closest(key, l.keys, edits); s != "" {
			return s
		}
	}
	return ""
}
