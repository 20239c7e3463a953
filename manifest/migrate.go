package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Migration turns a manifest of an older public schema into one of the current schema.
type Migration struct {
	From    string   // the date of the older schema
	To      string   // the date of the current schema
	Changes []Change // in the order of the document
	edits   []Edit
}

// Change is one change of a migration.
type Change struct {
	Pointer string `json:"pointer"` // of the value before the migration
	Message string `json:"message"`
}

// Apply returns a migrated copy of the document's text. Everything else stays unchanged,
// white space and order included.
func (m *Migration) Apply(text string) []byte { return apply(text, m.edits) }

// Migrate computes the changes from the schema of a date to the current one, whose $schema
// it writes (REFERENCE.md, 7). An empty date means that of the $schema or, without a dated
// one, that of the oldest keys in the document.
//
// The error is about text that is not JSON, or about an unknown date. The result may have
// other problems, which [Validate] reports.
func (d *Document) Migrate(from string) (*Migration, error) {
	if err := d.syntaxError(); err != nil {
		return nil, err
	}
	root := d.json.Root
	from = cmp.Or(from, schemaDateOf(stringOf(root.Get("$schema"))), dateOf(root))
	if from == "draft" { // which is newer and has the same keys
		from = currentDate
	}
	known := strings.Join(SchemaDates(), ", ")
	switch {
	case isNewer(from):
		return nil, fmt.Errorf("schema %s is newer than this tool knows: the latest known one is %s", jsonpos.Quote(from), currentDate)
	case !slices.Contains(SchemaDates(), from):
		return nil, fmt.Errorf("unknown schema date %s: use one of %s", jsonpos.Quote(from), known)
	}
	m := migrator{
		style:      newStyle(d.json),
		Migration:  &Migration{From: from, To: currentDate},
		underscore: from < "2025-09-16", status: from < "2025-09-29", splitImages: from < "2025-10-11",
	}
	m.server(root)
	slices.SortFunc(m.edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.End, b.End)) })
	return m.Migration, nil
}

// migrator walks a document along its shapes.
type migrator struct {
	*Migration
	style *style
	path  jsonpos.Path
	// What the older schema has: keys with underscores, a status, and container images
	// with registry and version in keys of their own.
	underscore, status, splitImages bool
}

// dateOf returns the date of the oldest keys in a manifest, which tells the schema that it
// follows.
func dateOf(root *Node) string {
	status := root.Get("status") != nil || root.Get("_meta").Get(officialKey) != nil
	images := false
	if list := root.Get("packages"); list != nil {
		for i := range list.Elements {
			p := &list.Elements[i]
			if hasOldName(p) {
				return "2025-07-09"
			}
			images = images || stringOf(p.Get("registryType")) == OCI && (p.Get("version") != nil || p.Get("registryBaseUrl") != nil)
		}
	}
	switch {
	case hasOldName(root):
		return "2025-07-09"
	case status:
		return "2025-09-16"
	case images:
		return "2025-09-29"
	}
	return currentDate
}

// officialKey is the key that a registry added to the _meta of the first schemas.
const officialKey = "io.modelcontextprotocol.registry/official"

func hasOldName(n *Node) bool {
	return slices.ContainsFunc(n.Members, func(m Member) bool { return newNames[m.Key] != "" })
}

// change reports a change of the value of a key.
func (m *migrator) change(key, format string, args ...any) {
	m.path.Key(key)
	m.Changes = append(m.Changes, Change{Pointer: m.path.Pointer(), Message: fmt.Sprintf(format, args...)})
	m.path.Pop()
}

func (m *migrator) edit(start, end int, text string) {
	m.edits = append(m.edits, Edit{Offset: start, End: end, Text: text})
}

// newNames are the present names of the keys that had underscores.
var newNames = map[string]string{
	"website_url": "websiteUrl", "registry_type": "registryType", "registry_base_url": "registryBaseUrl", "file_sha256": "fileSha256",
	"runtime_hint": "runtimeHint", "runtime_arguments": "runtimeArguments", "package_arguments": "packageArguments",
	"environment_variables": "environmentVariables", "is_required": "isRequired", "is_secret": "isSecret",
	"is_repeated": "isRepeated", "value_hint": "valueHint",
}

// oldName returns the name with underscores of a key.
func oldName(key string) string {
	for old, present := range newNames {
		if present == key {
			return old
		}
	}
	return key
}

// newName returns the present name of a key.
func (m *migrator) newName(key string) string {
	if m.underscore {
		return cmp.Or(newNames[key], key)
	}
	return key
}

// get finds the value of a key by its present or its older name.
func (m *migrator) get(n *Node, key string) *Node {
	if found := n.Get(key); found != nil || !m.underscore {
		return found
	}
	return n.Get(oldName(key))
}

