package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

const (
	standardInput = "-"
	inputName     = "<stdin>"
)

// read returns the files of the arguments. Files that are arguments are read whatever their names are.
func (r *report) read(paths []string, stdin []byte, opts *config.Options) (files []config.File) {
	for _, path := range paths {
		prefix := filepath.Base(path) // orders the files of several arguments
		if info, err := os.Stat(path); path == standardInput {
			files = append(files, config.File{Name: prefix, Path: inputName, Data: stdin})
			r.Files = append(r.Files, inputName)
			continue
		} else if err == nil && !info.IsDir() {
			data, err := readFile(path)
			files = append(files, config.File{Name: prefix, Path: path, Data: data, Err: err})
			r.Files = append(r.Files, path)
			continue
		}
		r.Directories = append(r.Directories, path)
		found, ignored := config.Read(os.DirFS(path), path, opts)
		for _, f := range found {
			if f.Err == nil {
				r.Files = append(r.Files, f.Path)
			}
			if len(paths) > 1 {
				f.Name = prefix + "." + f.Name
			}
			files = append(files, f)
		}
		r.Ignored = append(r.Ignored, ignored...)
	}
	return files
}

// readFile returns the content of a file, or as much of it as shows that it is too long.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxInput))
}
