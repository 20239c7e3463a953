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

// TestGolden loads each directory in testdata/golden and compares what comes of it
// with the file of that name. Those called merge-... are loaded with MergeDomains.
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
			got := outcome(t, filepath.Join(root, name), &config.Options{MergeDomains: strings.HasPrefix(name, "merge-")})
			golden := filepath.Join(root, name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
	assert.NotZero(t, tested)
}

func outcome(t *testing.T, dir string, opts *config.Options) string {
	c, err := load(dir, opts)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, w := range c.Warnings {
		b.WriteString("warning: " + w.Error() + "\n")
	}
	for i, d := range c.Domains {
		b.WriteString(c.Files[i] + " " + compact(t, d) + "\n")
	}
	return b.String()
}

// compact is the JSON of a domain without its zero values.
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
