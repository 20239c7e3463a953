package config_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// versions returns a directory whose root is a link to v0, beside v1 to v3. The limit of
// each version is its number.
func versions(t *testing.T, subdirectory, appDirectory string) config.Dir {
	t.Helper()
	dir := t.TempDir()
	source := config.Dir{Root: filepath.Join(dir, "current"), Subdirectory: subdirectory, AppDirectory: appDirectory}
	for i := range 4 {
		write(t, filepath.Join(dir, fmt.Sprint("v", i), subdirectory, appDirectory, "a.yaml"), domain("a", i))
	}
	relink(t, "v0", source.Root)
	return source
}

// withoutPolling returns options with which only events report changes.
func withoutPolling() *config.WatchOptions { return &config.WatchOptions{Poll: time.Hour} }

func TestSwapOfTheRoot(t *testing.T) {
	for name, swap := range map[string]func(t *testing.T, target, root string){
		"renamed over": relink,
		"removed and made again": func(t *testing.T, target, root string) {
			require.NoError(t, os.Remove(root))
			require.NoError(t, os.Symlink(target, root))
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := versions(t, "ratelimit", "config")
			r := start(t, source, withoutPolling())
			r.untilUsed(map[string]uint32{"a": 0})
			for i := range uint32(4) {
				r.loads(func() { swap(t, fmt.Sprint("v", i), source.Root) })
				r.untilUsed(map[string]uint32{"a": i})
			}
		})
	}
}

// The reference service loads nothing in this case and counts a success.
func TestEmptyPartsOfDir(t *testing.T) {
	for _, parts := range [][2]string{{"", "config"}, {"ratelimit", ""}, {"", ""}} {
		t.Run(fmt.Sprintf("%q", parts), func(t *testing.T) {
			source := versions(t, parts[0], parts[1])
			r := start(t, source, withoutPolling())
			r.untilUsed(map[string]uint32{"a": 0})
			r.loads(func() { relink(t, "v1", source.Root) })
			r.untilUsed(map[string]uint32{"a": 1})
		})
	}
}

// A root that is a directory is replaced, or its attributes change.
func TestRootIsDirectory(t *testing.T) {
	source := prepared(t)
	r := start(t, source, withoutPolling())
	r.loads(func() { require.NoError(t, os.Chmod(source.Root, 0o750)) })
	next := source
	next.Root = filepath.Join(t.TempDir(), "next")
	write(t, filepath.Join(next.Path(), "a.yaml"), domain("a", 7))
	r.fails("RUNTIME_ROOT", func() { require.NoError(t, os.Rename(source.Root, source.Root+".old")) })
	r.loads(func() { require.NoError(t, os.Rename(next.Root, source.Root)) })
	r.untilUsed(map[string]uint32{"a": 7})
}

// Other names in the parent of the root do not count, and neither does anything below.
func TestOnlySwapOfRootCounts(t *testing.T) {
	source := versions(t, "ratelimit", "config")
	r := start(t, source, nil)
	r.ignores(func() {
		write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 8))
		write(t, filepath.Join(source.Path(), "b.yaml"), domain("b", 8))
		require.NoError(t, os.Chmod(filepath.Join(source.Path(), "a.yaml"), 0o400))
		write(t, filepath.Join(filepath.Dir(source.Root), "currently"), "text")
		require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(source.Root), "v3")))
	})
	r.loads(func() { relink(t, "v0", source.Root) })
	r.untilUsed(map[string]uint32{"a": 8, "b": 8})
}

func TestSwapToInvalidVersionAndBack(t *testing.T) {
	source := versions(t, "", "config")
	write(t, filepath.Join(filepath.Dir(source.Root), "v1", "config", "a.yaml"), "domain: a\ndomaim: b\n")
	r := start(t, source, withoutPolling())
	r.fails("a.yaml:2:1: ", func() { relink(t, "v1", source.Root) })
	r.ignores(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 9)) })
	r.loads(func() { relink(t, "v2", source.Root) })
	r.untilUsed(map[string]uint32{"a": 2})
}

