package publish

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Difference is a statement of a file that differs from what the manifest says.
type Difference struct {
	File    string
	Message string // what it says and what it should, in one line
	// Fixed reports whether Changes.Files has the file with this mended.
	Fixed bool
}

// Changes are the differences of a project from a manifest.
type Changes struct {
	Differences []Difference
	// Files are the contents of the files that change, by their names relative to the directory.
	Files map[string][]byte
}

// Names returns the names of the files that change, in their order.
func (c *Changes) Names() []string { return slices.Sorted(maps.Keys(c.Files)) }

// Sync returns what has to change in the files of the project so that they say what the manifest
// says: the version of each package, and the name of the server.
func (p *Project) Sync(s *manifest.Server) (*Changes, error) {
	c := &Changes{Files: map[string][]byte{}}
	for i := range p.Packages {
		k := &p.Packages[i]
		if err := p.syncVersion(c, k, wanted(s, k)); err != nil {
			return nil, fmt.Errorf("%s: %w", k.File, err)
		}
	}
	for i := range p.Packages { // after the versions, whose positions are those of the files as read
		k := &p.Packages[i]
		if err := p.syncServerName(c, k, s.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", k.File, err)
		}
	}
	return c, nil
}

// wanted returns the version that a file should have: that of its package in the manifest, else
// that of the server.
func wanted(s *manifest.Server, k *Package) string {
	for i := range s.Packages {
		pack := &s.Packages[i]
		if pack.RegistryType == k.Type && pack.Version != nil && (k.Name == "" || strings.EqualFold(pack.Identifier, k.Name)) {
			return *pack.Version
		}
		if k.Type == "oci" && pack.RegistryType == "oci" {
			if _, tag, _ := grammar.CutImage(pack.Identifier); tag != "" {
				return tag
			}
		}
	}
	return s.Version
}

func (p *Project) syncVersion(c *Changes, k *Package, want string) error {
	if k.Version == "" || k.Version == want || want == "" {
		return nil
	}
	text, err := p.text(k.File)
	if err != nil {
		return err
	}
	value := want
	switch k.Type {
	case "npm", "pypi", "cargo":
		value = string(jsonpos.AppendValue(nil, want)) // a string of JSON and TOML
	}
	if k.Type != "npm" && strings.ContainsAny(want, "<>&\"'\\ ") {
		return fmt.Errorf("the version %s cannot be written to it", jsonpos.Quote(want))
	}
	c.Files[k.File] = slices.Concat(text[:k.version.from], []byte(value), text[k.version.to:])
	c.add(k.File, true, "version is %s, the manifest has %s", jsonpos.Quote(k.Version), jsonpos.Quote(want))
	return nil
}

func (c *Changes) add(file string, fixed bool, format string, args ...any) {
	c.Differences = append(c.Differences, Difference{file, fmt.Sprintf(format, args...), fixed})
}

// syncServerName writes the name of the server into a package.
func (p *Project) syncServerName(c *Changes, k *Package, name string) error {
	if k.ServerName == name || name == "" {
		return nil
	}
	file := k.File
	if k.Type == "pypi" || k.Type == "nuget" || k.Type == "cargo" {
		file = k.readme
	}
	if file == "" {
		c.add(k.File, false, "there is no README for %q", "mcp-name: "+name)
		return nil
	}
	text := c.Files[file]
	if text == nil {
		var err error
		if text, err = p.text(file); err != nil {
			return err
		}
	}
	changed, err := withServerName(k, text, name)
	if err != nil {
		return err
	}
	if string(changed) == string(text) { // another package has the same README
		return nil
	}
	c.Files[file] = changed
	switch {
	case k.Type == "cargo" && k.ServerName == "" && serverNameIn(string(text)) == name:
		c.add(file, true, "the server name %s is in a comment only, which the registry of the package removes", jsonpos.Quote(name))
	case k.ServerName == "":
		c.add(file, true, "the server name %s is missing", jsonpos.Quote(name))
	default:
		c.add(file, true, "the server name is %s, the manifest is %s", jsonpos.Quote(k.ServerName), jsonpos.Quote(name))
	}
	return nil
}

