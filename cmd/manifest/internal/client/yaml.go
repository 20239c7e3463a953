package client

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// addYAML adds an entry below a key, or replaces it.
func (f *text) addYAML(key, name string, members []member) error {
	if err := f.placeYAML(key, name, members); err != nil {
		return err
	}
	if root, err := f.mapping(); err != nil || child(child(root, key).Value, name).Value == nil {
		return errForm
	}
	return nil
}

// placeYAML adds or replaces the lines of an entry.
func (f *text) placeYAML(key, name string, members []member) error {
	root, err := f.mapping()
	if err != nil {
		return err
	}
	servers := child(root, key)
	value := servers.Value
	if value == nil {
		indent := ""
		if root != nil {
			indent = strings.Repeat(" ", root.Column-1)
		}
		f.endLine()
		f.data = append(f.data, (indent + key + ":" + f.newline + f.yaml(indent+"  ", name, members))...)
		return nil
	}
	line, indent := servers.Line, strings.Repeat(" ", servers.Column-1)
	switch {
	case value.Alias:
		return errForm
	case value.Flow && value.Kind == yamltree.Map && len(value.Fields) == 0:
		from := f.offset(value.Line, value.Column)
		f.replace(from, from+bytes.IndexByte(f.data[from:], '}')+1, "")
	case value.Kind == yamltree.Null && value.Text == "":
	case value.Kind != yamltree.Map || value.Flow || value.Fields[0].Merge:
		return errForm
	default:
		line = f.lastLine(servers.Pos)
		indent = strings.Repeat(" ", value.Fields[0].Column-1)
		if old := child(value, name); old.Value != nil {
			from, to := f.offset(old.Line, 1), f.offset(f.lastLine(old.Pos)+1, 1)
			f.replace(from, to, f.yaml(indent, name, members))
			return nil
		}
		f.insertLine(line, f.yaml(indent, name, members))
		return nil
	}
	f.insertLine(line, f.yaml(indent+"  ", name, members))
	return nil
}

// removeYAML removes an entry below a key.
func (f *text) removeYAML(key, name string) error {
	root, err := f.mapping()
	if err != nil {
		return err
	}
	servers := child(root, key).Value
	old := child(servers, name)
	switch {
	case old.Value == nil || servers.Alias:
		return nil
	case servers.Flow:
		return errForm
	}
	f.replace(f.offset(old.Line, 1), f.offset(f.lastLine(old.Pos)+1, 1), "")
	if root, err = f.mapping(); err != nil || child(child(root, key).Value, name).Value != nil {
		return errForm
	}
	return nil
}

// mapping parses the file, whose root must be a mapping. The root of an empty file is nil.
func (f *text) mapping() (*yamltree.Node, error) {
	if bytes.Count(f.data, []byte("\r")) != bytes.Count(f.data, []byte("\r\n")) {
		return nil, errForm // YAML takes it for a line break, and here lines end with \n
	}
	if !content.Match(f.data) {
		return nil, nil
	}
	root, err := yamltree.Parse(f.data)
	if err != nil {
		return nil, err
	}
	if root.Kind != yamltree.Map || root.Flow {
		return nil, errForm
	}
	return root, nil
}

// content matches a file that has more than comments.
var content = regexp.MustCompile(`(?m)^\s*[^\s#]`)

// child returns a field that a mapping itself has, whose Value is nil if there is none.
func child(mapping *yamltree.Node, key string) yamltree.Field {
	if mapping != nil {
		for _, f := range mapping.Fields {
			if f.Name == key && !f.Merge {
				return f
			}
		}
	}
	return yamltree.Field{}
}

// lastLine returns the number of the last line of a key's value: of the lines that are indented
// more than the key, the last one that is not empty or a comment.
func (f *text) lastLine(key yamltree.Pos) int {
	last, n := key.Line, 0
	for line := range bytes.Lines(f.data) {
		n++
		content := bytes.TrimLeft(line, " ")
		rest := bytes.TrimSpace(content)
		if n <= key.Line || len(rest) == 0 || rest[0] == '#' {
			continue
		}
		if len(line)-len(content) < key.Column {
			break
		}
		last = n
	}
	return last
}

// offset returns the offset of a line and column, which begin with 1. Columns count characters.
func (f *text) offset(line, column int) int {
	at := 0
	for range line - 1 {
		at = f.lineEnd(at)
	}
	for range column - 1 {
		at += len(string([]rune(string(f.data[at:min(at+4, len(f.data))]))[:1]))
	}
	return at
}

// insertLine inserts lines after a line.
func (f *text) insertLine(line int, added string) {
	at := f.offset(line+1, 1)
	if at > 0 && f.data[at-1] != '\n' {
		added = f.newline + added
	}
	f.replace(at, at, added)
}

// yaml returns an entry as lines.
func (f *text) yaml(indent, name string, members []member) string {
	var b strings.Builder
	line := func(s string) { b.WriteString(indent + s + f.newline) }
	line(yamlKey(name) + ":")
	for _, m := range members {
		switch v := m.value.(type) {
		case []string:
			if len(v) == 0 {
				line("  " + m.key + ": []")
				continue
			}
			line("  " + m.key + ":")
			for _, s := range v {
				line("    - " + quoted(s))
			}
		case []member:
			line("  " + m.key + ":")
			for _, p := range v {
				line("    " + quoted(p.key) + ": " + inline(p.value, ": "))
			}
		default:
			line("  " + m.key + ": " + inline(v, ": "))
		}
	}
	return b.String()
}

// yamlKey returns a name as a key: in quotes if it could be taken for something else.
func yamlKey(name string) string {
	if n, err := yamltree.Parse([]byte(name)); err == nil && n.Kind == yamltree.Text && n.Tag == "!!str" && n.Text == name {
		return name
	}
	return quoted(name)
}
