package hosts

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory/importer"
)

// The bounds of an inventory.
const (
	maxHosts   = 100_000
	maxGroups  = 10_000
	maxMembers = 1_000_000 // hosts in groups, and groups in groups, those that follow from nesting included
	maxKinds   = 200       // of counts
)

// File is a file of an inventory, of up to 8 MiB. Its name is for messages, and its ending tells YAML from INI.
type File struct {
	Name   string
	Reader io.Reader
}

// Inventory has the hosts of some files.
type Inventory struct {
	hosts   []*host // in the order of the files
	groups  map[string]*group
	byName  map[string]*host
	members int
	counts  map[string]int64
}

// host is a host with its own variables.
type host struct {
	name, file string
	line       int
	vars       vars
	groups     []*group
}

// group is a group of hosts.
type group struct {
	name    string
	vars    vars
	parents []member

	state state
	depth int
	above []*group // all groups that it is within, the nearest first
}

// member records the line that makes a group a part of another one.
type member struct {
	group *group
	at    position
}

// position is a line of a file.
type position struct {
	file string
	line int
}

// fail returns the error for a file that is wrong.
func (p position) fail(format string, args ...any) error {
	return importer.Fail(p.file, p.line, format, args...)
}

// mustBe returns the error for a part of a file that is something else; nil is a text, and without a name it is the line.
func (p position) mustBe(what, want string, is *yamltree.Node) error {
	if is != nil {
		want += ", not " + is.Kind.Describe()
	}
	return p.fail("%s", strings.TrimPrefix(what+" must be "+want, " "))
}

// shown returns a name in a file for messages.
func shown(text string) string { return printable.Truncate(text, 64) }

// input is a file that was read.
type input struct {
	name string
	text []byte
	root *yamltree.Node // nil for INI
}

func (in *input) at(line int) position { return position{in.name, line} }