// visit calls f for the members with a key, by its present or its older name.
func (m *migrator) visit(n *Node, key string, f func(n *Node)) {
	for i := range n.Members {
		if k := &n.Members[i]; m.newName(k.Key) == key {
			m.path.Key(k.Key)
			f(&k.Value)
			m.path.Pop()
		}
	}
}

// visitAll calls f for all elements and members of the value of a key.
func (m *migrator) visitAll(n *Node, key string, f func(n *Node)) {
	m.visit(n, key, func(list *Node) {
		for i := range list.Elements {
			m.path.Index(i)
			f(&list.Elements[i])
			m.path.Pop()
		}
		for i := range list.Members {
			m.path.Key(list.Members[i].Key)
			f(&list.Members[i].Value)
			m.path.Pop()
		}
	})
}

// object removes the keys that have a reason to go, and renames those that had
// underscores.
func (m *migrator) object(n *Node, reasons map[string]string) {
	m.remove(n, reasons)
	for i := range n.Members {
		k := &n.Members[i]
		name := m.newName(k.Key)
		if name == k.Key || reasons[name] != "" || n.Get(name) != nil {
			continue
		}
		m.change(k.Key, "rename the key to %q", name)
		m.edit(k.KeyStart, k.KeyEnd, `"`+name+`"`)
	}
}

// remove removes members, adjacent ones with one edit that includes a comma.
func (m *migrator) remove(n *Node, reasons map[string]string) {
	for i := 0; i < len(n.Members); i++ {
		first := i
		for ; i < len(n.Members) && reasons[m.newName(n.Members[i].Key)] != ""; i++ {
			m.change(n.Members[i].Key, "remove it: %s", reasons[m.newName(n.Members[i].Key)])
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

func (m *migrator) server(n *Node) {
	if n.Kind == KindObject && n.Get("$schema") == nil {
		m.addSchema(n)
	}
	if s := n.Get("$schema"); s != nil && schemaDateOf(stringOf(s)) != m.To {
		m.change("$schema", "use the schema of %s", m.To)
		m.edit(s.Start, s.End, `"`+CurrentSchema+`"`)
	}
	if m.status {
		m.object(n, map[string]string{"status": "the current schema has no status"})
		m.visit(n, "_meta", func(meta *Node) {
			m.remove(meta, map[string]string{officialKey: "this is added by a registry"})
		})
	}
	m.visitAll(n, "packages", m.packageObject)
	m.visitAll(n, "remotes", m.transport)
}

// addSchema adds a $schema before the other members.
func (m *migrator) addSchema(n *Node) {
	if m.From == m.To {
		m.change("$schema", "write the schema of %s", m.To)
	} else {
		m.change("$schema", "write the schema of %s: the document has keys of %s", m.To, m.From)
	}
	e := m.style.prepend(n, "$schema", `"`+CurrentSchema+`"`)
	if m.status && len(n.Members) == 1 && n.Members[0].Key == "status" { // which is removed
		e.Text = strings.TrimRight(e.Text, ","+space)
	}
	m.edit(e.Offset, e.End, e.Text)
}

func (m *migrator) packageObject(n *Node) {
	m.object(n, m.joinImage(n))
	for _, list := range [...]string{"runtimeArguments", "packageArguments", "environmentVariables"} {
		m.visitAll(n, list, m.input)
	}
	m.visit(n, "transport", m.transport)
}

func (m *migrator) transport(n *Node) {
	m.object(n, nil)
	m.visitAll(n, "headers", m.input)
	m.visitAll(n, "variables", m.input)
}

func (m *migrator) input(n *Node) {
	m.object(n, nil)
	m.visitAll(n, "variables", m.input)
}

// joinImage moves registry and version of a container image into its identifier, and
// returns why the keys are removed.
func (m *migrator) joinImage(n *Node) map[string]string {
	label := stringOf(m.get(n, "registryType"))
	if !m.splitImages || label != "oci" && label != "mcpb" {
		return nil
	}
	if label == "mcpb" {
		return map[string]string{"registryBaseUrl": "the identifier of a bundle file is its whole URL"}
	}
	id := n.Get("identifier")
	if id == nil || id.Kind != KindString {
		return nil
	}
	version := stringOf(n.Get("version"))
	image := grammar.NewImage(id.Text, version, stringOf(m.get(n, "registryBaseUrl"))).Reference
	if image != id.Text {
		m.change("identifier", "move registry and version of the image here: %s", jsonpos.Quote(image))
		m.edit(id.Start, id.End, string(jsonpos.AppendValue(nil, image)))
	}
	reasons := map[string]string{
		"registryBaseUrl": "the registry of an image is part of its identifier",
		"version":         "the version of an image is part of its identifier",
	}
	if !strings.HasSuffix(image, ":"+version) && !strings.HasSuffix(image, "@"+version) {
		reasons["version"] = "the identifier of the image has another version, which clients use"
	}
	return reasons
}
