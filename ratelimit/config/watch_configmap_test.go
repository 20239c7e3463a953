package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// volume is a directory like that of a mounted ConfigMap: the files are links through
// ..data, which is a link to a directory with a date.
type volume struct {
	t       *testing.T
	dir     string
	version int
	last    string // the directory with a date
}

// publish replaces the contents like the kubelet: it writes a directory, swaps ..data,
// adds links for new names, and removes old links and directories.
func (v *volume) publish(contents map[string]string) {
	v.t.Helper()
	v.version++
	dated := fmt.Sprintf("..2026_11_21_10_%02d_%02d.%d", v.version/60, v.version%60, 1000000000+v.version)
	for path, text := range contents {
		write(v.t, filepath.Join(v.dir, dated, path), text)
	}
	require.NoError(v.t, os.Symlink(dated, filepath.Join(v.dir, "..data_tmp")))
	require.NoError(v.t, os.Rename(filepath.Join(v.dir, "..data_tmp"), filepath.Join(v.dir, "..data")))
	for path := range contents {
		top, _, _ := strings.Cut(path, "/")
		if _, err := os.Lstat(filepath.Join(v.dir, top)); err != nil {
			require.NoError(v.t, os.Symlink(filepath.Join("..data", top), filepath.Join(v.dir, top)))
		}
	}
	v.prune(contents)
	if v.last != "" {
		require.NoError(v.t, os.RemoveAll(filepath.Join(v.dir, v.last)))
	}
	v.last = dated
}

// prune removes the links without a target.
func (v *volume) prune(contents map[string]string) {
	v.t.Helper()
	entries, err := os.ReadDir(v.dir)
	require.NoError(v.t, err)
	for _, e := range entries {
		exists := strings.HasPrefix(e.Name(), "..")
		for path := range contents {
			top, _, _ := strings.Cut(path, "/")
			exists = exists || top == e.Name()
		}
		if !exists {
			require.NoError(v.t, os.Remove(filepath.Join(v.dir, e.Name())))
		}
	}
}

// below prefixes all paths with a directory.
func below(dir string, contents map[string]string) map[string]string {
	moved := map[string]string{}
	for path, text := range contents {
		moved[filepath.Join(dir, path)] = text
	}
	return moved
}

func TestConfigMap(t *testing.T) {
	for name, mount := range map[string]struct {
		source func(dir string) config.Dir
		prefix string // of the files in the volume
		opts   config.WatchOptions
	}{
		"mounted as the directory of the files": {
			func(dir string) config.Dir {
				return config.Dir{Root: filepath.Dir(dir), AppDirectory: filepath.Base(dir)}
			}, "", config.WatchOptions{WatchContents: true},
		},
		"mounted above the directory of the files": {
			func(dir string) config.Dir { return config.Dir{Root: dir, AppDirectory: "config"} },
			"config",
			config.WatchOptions{WatchContents: true},
		},
		"root through ..data": {
			func(dir string) config.Dir {
				return config.Dir{Root: filepath.Join(dir, "current"), Subdirectory: "ratelimit", AppDirectory: "config"}
			}, "current/ratelimit/config", config.WatchOptions{},
		},
		"root is ..data": {
			func(dir string) config.Dir {
				return config.Dir{Root: filepath.Join(dir, "..data"), AppDirectory: "config"}
			}, "config", config.WatchOptions{},
		},
	} {
		for _, ignore := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dot files ignored %v", name, ignore), func(t *testing.T) {
				opts := mount.opts
				opts.Load = &config.Options{IgnoreDotFiles: ignore}
				v := &volume{t: t, dir: t.TempDir()}
				v.publish(below(mount.prefix, map[string]string{"a.yaml": domain("a", 0)}))
				r := start(t, mount.source(v.dir), &opts)
				r.untilUsed(map[string]uint32{"a": 0})
				for i := 1; i < 4; i++ {
					r.loads(func() {
						v.publish(below(mount.prefix, map[string]string{"a.yaml": domain("a", i), "sub/b.yaml": domain("b", i)}))
					})
					r.untilUsed(map[string]uint32{"a": uint32(i), "b": uint32(i)})
				}
				r.loads(func() { v.publish(below(mount.prefix, map[string]string{"c.yaml": domain("c", 9)})) })
				r.untilUsed(map[string]uint32{"c": 9})
				r.stop()
				assert.Empty(t, r.log.String())
			})
		}
	}
}
