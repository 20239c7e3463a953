package archtest

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UpdateCommand rewrites the listings.
const UpdateCommand = "go test ./cmd/internal/archtest -run TestAPI -update"

// Public reports whether the package is part of the module's public face.
func (g *Graph) Public(p *Package) bool {
	rel, own := g.Rel(p.ImportPath)
	elements := strings.Split(rel, "/")
	return own && p.Name != "main" && elements[0] != "cmd" && elements[0] != "examples" &&
		!slices.Contains(elements, "internal")
}

// Faces is the text of each public package's listing, by the name of its file: the
// import path with a dot for each slash, and ".txt".
func (g *Graph) Faces() (map[string]string, error) {
	faces := map[string]string{}
	for _, p := range g.Own() {
		if !g.Public(p) {
			continue
		}
		fset := token.NewFileSet()
		files, err := parse(fset, p.Dir, p.GoFiles)
		if err != nil {
			return nil, err
		}
		name := strings.ReplaceAll(p.ImportPath, "/", ".") + ".txt"
		faces[name] = strings.Join(Listing(p.ImportPath, fset, files), "\n") + "\n"
	}
	return faces, nil
}

// CompareFaces reports each listing in dir that is missing, differs from the face
// or has lost its package. An error is a directory that cannot be read.
func CompareFaces(dir string, faces map[string]string) ([]Violation, error) {
	listed, err := listings(dir)
	if err != nil {
		return nil, err
	}
	var vs []Violation
	report := func(format string, args ...any) {
		vs = append(vs, Violation{
			Law:  "face",
			What: fmt.Sprintf(format, args...),
			Fix:  "if that is meant, run: " + UpdateCommand,
		})
	}
	for name, face := range faces {
		before, ok := listed[name]
		if !ok {
			report("%s: there is no listing yet", filepath.Join(dir, name))
		} else if diff := Diff(strings.Split(before, "\n"), strings.Split(face, "\n")); diff != nil {
			report("%s: the package has changed\n    %s", filepath.Join(dir, name), strings.Join(diff, "\n    "))
		}
	}
	for name := range listed {
		if _, ok := faces[name]; !ok {
			report("%s: the package is gone", filepath.Join(dir, name))
		}
	}
	slices.SortFunc(vs, func(a, b Violation) int { return strings.Compare(a.What, b.What) })
	return vs, nil
}

// UpdateFaces makes the listings in dir those of the faces.
func UpdateFaces(dir string, faces map[string]string) error {
	listed, err := listings(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name := range listed {
		if _, ok := faces[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for name, face := range faces {
		if listed[name] == face {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(face), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// listings is the text of the listings in dir by file name, none if there is
// no such directory.
func listings(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listed := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		listed[entry.Name()] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return listed, nil
}
