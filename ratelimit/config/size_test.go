package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// bigFile returns a file with n rules, a hundred for each parent.
func bigFile(n int) []byte {
	var b strings.Builder
	b.WriteString("domain: big\ndescriptors:\n")
	for i := range n {
		if i%100 == 0 {
			fmt.Fprintf(&b, "  - key: tenant\n    value: t%d\n    descriptors:\n", i)
		}
		fmt.Fprintf(&b, "      - key: path\n        value: /p/%d\n        rate_limit:\n          unit: minute\n          requests_per_unit: %d\n", i, i)
	}
	return []byte(b.String())
}

// parseSoon parses a file and fails the test if that takes more than a minute, which is a
// hundred times what an idle machine needs. Without bounds it would take hours.
func parseSoon(t *testing.T, data []byte) (*config.Config, error) {
	t.Helper()
	start := time.Now()
	c, err := config.Parse([]config.File{{Name: "f", Data: data}}, nil)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
	return c, err
}

func TestBigFile(t *testing.T) {
	c, err := parseSoon(t, bigFile(10_000))
	require.NoError(t, err)
	assert.Len(t, c.Domains[0].Rules, 100)
	assert.Empty(t, c.Warnings)
}

func BenchmarkParse10000Rules(b *testing.B) {
	files := []config.File{{Name: "big.yaml", Data: bigFile(10_000)}}
	b.SetBytes(int64(len(files[0].Data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Parse(files, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// bomb returns nine levels of ten aliases of the previous level each. line is the format
// of a level, with its number and its aliases; alias is the format of an alias, with the
// number of its target and its own.
func bomb(line, alias string) string {
	var b strings.Builder
	for i := range 9 {
		var refs []string
		for j := range 10 {
			refs = append(refs, fmt.Sprintf(alias, i, j))
		}
		fmt.Fprintf(&b, line, i+1, strings.Join(refs, ", "))
	}
	return b.String()
}

// Small files with a huge expansion are rejected quickly.
func TestHugeExpansions(t *testing.T) {
	deep := func(n int, open, end string) string {
		return "domain: d\ndescriptors: " + strings.Repeat(open, n) + strings.Repeat(end, n)
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases in metadata": {
			"domain: d\ndescriptors:\n- key: k\n  metadata:\n    a: &a0 [x]\n" + bomb("    b%[1]d: &a%[1]d [%[2]s]\n", "*a%[1]d"),
			"document contains excessive aliasing",
		},
		"aliases of rules": {
			"domain: d\ndescriptors:\n- {key: k, descriptors: &a0 [{key: x}]}\n" +
				bomb("- {key: k%[1]d, descriptors: &a%[1]d [%[2]s]}\n", "{key: k%[2]d, descriptors: *a%[1]d}"),
			"document contains excessive aliasing",
		},
		"merge keys": {
			"domain: d\ndescriptors:\n- &a0 {key: k}\n" + bomb("- &a%[1]d {<<: [%[2]s]}\n", "*a%[1]d"),
			"document contains excessive aliasing",
		},
		"wrong position": {
			"domain: d\nname:\n- &a0 {key: k}\n" + bomb("- &a%[1]d {replaces: [%[2]s]}\n", "*a%[1]d"),
			"document contains excessive aliasing",
		},
		"nested lists":           {deep(100_000, "[", "]"), "exceeded max depth"},
		"nested lists in bound":  {deep(290, "[", "]"), "list of type other than map"},
		"nested lists beyond it": {deep(9_000, "[", "]"), "nested more than 300 levels deep"},
		"nested rules":           {deep(400, "[{key: k, descriptors: ", "}]"), "nested more than"},
		"nested rules in bound":  {deep(101, "[{key: k, descriptors: ", "}]"), "nested more than 100 levels deep"},
		"nested metadata": {
			"domain: d\ndescriptors:\n- key: k\n  metadata: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000),
			"nested more than 300 levels deep",
		},
		"long keys": {
			"domain: d\ndescriptors:\n- key: " + strings.Repeat("k", 1<<20) + "\n  descriptors:\n" + strings.Repeat("  - key: k\n", 1000),
			"come to more than 67108864 bytes",
		},
		"long unknown keys": {strings.Repeat("? "+strings.Repeat("k", 1<<17)+"\n", 10), "unknown key"},
		"many tabs":         {"a:\n" + strings.Repeat("\t", 1<<20) + "b", "cannot start any token"},
		"many comments":     {"domain: d\n" + strings.Repeat("# c\n", 1<<18), ""},
		"many keys":         {"domain: d\n" + manyKeys(100_000), "more than 1000 problems"},
		"large":             {"domain: d\n" + strings.Repeat("#", 17<<20), "16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseSoon(t, []byte(c.text))
			if c.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.want)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	return b.String()
}