// Read reads the files of one inventory of Ansible. Errors are an [*importer.FileError], or that of a reader.
func Read(files ...File) (*Inventory, error) {
	v := &Inventory{groups: map[string]*group{}, byName: map[string]*host{}, counts: map[string]int64{}}
	for _, f := range files {
		in, err := open(f)
		if err != nil {
			return nil, err
		}
		if in.root != nil {
			err = v.readYAML(in)
		} else {
			err = v.readINI(in)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := v.nest(); err != nil {
		return nil, err
	}
	v.countHosts()
	return v, nil
}

// open reads a file, and parses it if it is YAML.
func open(f File) (*input, error) {
	text, err := io.ReadAll(io.LimitReader(f.Reader, yamltree.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	in := &input{name: path.Base(filepath.ToSlash(f.Name)), text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	ending := strings.ToLower(path.Ext(in.name))
	switch {
	case len(text) > yamltree.MaxBytes:
		return nil, in.at(1).fail("the file has more than %d MiB: split it", yamltree.MaxBytes>>20)
	case !utf8.Valid(in.text) || bytes.IndexByte(in.text, 0) >= 0:
		return nil, in.at(1).fail("is not text in UTF-8: an inventory is YAML or INI")
	case bytes.HasPrefix(in.text, []byte(vaultMark)):
		return nil, in.at(1).fail("is encrypted: decrypt it with ansible-vault")
	case bytes.HasPrefix(in.text, []byte("#!")):
		return nil, in.at(1).fail("is a script: import the output of ansible-inventory --list --yaml")
	case slices.Contains([]string{".yml", ".yaml", ".json"}, ending) || ending != ".ini" && looksLikeYAML(in.text):
		in.root, err = yamltree.Parse(in.text)
	}
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		return nil, in.at(e.Line).fail("%s", e.Reason)
	}
	return in, err
}

// yamlStart is a first line of YAML.
var yamlStart = regexp.MustCompile(`^(---|\{|["']?[A-Za-z0-9_.-]+["']?:(\s|$))`)

// looksLikeYAML reports whether the first line that is no comment is YAML rather than INI.
func looksLikeYAML(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != ';' {
			return yamlStart.Match(line)
		}
	}
	return false
}

// count counts something that has no counterpart.
func (v *Inventory) count(kind string) {
	if _, ok := v.counts[kind]; !ok && len(v.counts) >= maxKinds {
		kind = "other variables"
	}
	v.counts[kind]++
}

// Unplaced returns what has no counterpart in the inventory, the most objects first: variables by name, in the number
// of times that the files give them a value.
func (v *Inventory) Unplaced() []importer.Count { return importer.Counts(v.counts) }

// host returns a host, a new one if there is none.
func (v *Inventory) host(name string, at position) (*host, error) {
	if h := v.byName[name]; h != nil {
		return h, nil
	}
	if err := at.checkNew("host", name, len(v.hosts), maxHosts); err != nil {
		return nil, err
	}
	h := &host{name: name, file: at.file, line: at.line, vars: vars{}}
	v.hosts, v.byName[name] = append(v.hosts, h), h
	return h, nil
}

// group returns a group, a new one if there is none.
func (v *Inventory) group(name string, at position) (*group, error) {
	if g := v.groups[name]; g != nil {
		return g, nil
	}
	if err := at.checkNew("group", name, len(v.groups), maxGroups); err != nil {
		return nil, err
	}
	g := &group{name: name, vars: vars{}}
	v.groups[name] = g
	return g, nil
}

// checkNew checks that one more host or group has a name and is not one too many.
func (p position) checkNew(kind, name string, have, most int) error {
	switch {
	case name == "":
		return p.fail("the %s has no name", kind)
	case have >= most:
		return p.fail("the inventory has more than %d %ss: split it", most, kind)
	}
	return nil
}

// join counts members of groups.
func (v *Inventory) join(n int, at position) error {
	if v.members += n; v.members > maxMembers {
		return at.fail("the groups have more than %d members, those of groups within groups included: split the inventory", maxMembers)
	}
	return nil
}

// addHosts adds the hosts of a pattern to a group with their variables.
func (v *Inventory) addHosts(pattern string, g *group, own vars, at position) error {
	names, err := expand(pattern, maxHosts)
	if err != nil {
		return at.fail("the host %q %s", shown(pattern), err)
	}
	for _, name := range names {
		h, err := v.host(name, at)
		if err != nil {
			return err
		}
		if err := v.join(1, at); err != nil {
			return err
		}
		h.groups = append(h.groups, g)
		maps.Copy(h.vars, own)
	}
	return nil
}

// state says how far the groups above a group are known.
type state uint8

const (
	unknown state = iota
	visiting
	known
)

// nest finds the groups that groups are within.
func (v *Inventory) nest() error {
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if err := v.climb(v.groups[name]); err != nil {
			return err
		}
	}
	for _, h := range v.hosts {
		for _, g := range h.groups {
			if err := v.join(len(g.above), position{h.file, h.line}); err != nil {
				return err
			}
		}
	}
	return nil
}

// climb finds the groups that a group is within.
func (v *Inventory) climb(g *group) error {
	if g.state == known {
		return nil
	}
	g.state = visiting
	var parents []*group
	for _, m := range g.parents {
		if m.group.state == visiting {
			return m.at.fail("the group %q is within itself: remove it from the children of %q", shown(g.name), shown(m.group.name))
		}
		if err := v.climb(m.group); err != nil {
			return err
		}
		if err := v.join(1+len(m.group.above), m.at); err != nil {
			return err
		}
		g.depth, parents = max(g.depth, m.group.depth+1), append(parents, m.group)
	}
	g.state, g.above = known, withAbove(parents)
	return nil
}

// withAbove returns groups, each followed by those that it is within, without repetitions.
func withAbove(groups []*group) (all []*group) {
	seen := map[*group]bool{}
	for _, g := range groups {
		for _, g := range append([]*group{g}, g.above...) {
			if !seen[g] {
				seen[g], all = true, append(all, g)
			}
		}
	}
	return all
}

// groupsOf returns the groups of a host, those whose variables count first.
func (v *Inventory) groupsOf(h *host) []*group {
	all := withAbove(h.groups)
	slices.SortFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), strings.Compare(b.name, a.name))
	})
	return all
}
