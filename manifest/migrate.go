package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CurrentSchema is the $schema of the newest public schema that is known here.
const CurrentSchema = currentSchema

// SchemaDates are the dates of the public schemas, the oldest first. Manifests of
// the last need no migration.
func SchemaDates() []string { return slices.Clone(schemaDates[:]) }

// Migration is what makes a manifest of an older public schema one of the current.
type Migration struct {
	From    string   // the date it is of
	To      string   // the date it becomes one of
	Changes []Change // in the order of the document
	edits   []Edit
}

// Change is one thing that a migration does.
type Change struct {
	Pointer string `json:"pointer"` // of the value, before the migration
	Message string `json:"message"`
}

// Apply returns a migrated copy of the text that the document was read from. All
// that is not changed stays as it is, white space and order too.
func (m *Migration) Apply(text string) []byte {
	var out []byte
	done := 0
	for _, e := range m.edits {
		out = append(append(out, text[done:e.Offset]...), e.Text...)
		done = e.End
	}
	return append(out, text[done:]...)
}

// Migrate says how a manifest of the schema of a date becomes one of the current
// schema: keys in camel case, no status, the version of a container image in its
// identifier, and the $schema itself. An empty date is that of the $schema.
//
// The error says that the text is not JSON, or that the date is none that is known.
// The result may have other problems, which [Validate] reports.
func (d *Document) Migrate(from string) (*Migration, error) {
	if err := d.syntax().Err(); err != nil {
		return nil, err
	}
	if from == "" {
		from = dateOf(stringOf(d.root.Get("$schema")))
	}
	at := slices.Index(schemaDates[:], from)
	last := schemaDates[len(schemaDates)-1]
	switch {
	case from == "":
		return nil, fmt.Errorf("the manifest does not say which schema it is of: name the date, one of %s", strings.Join(schemaDates[:], ", "))
	case at < 0 && len(from) == len(last) && from > last:
		return nil, fmt.Errorf("there is no way from %s, which is newer than any schema that is known here; the last is %s", show(from), last)
	case at < 0:
		return nil, fmt.Errorf("there is no schema of %s: there is %s", show(from), strings.Join(schemaDates[:], ", "))
	}
	m := migrator{Migration: &Migration{From: from, To: last}, text: d.text}
	m.snake, m.status, m.images = from < "2025-09-16", from < "2025-09-29", from < "2025-10-11"
	m.server(d.root)
	slices.SortFunc(m.edits, func(a, b Edit) int { return cmp.Compare(a.Offset, b.Offset) })
	return m.Migration, nil
}

// dateOf is the date in a $schema, or "".
func dateOf(schema string) string {
	_, rest, _ := strings.Cut(schema, "/schemas/")
	date, ok := strings.CutSuffix(rest, "/server.schema.json")
	if !ok {
		return ""
	}
	return date
}

// migrator walks a document along its shapes.
type migrator struct {
	*Migration
	text  string
	trail trail
	// What the schema of the manifest still had.
	snake, status, images bool
}

func (m *migrator) note(format string, args ...any) {
	m.Changes = append(m.Changes, Change{Pointer: m.trail.pointer(), Message: fmt.Sprintf(format, args...)})
}

func (m *migrator) edit(start, end int, text string) {
	m.edits = append(m.edits, Edit{Offset: start, End: end, Text: text})
}

// renamed are the keys that were written with underscores.
var renamed = [...][2]string{
	{"website_url", "websiteUrl"},
	{"registry_type", "registryType"},
	{"registry_base_url", "registryBaseUrl"},
	{"file_sha256", "fileSha256"},
	{"runtime_hint", "runtimeHint"},
	{"runtime_arguments", "runtimeArguments"},
	{"package_arguments", "packageArguments"},
	{"environment_variables", "environmentVariables"},
	{"is_required", "isRequired"},
	{"is_secret", "isSecret"},
	{"is_repeated", "isRepeated"},
	{"value_hint", "valueHint"},
}

func newName(key string) string {
	for _, pair := range renamed {
		if pair[0] == key {
			return pair[1]
		}
	}
	return ""
}

// get finds a member by its present name, or by the one it had.
func (m *migrator) get(n *Node, key string) *Node {
	if found := n.Get(key); found != nil || !m.snake {
		return found
	}
	for _, pair := range renamed {
		if pair[1] == key {
			return n.Get(pair[0])
		}
	}
	return nil
}

