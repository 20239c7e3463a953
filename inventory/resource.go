package inventory

import (
	"reflect"
	"slices"
	"strings"
)

// Resource describes one type of record for stores, handlers and documents. It does not
// change, and is safe for concurrent use.
type Resource struct {
	name, label string
	fields      []*Field
	byName      map[string]*Field // by JSON name
	uniques     []Unique
	goType      reflect.Type // of the struct
}

// Unique is a key that is unique among the records of a resource. A record without a value
// in one of its fields has no such key.
type Unique struct {
	Fields  []string // names of fields
	Message string   // for people, when a record would violate it
}

// definition is what the struct does not say about a resource.
type definition struct {
	name, label string
	messages    map[string]string // of unique keys, by the field whose tag has them
}

// public are the resources of clients, internal those of the inventory itself. A resource
// stands after those that it refers to.
var (
	public = []*Resource{
		locations(), users(), devices(), interfaces(), vlans(), links(), events(), metrics(), auditLogs(),
	}
	internal = []*Resource{idempotencyRecords(), secrets()}
)

// Resources returns the resources that clients use. A resource stands after those that it
// refers to.
func Resources() []*Resource { return slices.Clone(public) }

// StoredResources returns all resources that a store holds: Resources and those of
// [IdempotencyRecord] and [Secret].
func StoredResources() []*Resource { return slices.Concat(public, internal) }

// Named returns the one of Resources with a name such as "devices".
func Named(name string) (*Resource, bool) {
	i := slices.IndexFunc(public, func(r *Resource) bool { return r.name == name })
	if i < 0 {
		return nil, false
	}
	return public[i], true
}

// Of returns the resource of the records of type *T, as in Of[Device](). It panics if there
// is none.
func Of[T any]() *Resource {
	r := find(reflect.TypeFor[T]())
	if r == nil {
		panic("inventory: " + reflect.TypeFor[T]().String() + " is not a record type")
	}
	return r
}

// ResourceOf returns the resource of a record, or nil for an unknown type.
func ResourceOf(rec Record) *Resource {
	t := reflect.TypeOf(rec)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return find(t.Elem())
}

func find(t reflect.Type) *Resource {
	for _, list := range [][]*Resource{public, internal} {
		for _, r := range list {
			if r.goType == t {
				return r
			}
		}
	}
	return nil
}

// describe reads the tags of T. It panics if one is invalid.
func describe[T any, P interface {
	*T
	Record
}](d definition) *Resource {
	r := &Resource{name: d.name, label: d.label, goType: reflect.TypeFor[T](), byName: map[string]*Field{}}
	for _, sf := range reflect.VisibleFields(r.goType) {
		if sf.Anonymous {
			continue
		}
		f, key := newField(sf)
		r.fields = append(r.fields, f)
		if f.Name != "" {
			r.byName[f.Name] = f
		}
		if key != nil {
			message := d.messages[f.Name]
			if message == "" {
				words := strings.ReplaceAll(f.Name, "_", " ")
				message = strings.ToUpper(words[:1]) + words[1:] + " already exists"
			}
			r.uniques = append(r.uniques, Unique{Fields: key, Message: message})
		}
	}
	return r
}

// Name returns the name of the resource in paths, in the plural: "devices", "audit-logs".
func (r *Resource) Name() string { return r.name }

// Label returns the name of one record at the start of a sentence: "Device", "VLAN".
func (r *Resource) Label() string { return r.label }

// Noun returns the name of one record within a sentence: "device", "VLAN".
func (r *Resource) Noun() string {
	if r.label == strings.ToUpper(r.label) {
		return r.label
	}
	return strings.ToLower(r.label)
}

// Kind returns the name of one record for programs, as in audit logs: "device", "audit_log".
func (r *Resource) Kind() string { return strings.ReplaceAll(strings.ToLower(r.label), " ", "_") }

// Table returns the name of the database table: "devices", "audit_logs".
func (r *Resource) Table() string { return strings.ReplaceAll(r.name, "-", "_") }

// Fields returns the fields of [Base] and then those of the record, hidden ones included.
func (r *Resource) Fields() []*Field { return slices.Clone(r.fields) }

// Field returns the field with a JSON name. Hidden fields have none.
func (r *Resource) Field(name string) (*Field, bool) {
	f, ok := r.byName[name]
	return f, ok
}

// Uniques returns the unique keys.
func (r *Resource) Uniques() []Unique { return slices.Clone(r.uniques) }

// New returns an empty record.
func (r *Resource) New() Record { return reflect.New(r.goType).Interface().(Record) }
