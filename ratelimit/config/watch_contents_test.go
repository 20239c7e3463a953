package config_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// contents returns options with which only events report changes of the contents.
func contents() *config.WatchOptions {
	return &config.WatchOptions{WatchContents: true, Poll: time.Hour}
}

// prepared returns a directory with the files a.yaml and sub/b.yaml.
func prepared(t *testing.T) config.Dir {
	t.Helper()
	source := config.Dir{Root: filepath.Join(t.TempDir(), "current"), Subdirectory: "ratelimit", AppDirectory: "config"}
	write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 1))
	write(t, filepath.Join(source.Path(), "sub", "b.yaml"), domain("b", 1))
	return source
}

// A change of a file in the directory, or in one below, loads all files again.
func TestTriggersOfContents(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, file string)
		want   []string // of the files
	}{
		"write":  {func(t *testing.T, file string) { write(t, file, domain("c", 2)) }, []string{"c"}},
		"create": {func(t *testing.T, file string) { write(t, file+".more.yaml", domain("c", 2)) }, []string{"old", "c"}},
		"chmod":  {func(t *testing.T, file string) { require.NoError(t, os.Chmod(file, 0o400)) }, []string{"old"}},
		"remove": {func(t *testing.T, file string) { require.NoError(t, os.Remove(file)) }, nil},
		"rename": {func(t *testing.T, file string) {
			require.NoError(t, os.Rename(file, strings.TrimSuffix(file, ".yaml")+"-new.yml"))
		}, []string{"old"}},
		"replace": {func(t *testing.T, file string) {
			other := filepath.Join(t.TempDir(), "other")
			write(t, other, domain("c", 2))
			require.NoError(t, os.Rename(other, file))
		}, []string{"c"}},
	} {
		for file, old := range map[string]string{"a.yaml": "a", "sub/b.yaml": "b"} {
			t.Run(name+" "+file, func(t *testing.T) {
				source := prepared(t)
				r := start(t, source, contents())
				r.untilUsed(map[string]uint32{"a": 1, "b": 1})
				r.loads(func() { c.change(t, filepath.Join(source.Path(), file)) })

				want := map[string]uint32{"a": 1, "b": 1}
				delete(want, old)
				for _, name := range c.want {
					switch name {
					case "old":
						want[old] = 1
					default:
						want[name] = 2
					}
				}
				r.untilUsed(want)
			})
		}
	}
}

func TestNewDirectoriesAreWatched(t *testing.T) {
	source := prepared(t)
	r := start(t, source, contents())
	for i, path := range []string{"new/c.yaml", "new/d.yaml", "new/very/deep/e.yaml", "new/very/deep/f.yaml"} {
		r.loads(func() { write(t, filepath.Join(source.Path(), path), domain(string(rune('c'+i)), 3)) })
	}
	r.untilUsed(map[string]uint32{"a": 1, "b": 1, "c": 3, "d": 3, "e": 3, "f": 3})
	r.loads(func() { require.NoError(t, os.RemoveAll(filepath.Join(source.Path(), "new"))) })
	r.untilUsed(map[string]uint32{"a": 1, "b": 1})
}

func TestLinkedDirectoriesAreWatched(t *testing.T) {
	source := prepared(t)
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "c.yaml"), domain("c", 1))
	relink(t, elsewhere, filepath.Join(source.Path(), "linked"))
	r := start(t, source, contents())
	r.untilUsed(map[string]uint32{"a": 1, "b": 1, "c": 1})
	r.loads(func() { write(t, filepath.Join(elsewhere, "c.yaml"), domain("c", 2)) })
	r.untilUsed(map[string]uint32{"a": 1, "b": 1, "c": 2})
}

// A link to a directory that contains it makes the load fail, but must not break the
// watch, which reports the removal of the link.
func TestLinkLoop(t *testing.T) {
	source := prepared(t)
	loop := filepath.Join(source.Path(), "sub", "loop")
	relink(t, "..", loop)
	opts := contents()
	opts.MaxDirs = 2 // the top and sub: the loop adds none
	r := start(t, source, opts)
	assert.ErrorContains(t, r.failure(), "sub/loop: symbolic link loop")
	r.loads(func() { require.NoError(t, os.Remove(loop)) })
	assert.Empty(t, r.log.String())
}

func TestDotFiles(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		t.Run(fmt.Sprint("ignored ", ignore), func(t *testing.T) {
			source := prepared(t)
			opts := contents()
			opts.Load = &config.Options{IgnoreDotFiles: ignore}
			hidden := filepath.Join(source.Path(), ".hidden")
			write(t, filepath.Join(hidden, "c.yaml"), domain("c", 1))
			r := start(t, source, opts)

			want := map[string]uint32{"a": 1, "b": 1}
			more := func() { write(t, filepath.Join(hidden, "d.yaml"), domain("d", 1)) }
			if ignore {
				r.untilUsed(want)
				r.ignores(more) // its directory is not part of the configuration
			} else {
				r.loads(more)
				want["c"], want["d"] = 1, 1
				r.untilUsed(want)
			}

			// In the watched directory any name is a trigger.
			r.loads(func() { write(t, filepath.Join(source.Path(), ".e.yaml"), domain("e", 1)) })
			if !ignore {
				want["e"] = 1
			}
			r.untilUsed(want)
		})
	}
}