// object renames keys and drops members.
func (m *migrator) object(n *Node, drop map[string]string) {
	m.remove(n, drop)
	if !m.snake {
		return
	}
	for i := range n.Members {
		k := &n.Members[i]
		name := newName(k.Key)
		if name == "" || drop[name] != "" || n.Get(name) != nil {
			continue
		}
		m.trail.key(k.Key)
		m.note("the key %q is now %q", k.Key, name)
		m.trail.pop()
		m.edit(k.KeyStart, k.KeyEnd, `"`+name+`"`)
	}
}

// remove drops the members that have a reason to go. Those that follow each other
// go together, with the comma that is then one too many.
func (m *migrator) remove(n *Node, drop map[string]string) {
	reason := func(k *Member) string {
		if name := newName(k.Key); m.snake && drop[name] != "" {
			return drop[name]
		}
		return drop[k.Key]
	}
	for i := 0; i < len(n.Members); i++ {
		first := i
		for ; i < len(n.Members) && reason(&n.Members[i]) != ""; i++ {
			m.trail.key(n.Members[i].Key)
			m.note("%s", reason(&n.Members[i]))
			m.trail.pop()
		}
		switch {
		case i == first:
		case i < len(n.Members):
			m.edit(n.Members[first].KeyStart, n.Members[i].KeyStart, "")
		case first > 0:
			m.edit(n.Members[first-1].Value.End, n.Members[i-1].Value.End, "")
		default:
			m.edit(n.Members[first].KeyStart, n.Members[i-1].Value.End, "")
		}
	}
}

// at goes to a member, if it is there.
func (m *migrator) at(n *Node, key string, visit func(n *Node)) {
	for i := range n.Members {
		k := &n.Members[i]
		if k.Key == key || m.snake && newName(k.Key) == key {
			m.trail.key(k.Key)
			visit(&k.Value)
			m.trail.pop()
		}
	}
}

func (m *migrator) each(n *Node, key string, visit func(n *Node)) {
	m.at(n, key, func(list *Node) {
		for i := range list.Elements {
			m.trail.index(i)
			visit(&list.Elements[i])
			m.trail.pop()
		}
		for i := range list.Members {
			m.trail.key(list.Members[i].Key)
			visit(&list.Members[i].Value)
			m.trail.pop()
		}
	})
}

func (m *migrator) server(n *Node) {
	drop := map[string]string{}
	if m.status {
		drop["status"] = "there is no status any more"
	}
	m.at(n, "$schema", func(s *Node) {
		if dateOf(stringOf(s)) != m.To {
			m.note("the schema is that of %s", m.To)
			m.edit(s.Start, s.End, `"`+currentSchema+`"`)
		}
	})
	m.object(n, drop)
	if m.status {
		const official = "io.modelcontextprotocol.registry/official"
		m.at(n, "_meta", func(meta *Node) {
			m.remove(meta, map[string]string{official: "what a registry adds is no part of a manifest"})
		})
	}
	m.each(n, "packages", m.pack)
	m.each(n, "remotes", m.transport)
}

func (m *migrator) pack(n *Node) {
	m.object(n, m.image(n))
	for _, list := range [...]string{"runtimeArguments", "packageArguments", "environmentVariables"} {
		m.each(n, list, m.input)
	}
	m.at(n, "transport", m.transport)
}

func (m *migrator) transport(n *Node) {
	m.object(n, nil)
	m.each(n, "headers", m.input)
	m.each(n, "variables", m.input)
}

func (m *migrator) input(n *Node) {
	m.object(n, nil)
	m.each(n, "variables", m.input)
}

// image moves registry and version of a container image into its identifier, and
// says which keys go for it.
func (m *migrator) image(n *Node) map[string]string {
	label := stringOf(m.get(n, "registryType"))
	if !m.images || label != "oci" && label != "mcpb" {
		return nil
	}
	if label == "mcpb" {
		return map[string]string{"registryBaseUrl": "a bundle file has its whole URL in identifier"}
	}
	base, version, id := m.get(n, "registryBaseUrl"), n.Get("version"), n.Get("identifier")
	if id == nil || id.Kind != KindString {
		return nil
	}
	f := reference{identifier: id.Text, version: stringOf(version)}.image(stringOf(base))
	if f.identifier != id.Text {
		m.trail.key("identifier")
		m.note("the identifier of an image has its registry and version: %s", show(f.identifier))
		m.trail.pop()
		m.edit(id.Start, id.End, string(appendString(nil, f.identifier)))
	}
	drop := map[string]string{
		"registryBaseUrl": "the registry of an image is part of its identifier",
		"version":         "the version of an image is part of its identifier",
	}
	if v := stringOf(version); !strings.HasSuffix(f.identifier, ":"+v) && !strings.HasSuffix(f.identifier, "@"+v) {
		drop["version"] = "the identifier of an image names another version, which is what clients take"
	}
	return drop
}
