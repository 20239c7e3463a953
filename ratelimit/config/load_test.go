package config_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

func domainFile(name string) string { return "domain: " + name + "\ndescriptors: []\n" }

// domains returns the names of the domains by file name.
func domains(c *config.Config) map[string]string {
	m := make(map[string]string)
	for i, name := range c.Files {
		m[name] = c.Domains[i].Name
	}
	return m
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
}

func link(t *testing.T, target, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.Symlink(target, path))
}

func load(dir string, opts *config.Options) (*config.Config, error) {
	return config.LoadDir(config.Dir{Root: dir}, opts)
}

func TestLoadReadsYAMLFiles(t *testing.T) {
	fsys := fstest.MapFS{
		"b.yaml":          {Data: []byte(domainFile("b"))},
		"a.yml":           {Data: []byte(domainFile("a"))},
		"sub/deep/c.yaml": {Data: []byte(domainFile("c"))},
		".hidden.yaml":    {Data: []byte(domainFile("d"))},
		".git/e.yaml":     {Data: []byte(domainFile("e"))},
		"..weird/f.yaml":  {Data: []byte(domainFile("f"))},
		"sub/.h/g.yaml":   {Data: []byte(domainFile("g"))},
		"README.md":       {Data: []byte("- no configuration")},
		"sub/b.yaml.orig": {Data: []byte(domainFile("b"))},
		"sub/yaml":        {Data: []byte(domainFile("b"))},
		".git/config":     {Data: []byte("[core]")},
	}
	c, err := config.Load(fsys, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"a.yml": "a", "b.yaml": "b", "sub.deep.c.yaml": "c", ".hidden.yaml": "d",
		".git.e.yaml": "e", "..weird.f.yaml": "f", "sub..h.g.yaml": "g",
	}, domains(c))
	assert.Equal(t, []string{"README.md", ".git/config", "sub/b.yaml.orig", "sub/yaml"}, c.Ignored)

	c, err = config.Load(fsys, &config.Options{IgnoreDotFiles: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.yml", "b.yaml", "sub.deep.c.yaml"}, c.Files)
	assert.Equal(t, []string{"README.md", "sub/b.yaml.orig", "sub/yaml"}, c.Ignored)
}

func TestLoadEmptyDirectory(t *testing.T) {
	c, err := load(t.TempDir(), nil)
	require.NoError(t, err)
	assert.Zero(t, c.Ruleset.Len())
	assert.Empty(t, c.Files)
}

// A directory of which no file is read is a mistake: with it, nothing would be limited.
func TestLoadPassesOverAllFiles(t *testing.T) {
	for _, fsys := range []fstest.MapFS{
		{"limits": {Data: []byte(domainFile("a"))}},
		{"config.json": {Data: []byte(`{"domain":"a"}`)}, "sub/limits.yaml.tmpl": {}},
	} {
		_, err := config.Load(fsys, nil)
		var faults config.Faults
		require.ErrorAs(t, err, &faults)
		require.Len(t, faults, 1)
		for name := range fsys {
			assert.Contains(t, faults[0].Reason, name)
		}
		assert.Contains(t, faults[0].Reason, ".yaml")
	}
	many := fstest.MapFS{}
	for _, name := range "abcdefgh" {
		many[string(name)] = &fstest.MapFile{}
	}
	_, err := config.Load(many, nil)
	require.ErrorContains(t, err, "all 8 files")
	require.ErrorContains(t, err, "a, b, c, d, e")
	files, _ := config.Read(many, "/etc/limits", nil)
	require.Len(t, files, 1)
	assert.Equal(t, "/etc/limits", files[0].Path)
}

func TestLoadDirJoinsItsParts(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "ratelimit", "config", "a.yaml"), domainFile("a"))
	c, err := config.LoadDir(config.Dir{Root: root, Subdirectory: "ratelimit", AppDirectory: "config"}, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.yaml"}, c.Files)
}

func TestLoadDirThatIsMissing(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "current"), 0o777))
	_, err := config.LoadDir(config.Dir{Root: root + "/current", Subdirectory: "ratelimit", AppDirectory: "config"}, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, words := range []string{
		"configuration directory " + root + "/current/ratelimit/config", "no such file or directory",
		`RUNTIME_ROOT "` + root + `/current"`, `RUNTIME_SUBDIRECTORY "ratelimit"`, `RUNTIME_APPDIRECTORY "config"`,
	} {
		assert.ErrorContains(t, err, words)
	}
}

func TestLoadDirThatIsAFile(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "config"), domainFile("a"))
	_, err := config.LoadDir(config.Dir{Root: root, AppDirectory: "config"}, nil)
	require.ErrorContains(t, err, "configuration directory "+root+"/config, made of")
	require.ErrorContains(t, err, ": not a directory")
	_, err = config.LoadDir(config.Dir{Root: root, Subdirectory: "config", AppDirectory: "config"}, nil)
	require.ErrorContains(t, err, ": not a directory")
}