// An invalid file rejects all files and does not end the watch.
func TestInvalidFileThenValidOne(t *testing.T) {
	source := prepared(t)
	r := start(t, source, contents())
	var faults config.Faults
	require.ErrorAs(t, r.fails("'eon'", func() {
		write(t, filepath.Join(source.Path(), "a.yaml"), "domain: a\ndescriptors:\n  - ky: k\n  - key: k\n    rate_limit: {unit: eon}\n")
	}), &faults)
	assert.Len(t, faults, 3, "all faults are reported: %v", faults)
	assert.ErrorContains(t, faults, "a.yaml:3:5: config error, unknown key 'ky'")
	assert.ErrorContains(t, faults, "a.yaml:5:24: invalid rate limit unit 'eon'")
	r.loads(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 5)) })
	r.untilUsed(map[string]uint32{"a": 5, "b": 1})
}

// Writing the same content is a load too, which statistics count.
func TestSameContentIsLoadedAgain(t *testing.T) {
	source := prepared(t)
	r := start(t, source, contents())
	r.loads(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 1)) })
	r.untilUsed(map[string]uint32{"a": 1, "b": 1})
}

func TestDirectoryMissingAtStart(t *testing.T) {
	for _, watchContents := range []bool{true, false} {
		t.Run(fmt.Sprint("contents ", watchContents), func(t *testing.T) {
			source := config.Dir{Root: filepath.Join(t.TempDir(), "current"), Subdirectory: "ratelimit", AppDirectory: "config"}
			require.NoError(t, os.Mkdir(source.Root, 0o700))
			r := start(t, source, &config.WatchOptions{WatchContents: watchContents})
			require.ErrorIs(t, r.failure(), fs.ErrNotExist)
			for _, name := range []string{source.Path(), "RUNTIME_ROOT", "RUNTIME_SUBDIRECTORY", "RUNTIME_APPDIRECTORY"} {
				assert.ErrorContains(t, r.failure(), name)
			}
			r.loads(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 1)) })
			r.untilUsed(map[string]uint32{"a": 1})
			// The first load may have been incomplete.
			r.loads(func() { write(t, filepath.Join(source.Path(), "sub", "b.yaml"), domain("b", 1)) })
			r.loads(func() { write(t, filepath.Join(source.Path(), "sub", "b.yaml"), domain("b", 2)) })
			r.untilUsed(map[string]uint32{"a": 1, "b": 2})
			assert.Empty(t, r.log.String(), "a missing directory is reported by failed only")
		})
	}
}

func TestDirectoryRemovedAndCreated(t *testing.T) {
	source := prepared(t)
	r := start(t, source, &config.WatchOptions{WatchContents: true})
	for range 2 {
		err := r.fails("RUNTIME_ROOT", func() { require.NoError(t, os.RemoveAll(source.Root)) })
		require.ErrorIs(t, err, fs.ErrNotExist)
		r.loads(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 2)) })
		r.untilUsed(map[string]uint32{"a": 2})
	}
}

// With WatchContents, a swap of a link on the path counts too.
func TestContentsBehindSwappedLink(t *testing.T) {
	dir := t.TempDir()
	source := config.Dir{Root: filepath.Join(dir, "current"), AppDirectory: "config"}
	for i := range 3 {
		write(t, filepath.Join(dir, fmt.Sprint("v", i), "config", "a.yaml"), domain("a", i))
	}
	relink(t, "v0", source.Root)
	r := start(t, source, &config.WatchOptions{WatchContents: true})
	for i := range uint32(3) {
		r.loads(func() { relink(t, fmt.Sprint("v", (i+1)%3), source.Root) })
		r.untilUsed(map[string]uint32{"a": (i + 1) % 3})
	}
	r.loads(func() { write(t, filepath.Join(dir, "v0", "config", "a.yaml"), domain("a", 9)) })
	r.untilUsed(map[string]uint32{"a": 9})
}

// MaxDirs bounds the watched directories, which is logged once.
func TestMaxDirs(t *testing.T) {
	source := prepared(t)
	for i := range 10 {
		write(t, filepath.Join(source.Path(), fmt.Sprint("z", i), "c.yaml"), domain(fmt.Sprint("c", i), 1))
	}
	opts := contents()
	opts.MaxDirs = 3 // the top, sub and z0
	r := start(t, source, opts)
	r.loads(func() { write(t, filepath.Join(source.Path(), "z0", "c.yaml"), domain("c0", 2)) })
	r.ignores(func() { write(t, filepath.Join(source.Path(), "z1", "c.yaml"), domain("c1", 2)) })
	r.loads(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 2)) })
	r.until("all are loaded", func() bool { return len(limits(r.loaded[len(r.loaded)-1])) == 12 })
	assert.Equal(t, 1, strings.Count(r.log.String(), "too many directories"), r.log.String())
	assert.Contains(t, r.log.String(), "watched=3")
}
