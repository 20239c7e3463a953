package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/manifest"
)

// schema is the JSON Schema of manifests.
type schema struct{ root map[string]any }

func newSchema() *schema {
	s := &schema{}
	if err := json.Unmarshal(manifest.Schema(), &s.root); err != nil {
		s.root = nil // a test reads it
	}
	return s
}

// at returns the schemas that may describe the value with a path: several within a union.
func (s *schema) at(path []string) []map[string]any {
	found := s.expand(s.root, 0)
	for _, step := range path {
		var next []map[string]any
		for _, node := range found {
			if child := member(node, "properties", step); child != nil {
				next = append(next, s.expand(child, 0)...)
			} else if items, ok := node["items"].(map[string]any); ok {
				next = append(next, s.expand(items, 0)...)
			} else if more, ok := node["additionalProperties"].(map[string]any); ok {
				next = append(next, s.expand(more, 0)...)
			}
		}
		found = next
	}
	return found
}

func member(node map[string]any, key, name string) map[string]any {
	all, _ := node[key].(map[string]any)
	child, _ := all[name].(map[string]any)
	return child
}

// expand returns a schema with those that it refers to and consists of.
func (s *schema) expand(node map[string]any, depth int) []map[string]any {
	if node == nil || depth > 20 {
		return nil
	}
	all := []map[string]any{node}
	if ref, ok := node["$ref"].(string); ok {
		all = append(all, s.expand(member(s.root, "definitions", strings.TrimPrefix(ref, "#/definitions/")), depth+1)...)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := node[key].([]any)
		for _, part := range list {
			part, _ := part.(map[string]any)
			all = append(all, s.expand(part, depth+1)...)
		}
	}
	for _, key := range []string{"then", "else"} {
		part, _ := node[key].(map[string]any)
		all = append(all, s.expand(part, depth+1)...)
	}
	return all
}

// item is a suggestion.
type item struct{ label, insert, description string }

// keys returns the members that an object with a path may have, without some.
func (s *schema) keys(path, without []string) []item {
	var all []item
	for _, node := range s.at(path) {
		properties, _ := node["properties"].(map[string]any)
		for name := range properties {
			if slices.Contains(without, name) || slices.ContainsFunc(all, func(have item) bool { return have.label == name }) {
				continue
			}
			at := append(slices.Clone(path), name)
			all = append(all, item{name, quoted(name) + ": " + s.start(at), s.describe(at)})
		}
	}
	slices.SortFunc(all, func(a, b item) int { return strings.Compare(a.label, b.label) })
	return all
}

// start returns how a value with a path begins.
func (s *schema) start(path []string) string {
	switch s.word(path, "type") {
	case "string":
		return `""`
	case "array":
		return "[]"
	case "object":
		return "{}"
	case "boolean":
		return "true"
	}
	return ""
}

// word returns the first string of a keyword.
func (s *schema) word(path []string, keyword string) string {
	for _, node := range s.at(path) {
		if text, ok := node[keyword].(string); ok {
			return text
		}
	}
	return ""
}

// values returns the values that are suggested for a path.
func (s *schema) values(path []string) []item {
	var all []item
	add := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			return
		}
		label := fmt.Sprint(v)
		if !slices.ContainsFunc(all, func(have item) bool { return have.label == label }) {
			all = append(all, item{label, string(text), s.describe(path)})
		}
	}
	for _, node := range s.at(path) {
		for _, key := range []string{"enum", "examples"} {
			list, _ := node[key].([]any)
			for _, v := range list {
				add(v)
			}
		}
		if v, ok := node["const"]; ok {
			add(v)
		}
		if node["type"] == "boolean" {
			add(true)
			add(false)
		}
	}
	return all
}

// describe returns the description of a value with its type.
func (s *schema) describe(path []string) string {
	var b strings.Builder
	b.WriteString(s.word(path, "description"))
	var facts []string
	for _, keyword := range []string{"type", "format"} {
		if word := s.word(path, keyword); word != "" {
			facts = append(facts, word)
		}
	}
	if s.required(path) {
		facts = append(facts, "required")
	}
	if len(facts) > 0 {
		fmt.Fprintf(&b, "\n\n%s", strings.Join(facts, ", "))
	}
	return strings.TrimSpace(b.String())
}

// required reports whether the object must have the member with a path.
func (s *schema) required(path []string) bool {
	if len(path) == 0 {
		return false
	}
	name := path[len(path)-1]
	return slices.ContainsFunc(s.at(path[:len(path)-1]), func(node map[string]any) bool {
		list, _ := node["required"].([]any)
		return slices.Contains(list, any(name))
	})
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// The kinds of suggestions.
const (
	kindProperty = 10
	kindValue    = 12
)

// completion suggests keys or values.
func (s *server) completion(raw json.RawMessage) (any, error) {
	d, p, err := s.document(raw)
	if err != nil {
		return nil, err
	}
	at := locate(d.text, d.offset(p.Position))
	if at == nil {
		return []object{}, nil
	}
	items, kind := s.schema.values(at.path), kindValue
	if at.key {
		items, kind = s.schema.keys(at.path, at.keys), kindProperty
	}
	list := make([]object, len(items))
	for i, it := range items {
		text := it.insert
		if at.key && at.colon {
			text = quoted(it.label)
		}
		filter := it.label
		if kind == kindProperty || strings.HasPrefix(text, `"`) {
			filter = quoted(it.label)
		}
		list[i] = object{
			"label": it.label, "kind": kind, "filterText": filter, "documentation": it.description,
			"textEdit": object{"range": d.span(at.from, at.to), "newText": text},
		}
	}
	return list, nil
}

// hover describes the member under the cursor.
func (s *server) hover(raw json.RawMessage) (any, error) {
	d, p, err := s.document(raw)
	if err != nil {
		return nil, err
	}
	at := locate(d.text, d.offset(p.Position))
	if at == nil || at.to == at.from {
		return nil, nil
	}
	path := at.path
	if at.key {
		path = append(slices.Clone(path), at.text)
	}
	text := s.schema.describe(path)
	if text == "" {
		return nil, nil
	}
	return object{"contents": object{"kind": "plaintext", "value": text}, "range": d.span(at.from, at.to)}, nil
}