// In a version without the directory of the files, changes count until the next swap.
func TestSwapToVersionWithoutFiles(t *testing.T) {
	source := versions(t, "ratelimit", "config")
	v1 := filepath.Join(filepath.Dir(source.Root), "v1")
	require.NoError(t, os.RemoveAll(filepath.Join(v1, "ratelimit")))
	r := start(t, source, nil)
	require.ErrorIs(t, r.fails("RUNTIME_ROOT", func() { relink(t, "v1", source.Root) }), fs.ErrNotExist)
	r.loads(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 5)) })
	r.loads(func() { write(t, filepath.Join(source.Path(), "b.yaml"), domain("b", 5)) })
	r.untilUsed(map[string]uint32{"a": 5, "b": 5})

	r.loads(func() { relink(t, "v2", source.Root) })
	r.untilUsed(map[string]uint32{"a": 2})
	r.ignores(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 6)) })
	r.ignores(func() { write(t, filepath.Join(v1, "ratelimit", "config", "a.yaml"), domain("a", 6)) })
}

func TestRootRemovedAndCreated(t *testing.T) {
	source := versions(t, "ratelimit", "config")
	r := start(t, source, withoutPolling())
	for i := range uint32(3) {
		err := r.fails("RUNTIME_ROOT", func() { require.NoError(t, os.Remove(source.Root)) })
		require.ErrorIs(t, err, fs.ErrNotExist)
		r.loads(func() { relink(t, fmt.Sprint("v", i), source.Root) })
		r.untilUsed(map[string]uint32{"a": i})
	}
	r.ignores(func() { write(t, filepath.Join(source.Path(), "a.yaml"), domain("a", 9)) })
}

// A root that is created as a directory is filled file by file, and each one counts.
func TestRootFilledInPlace(t *testing.T) {
	source := config.Dir{Root: filepath.Join(t.TempDir(), "current"), Subdirectory: "ratelimit", AppDirectory: "config"}
	r := start(t, source, nil)
	require.ErrorIs(t, r.failure(), fs.ErrNotExist)
	want := map[string]uint32{}
	for _, name := range []string{"a", "b", "c"} {
		r.loads(func() { write(t, filepath.Join(source.Path(), name+".yaml"), domain(name, 1)) })
		want[name] = 1
		r.untilUsed(want)
	}
}

// The path of the parent may contain a link too, and be missing at first.
func TestParentOfRootIsSwapped(t *testing.T) {
	top := t.TempDir()
	source := config.Dir{Root: filepath.Join(top, "release", "current"), AppDirectory: "config"}
	r := start(t, source, nil)
	for i := range uint32(3) {
		write(t, filepath.Join(top, fmt.Sprint("r", i), "v0", "config", "a.yaml"), domain("a", int(i)))
		write(t, filepath.Join(top, fmt.Sprint("r", i), "v1", "config", "a.yaml"), domain("a", int(i)+100))
		relink(t, "v0", filepath.Join(top, fmt.Sprint("r", i), "current"))
		r.loads(func() { relink(t, fmt.Sprint("r", i), filepath.Join(top, "release")) })
		r.untilUsed(map[string]uint32{"a": i})
		r.loads(func() { relink(t, "v1", source.Root) })
		r.untilUsed(map[string]uint32{"a": i + 100})
	}
}

// A relative root has a parent too.
func TestRelativeRoot(t *testing.T) {
	for name, root := range map[string]string{"here": ".", "nothing": "", "below": "current/"} {
		t.Run(name, func(t *testing.T) {
			source := versions(t, "", "config")
			if name == "below" {
				t.Chdir(filepath.Dir(source.Root))
			} else {
				t.Chdir(source.Root)
			}
			source.Root = root
			r := start(t, source, nil)
			r.untilUsed(map[string]uint32{"a": 0})
			if name == "below" {
				r.loads(func() { relink(t, "v1", "current") })
				r.untilUsed(map[string]uint32{"a": 1})
			}
		})
	}
}