// configMap fills a directory like the kubelet: the files are links through ..data to a
// directory with a new name for each version.
func configMap(t *testing.T, dir, version string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		write(t, filepath.Join(dir, version, name), text)
		top, _, _ := strings.Cut(name, "/")
		if _, err := os.Lstat(filepath.Join(dir, top)); err != nil {
			link(t, filepath.Join("..data", top), filepath.Join(dir, top))
		}
	}
	link(t, version, filepath.Join(dir, "..data_tmp"))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
}

func TestConfigMapMount(t *testing.T) {
	for _, opts := range []*config.Options{nil, {IgnoreDotFiles: true}, {MergeDomains: true}} {
		dir := t.TempDir()
		configMap(t, dir, "..2026_01_01", map[string]string{
			"a.yaml":     "domain: a\ndescriptors: [{key: old}]\n",
			"sub/b.yaml": domainFile("b"),
		})
		c, err := load(dir, opts)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a.yaml": "a", "sub.b.yaml": "b"}, domains(c))

		// The next version, before the kubelet has removed the last one.
		configMap(t, dir, "..2026_01_02", map[string]string{
			"a.yaml":     "domain: a\ndescriptors: [{key: new}]\n",
			"sub/b.yaml": domainFile("b2"),
		})
		c, err = load(dir, opts)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a.yaml": "a", "sub.b.yaml": "b2"}, domains(c))
		assert.Equal(t, "new", c.Domains[0].Rules[0].Key)
	}
}

// Configurations are also swapped by a link to a release directory.
func TestLinkedRoot(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "v1", "config", "a.yaml"), domainFile("one"))
	write(t, filepath.Join(dir, "v2", "config", "a.yaml"), domainFile("two"))
	link(t, "v1", filepath.Join(dir, "current"))
	current := filepath.Join(dir, "current")
	c, err := config.LoadDir(config.Dir{Root: current, AppDirectory: "config"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "one", c.Domains[0].Name)

	link(t, "v2", filepath.Join(dir, "next"))
	require.NoError(t, os.Rename(filepath.Join(dir, "next"), current))
	c, err = config.LoadDir(config.Dir{Root: current, AppDirectory: "config"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "two", c.Domains[0].Name)
}

func TestSymlinkLoops(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), domainFile("a"))
	link(t, "..", filepath.Join(dir, "sub", "up"))
	link(t, "self", filepath.Join(dir, "self"))
	link(t, "gone.yaml", filepath.Join(dir, "dangling.yaml"))
	_, err := load(dir, nil)
	for _, want := range []string{"dangling.yaml: cannot be read", "self: cannot be read", "sub/up: symbolic link loop"} {
		assert.ErrorContains(t, err, want)
	}
	assert.Len(t, strings.Split(err.Error(), "\n"), 3)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestNeitherFileNorDirectory(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer l.Close()
	_, err = load(dir, nil)
	assert.ErrorContains(t, err, "socket: is neither")
}

// failFS fails to open one file.
type failFS struct {
	fs.FS
	name string
	err  error
}

func (f failFS) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.FS.Open(name)
}

// An unreadable file does not hide the faults of others.
func TestUnreadableFile(t *testing.T) {
	files := fstest.MapFS{"a/x.yaml": {Data: []byte("domain: x")}, "b.yaml": {Data: []byte("domain: ")}}
	_, err := config.Load(failFS{files, "a/x.yaml", fs.ErrPermission}, nil)
	assert.ErrorContains(t, err, "a/x.yaml: cannot be read")
	assert.ErrorContains(t, err, "b.yaml:1:8: ")
	assert.ErrorIs(t, err, fs.ErrPermission)
	_, err = config.Load(failFS{files, ".", errors.New("no disk")}, nil)
	assert.ErrorContains(t, err, "no disk")
}

func TestBoundsOfLoad(t *testing.T) {
	scaletest.Unraced(t)
	big := &fstest.MapFile{Data: make([]byte, config.MaxFileBytes)}
	many := fstest.MapFS{}
	for i := range 10_001 {
		many[strconv.Itoa(i)+".txt"] = &fstest.MapFile{}
	}
	for want, files := range map[string]fstest.MapFS{
		"d.3.yaml: ":             {"d/3.yaml": {Data: make([]byte, config.MaxFileBytes+1)}},
		"e/5.yaml: more than":    {"1.yaml": big, "2.yaml": big, "3.yaml": big, "4.yaml": big, "e/5.yaml": {Data: []byte("domain: e")}},
		"9999.txt: more than":    many,
		"d: more than 32 nested": {strings.Repeat("d/", 33) + "1.yaml": {}},
	} {
		_, err := config.Load(files, nil)
		assert.ErrorContains(t, err, want)
	}
}

// Links can make a small directory look endless without a loop.
func TestLinksThatMultiply(t *testing.T) {
	dir := t.TempDir()
	for _, level := range "abcdefghijklmno" {
		for _, name := range []string{"x", "y"} {
			link(t, filepath.Join(dir, string(level+1)), filepath.Join(dir, string(level), name))
		}
	}
	write(t, filepath.Join(dir, "p", "end.yaml"), domainFile("d"))
	_, err := load(dir, nil)
	assert.ErrorContains(t, err, "more than 10000 files")
}
