package config_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden loads each directory in testdata/golden and compares the result with the
// file of that name. Directories named merge-... are loaded with MergeDomains.
//
// In the golden file, each fault or warning has a line "position: key words": the message
// must have that position and contain the key words. The domains follow as JSON.
func TestGolden(t *testing.T) {
	const root = "testdata/golden"
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	tested := 0
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() {
			continue
		}
		tested++
		t.Run(name, func(t *testing.T) {
			messages, got := outcome(t, filepath.Join(root, name), &config.Options{MergeDomains: strings.HasPrefix(name, "merge-")})
			golden := filepath.Join(root, name+".golden")
			data, err := os.ReadFile(golden)
			require.NoError(t, err)
			words, want, _ := strings.Cut(string(data), "\n\n")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(words+"\n\n"+got), 0o666))
				want = got
			}
			assert.Equal(t, want, got)
			lines := strings.Split(strings.TrimSpace(words), "\n")
			if lines[0] == "no messages" {
				lines = nil
			}
			require.Len(t, messages, len(lines), strings.Join(messages, "\n"))
			for i, line := range lines {
				at, words, _ := strings.Cut(line, ": ")
				assert.True(t, strings.HasPrefix(messages[i], at+": "), "%q: want the position %s", messages[i], at)
				assert.Contains(t, messages[i], words)
			}
		})
	}
	assert.NotZero(t, tested)
}

// outcome returns the faults, or the warnings and the domains.
func outcome(t *testing.T, dir string, opts *config.Options) (messages []string, domains string) {
	c, err := load(dir, opts)
	if err != nil {
		return strings.Split(err.Error(), "\n"), ""
	}
	for _, w := range c.Warnings {
		messages = append(messages, w.Error())
	}
	var b strings.Builder
	for i, d := range c.Domains {
		b.WriteString(c.Files[i] + " " + compact(t, d) + "\n")
	}
	return messages, b.String()
}

// compact returns the JSON of a domain without zero values.
func compact(t *testing.T, d any) string {
	text, err := json.Marshal(d)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	text, err = json.MarshalIndent(prune(v), "", "  ")
	require.NoError(t, err)
	return string(text)
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil || e == false || e == "" || e == 0.0 {
				delete(v, k)
			} else {
				v[k] = prune(e)
			}
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}
