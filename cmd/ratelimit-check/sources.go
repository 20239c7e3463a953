package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sources is the file system that the configuration is loaded from: one directory,
// or several arguments side by side. It keeps what was read.
type sources struct {
	roots map[string]string  // paths by the first element of a name; by "." if there is one directory
	order []string           // the keys of roots
	stdin []byte             // contents of the file "-"
	files []*source          // in the order in which they were opened
	named map[string]*source // by name; nil where two files have it
}

// source is a file that was opened.
type source struct {
	path  string // as the user would name it
	name  string // as package config names it
	data  bytes.Buffer
	lines []string // of data, split on first use
}

const (
	standardInput = "-"
	inputName     = "<stdin>"
)

func newSources(paths []string, stdin []byte) *sources {
	s := &sources{roots: make(map[string]string), named: make(map[string]*source), stdin: stdin}
	if len(paths) == 1 && paths[0] != standardInput && !isFile(paths[0]) {
		s.roots["."] = paths[0]
		return s
	}
	for _, p := range paths {
		name := s.freeName(p)
		s.roots[name] = p
		s.order = append(s.order, name)
	}
	return s
}

// isFile returns false if the path does not exist.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// freeName finds a name for an argument beside the others. It does not begin with a dot, and
// that of a file ends in .yaml: arguments are read even with -ignore_dot_files, and whatever
// their extension.
func (s *sources) freeName(path string) string {
	base := strings.TrimLeft(filepath.Base(path), ".")
	if base == "" || path == standardInput {
		base = "input"
	}
	extension := ""
	if path == standardInput || isFile(path) {
		extension = ".yaml"
	}
	name := strings.TrimSuffix(base, extension) + extension
	for n := 2; s.roots[name] != ""; n++ {
		name = fmt.Sprintf("%s.%d%s", base, n, extension)
	}
	return name
}

// path returns the path, as the user wrote it, of a name in the file system.
func (s *sources) path(name string) string {
	if root, ok := s.roots["."]; ok {
		return filepath.Join(root, filepath.FromSlash(name))
	}
	first, rest, _ := strings.Cut(name, "/")
	if s.isInput(first) {
		return inputName
	}
	return filepath.Join(s.roots[first], filepath.FromSlash(rest))
}

// isInput reports whether the name is that of the standard input.
func (s *sources) isInput(name string) bool { return s.roots[name] == standardInput }

// top reports whether the name is that of the directory of several arguments.
func (s *sources) top(name string) bool { return name == "." && s.order != nil }

// Stat is part of [fs.StatFS].
func (s *sources) Stat(name string) (fs.FileInfo, error) {
	switch {
	case s.top(name):
		return info{name, fs.ModeDir}, nil
	case s.isInput(name):
		return info{name, 0}, nil
	}
	return os.Stat(s.path(name))
}

// ReadDir is part of [fs.ReadDirFS].
func (s *sources) ReadDir(name string) ([]fs.DirEntry, error) {
	if !s.top(name) {
		return os.ReadDir(s.path(name))
	}
	var entries []fs.DirEntry
	for _, name := range s.order {
		entries = append(entries, fs.FileInfoToDirEntry(info{name, 0}))
	}
	return entries, nil
}

// Open opens a file and keeps a copy of what is read from it.
func (s *sources) Open(name string) (fs.File, error) {
	src := &source{path: s.path(name), name: strings.ReplaceAll(name, "/", ".")}
	s.add(src)
	if s.isInput(name) {
		src.data.Write(s.stdin)
		return &memory{bytes.NewReader(s.stdin), name}, nil
	}
	f, err := os.Open(src.path)
	if err != nil {
		return nil, err
	}
	return &copied{f, &src.data}, nil
}

func (s *sources) add(src *source) {
	s.files = append(s.files, src)
	if _, ok := s.named[src.name]; ok {
		s.named[src.name] = nil
		return
	}
	s.named[src.name] = src
}

// find resolves a name of package config: it returns the path, and the source if a
// single file has that name. The name of a file is its path with dots for slashes; an
// unreadable file is named by its path.
func (s *sources) find(name string) (string, *source) {
	switch f, known := s.named[name]; {
	case f != nil:
		return f.path, f
	case known:
		return name, nil
	}
	return s.path(name), nil
}

// copied copies what is read from a file.
type copied struct {
	fs.File
	to *bytes.Buffer
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.to.Write(p[:n])
	return n, err
}

// memory is the standard input as a file.
type memory struct {
	*bytes.Reader
	name string
}

func (m *memory) Stat() (fs.FileInfo, error) { return info{m.name, 0}, nil }
func (m *memory) Close() error               { return nil }

// info describes the standard input and the directory of arguments.
type info struct {
	name string
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

var _ interface {
	fs.StatFS
	fs.ReadDirFS
} = (*sources)(nil)