// withServerName returns a file with the name of the server.
func withServerName(k *Package, text []byte, name string) ([]byte, error) {
	switch k.Type {
	case "npm":
		d, err := manifest.Parse(text, &manifest.Options{MaxBytes: maxFile})
		if err != nil {
			return nil, err
		}
		if d, err = d.Set("/mcpName", name); err != nil {
			return nil, err
		}
		return []byte(d.Text()), nil
	case "oci":
		if k.ServerName != "" {
			return []byte(strings.ReplaceAll(string(text), k.ServerName, name)), nil
		}
		return appendLine(text, "LABEL "+imageLabel+`="`+name+`"`), nil
	}
	switch have := k.serverNameIn(string(text)); have {
	case name:
		return text, nil
	case "":
		if k.Type == "cargo" { // its registry strips comments
			return appendLine(text, "\nmcp-name: "+name), nil
		}
		return appendLine(text, "\n<!-- mcp-name: "+name+" -->"), nil
	default:
		return []byte(serverNamePattern.ReplaceAllString(string(text), "mcp-name: "+name)), nil
	}
}

// appendLine adds a line at the end, with the line break of the file.
func appendLine(text []byte, line string) []byte {
	newline := "\n"
	if strings.Contains(string(text), "\r\n") {
		newline = "\r\n"
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	return append(slices.Clone(text), strings.ReplaceAll(line+"\n", "\n", newline)...)
}

// Next returns the version after one: "major", "minor" or "patch" counts up, anything else is the
// next version itself.
func Next(version, step string) (string, error) {
	index := slices.Index([]string{"major", "minor", "patch"}, step)
	if index < 0 {
		return step, nil
	}
	m := plainVersion.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("version %s has not the form 1.2.3: give the next version itself", jsonpos.Quote(version))
	}
	var numbers [3]int
	for i := range numbers {
		numbers[i], _ = strconv.Atoi(m[2+i]) // has at most 18 digits
	}
	// The version after a pre-release is the release, if only smaller parts follow.
	if m[5] == "" || slices.ContainsFunc(numbers[index+1:], func(n int) bool { return n != 0 }) {
		numbers[index]++
	}
	clear(numbers[index+1:])
	return fmt.Sprintf("%s%d.%d.%d", m[1], numbers[0], numbers[1], numbers[2]), nil
}

// plainVersion matches a version of three numbers, with its prefix, its parts and what a pre-release adds.
var plainVersion = regexp.MustCompile(`^(v?)(\d{1,18})\.(\d{1,18})\.(\d{1,18})(?:-([^+]*))?(?:\+|$)`)

// Bump returns a manifest with another version: its own, and that of the packages that have the
// same as the server. Notes say what has to be done besides, such as the hash of a new file.
func Bump(d *manifest.Document, version string) (_ *manifest.Document, notes []string, err error) {
	s, err := d.Server()
	if err != nil {
		return nil, nil, err
	}
	set := func(pointer, value string) {
		if err == nil {
			d, err = d.Set(pointer, value)
		}
	}
	set("/version", version)
	for i := range s.Packages {
		k, at := &s.Packages[i], fmt.Sprintf("/packages/%d", i)
		switch {
		case k.Version != nil && *k.Version == s.Version:
			set(at+"/version", version)
		case k.Version != nil:
			notes = append(notes, fmt.Sprintf("%s/version stays %s, which was not the version of the server", at, jsonpos.Quote(*k.Version)))
		}
		switch image, tag, digest := grammar.CutImage(k.Identifier); {
		case k.RegistryType == "oci" && tag == s.Version:
			set(at+"/identifier", image+":"+version)
			if digest != "" {
				notes = append(notes, at+"/identifier has no digest any more: add that of the new image")
			}
		case k.RegistryType == "mcpb" && strings.Contains(k.Identifier, s.Version):
			set(at+"/identifier", strings.ReplaceAll(k.Identifier, s.Version, version))
			notes = append(notes, at+"/fileSha256 is that of the old file: set it after the new one is built")
		}
	}
	return d, notes, err
}
