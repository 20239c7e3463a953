package records

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaxPreview is the maximum number of changes that a [Preview] has.
const MaxPreview = 1000

// Preview lists the changes that a call would make (see [Engine.DryRun]).
type Preview struct {
	// Created, Updated and Deleted are the numbers of records, those that go along included.
	Created, Updated, Deleted int64
	// Changes are the first changes, up to MaxPreview, as the audit log would have them. A
	// changed or deleted record without audit log is in the numbers only if it goes along.
	Changes   []*AuditLog
	Truncated bool // whether there are more changes
	// Versions are those of the changed and deleted records before, by id; 0 is that of a new one. It lacks those that go
	// along with a deletion.
	Versions map[string]int64

	parts []previewPart
}

// previewPart is the number of records that are changed in one way.
type previewPart struct {
	verb     string // create, update, delete, or clear
	resource *Resource
	field    string // that is cleared
	n        int64
}

// reset empties the preview: a transaction may run more than once.
func (p *Preview) reset() {
	if p != nil {
		*p = Preview{}
	}
}

// add adds a change.
func (p *Preview) add(entry *AuditLog) {
	switch {
	case p == nil:
	case len(p.Changes) == MaxPreview:
		p.Truncated = true
	default:
		p.Changes = append(p.Changes, entry)
	}
}

// Only returns the part of the preview that is about some resources.
func (p *Preview) Only(visible func(*Resource) bool) *Preview {
	only, kinds := &Preview{}, map[string]bool{}
	for _, part := range p.parts {
		if visible(part.resource) {
			kinds[part.resource.Kind()] = true
			only.count(part.verb, part.resource, part.field, part.n)
		}
	}
	only.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(e *AuditLog) bool { return !kinds[e.ResourceType] })
	only.Truncated = p.Truncated && int64(len(only.Changes)) < only.Created+only.Updated+only.Deleted
	return only
}

// Sum identifies the changes, except those that go along with a deletion, with the versions that they are made from. It leaves
// out the ids of new records, and times, which differ each time.
func (p *Preview) Sum(schema *Schema) string {
	var ids []string
	var all []any
	for _, e := range p.Changes {
		of := schema.OfKind(e.ResourceType)
		if of == nil || e.Cause != "" {
			continue
		}
		changes := e.Changes.clone()
		maps.DeleteFunc(changes, func(name string, _ Change) bool {
			f, ok := of.Field(name)
			return ok && f.Kind == Time
		})
		if e.Action == "create" {
			ids = append(ids, e.ResourceID, fmt.Sprint("new ", len(ids)))
		}
		all = append(all, []any{e.Action, e.ResourceType, e.ResourceID, changes, p.Versions[e.ResourceID]})
	}
	doc, _ := json.Marshal(all) // values of records always encode
	sum := sha256.Sum256([]byte(strings.NewReplacer(ids...).Replace(string(doc))))
	return hex.EncodeToString(sum[:])
}

// Drain returns the changes so far and removes them, so that there is room for more.
func (p *Preview) Drain() []*AuditLog {
	changes := p.Changes
	p.Changes = nil
	return changes
}

// addRequested counts a change that the caller asked for.
func (p *Preview) addRequested(r *Resource, before, after Record) {
	if p == nil {
		return
	}
	verb, id, version := "update", "", int64(0)
	switch {
	case before == nil:
		verb, id = "create", after.Meta().ID
	case after == nil:
		verb = "delete"
		fallthrough
	default:
		id, version = before.Meta().ID, before.Meta().Version
	}
	if _, changed := p.Versions[id]; !changed {
		if p.Versions == nil {
			p.Versions = map[string]int64{}
		}
		p.Versions[id] = version
	}
	p.count(verb, r, "", 1)
}

// addEffect counts the records that go along with a deletion.
func (p *Preview) addEffect(e *Effect) {
	if p == nil || e.Resource.Internal || e.Resource.Name == auditLogs {
		return // clients do not see them change
	}
	if e.Cleared != nil {
		p.count("clear", e.Resource, e.Cleared.Name, e.Count)
	} else {
		p.count("delete", e.Resource, "", e.Count)
	}
	p.Truncated = p.Truncated || len(e.Before) == 0 && e.Count > 0
}

func (p *Preview) count(verb string, r *Resource, field string, n int64) {
	switch verb {
	case "create":
		p.Created += n
	case "delete":
		p.Deleted += n
	default:
		p.Updated += n
	}
	same := func(part previewPart) bool {
		return part.verb == verb && part.resource.Name == r.Name && part.field == field
	}
	if i := slices.IndexFunc(p.parts, same); i >= 0 {
		p.parts[i].n += n
		return
	}
	p.parts = append(p.parts, previewPart{verb, r, field, n})
}

// Message returns the preview in words: "Would delete 1 location, and clear location_id of 10
// devices".
func (p *Preview) Message() string {
	var clauses []string
	for _, verb := range []string{"create", "update", "delete", "clear"} {
		var objects []string
		for _, part := range p.parts {
			if part.verb != verb || part.n == 0 {
				continue
			}
			object := part.resource.Noun()
			if part.n != 1 {
				object = part.resource.Plural(object)
			}
			object = strconv.FormatInt(part.n, 10) + " " + object
			if part.field != "" {
				object = part.field + " of " + object
			}
			objects = append(objects, object)
		}
		if len(objects) > 0 {
			clauses = append(clauses, verb+" "+enumerate(objects))
		}
	}
	if len(clauses) == 0 {
		return "Would change nothing"
	}
	return "Would " + strings.Join(clauses, ", and ")
}

// enumerate joins words: "a", "a and b", "a, b and c".
func enumerate(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return fmt.Sprintf("%s and %s", strings.Join(words[:last], ", "), words[last])
}
