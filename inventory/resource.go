package inventory

import (
	"reflect"
	"slices"
	"strings"
)

// Resource is the description of one kind of record: everything that stores, handlers and
// documents need to know of it. It does not change, and is safe for concurrent use.
type Resource struct {
	name, label string
	read, write []Role
	owned       bool
	fields      []*Field
	byName      map[string]*Field // those with a name in JSON
	uniques     []Unique
	goType      reflect.Type // of the struct
}

// Unique is a key that no two records have in common. One with a part that has no value is
// no key: any number of records may be like that.
type Unique struct {
	Fields  []string // names of fields
	Message string   // for people, when a record would break it
}

// definition is what the fields of a struct don't say of a resource.
type definition struct {
	name, label string
	read, write []Role            // nil read is every role
	owned       bool              // the record is the user, who may also read and change it
	messages    map[string]string // of unique keys, by the field whose tag has them
}

func roles(of ...Role) []Role { return of }

// all are the resources. A resource that refers to another one comes after it.
var all = []*Resource{
	locations(), users(), devices(), interfaces(), vlans(), links(), events(), metrics(), auditLogs(),
}

// own are the resources that no client sees: what an inventory keeps for itself.
var own = []*Resource{receipts(), secrets()}

// Resources are those that clients see. One that refers to another comes after it.
func Resources() []*Resource { return slices.Clone(all) }

// StoredResources are all that a store keeps: Resources, and those of [IdempotencyRecord] and [Secret], which
// no client sees.
func StoredResources() []*Resource { return slices.Concat(all, own) }

// Named is the one of Resources with a name such as "devices".
func Named(name string) (*Resource, bool) {
	i := slices.IndexFunc(all, func(r *Resource) bool { return r.name == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// Of is the resource whose records are of type *T, as in Of[Device](). It panics if there
// is none.
func Of[T any]() *Resource {
	r := find(reflect.TypeFor[T]())
	if r == nil {
		panic("inventory: " + reflect.TypeFor[T]().String() + " is no type of record")
	}
	return r
}

// ResourceOf is the resource of a record. It is nil for a type of somebody else's.
func ResourceOf(rec Record) *Resource {
	t := reflect.TypeOf(rec)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return find(t.Elem())
}

func find(t reflect.Type) *Resource {
	for _, list := range [][]*Resource{all, own} {
		if i := slices.IndexFunc(list, func(r *Resource) bool { return r.goType == t }); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// describe reads the tags of T. It panics if they make no sense, which the first test sees.
func describe[T any, P interface {
	*T
	Record
}](d definition) *Resource {
	r := &Resource{
		name: d.name, label: d.label, read: d.read, write: d.write, owned: d.owned,
		goType: reflect.TypeFor[T](), byName: map[string]*Field{},
	}
	if r.read == nil {
		r.read = roles(Admin, Editor, Viewer)
	}
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
			r.uniques = append(r.uniques, Unique{Fields: key, Message: message(d, f.Name)})
		}
	}
	return r
}

// message is what people read when a unique key is broken.
func message(d definition, field string) string {
	if m := d.messages[field]; m != "" {
		return m
	}
	words := strings.ReplaceAll(field, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:] + " already exists"
}

// Name is that of the resource in paths, in the plural: "devices", "audit-logs".
func (r *Resource) Name() string { return r.name }

// Label is the name of one record at the beginning of a sentence: "Device", "VLAN".
func (r *Resource) Label() string { return r.label }

// noun is the label within a sentence.
func (r *Resource) noun() string {
	if r.label == strings.ToUpper(r.label) {
		return r.label
	}
	return strings.ToLower(r.label)
}

// Kind is the name of one record for programs, as in audit logs: "device", "audit_log".
func (r *Resource) Kind() string { return strings.ReplaceAll(strings.ToLower(r.label), " ", "_") }

// Table is the name of the resource in a database: "devices", "audit_logs".
func (r *Resource) Table() string { return strings.ReplaceAll(r.name, "-", "_") }

// Fields are those of a record, hidden ones included: those of [Base], then those of its own.
func (r *Resource) Fields() []*Field { return slices.Clone(r.fields) }

// Field is the field of a name in JSON. Hidden fields have none.
func (r *Resource) Field(name string) (*Field, bool) {
	f, ok := r.byName[name]
	return f, ok
}

// Uniques are the keys of which no two records have the same.
func (r *Resource) Uniques() []Unique { return slices.Clone(r.uniques) }

// CanRead reports whether a role may read all records of the resource.
func (r *Resource) CanRead(role Role) bool { return slices.Contains(r.read, role) }

// CanWrite reports whether a role may change any record of the resource.
func (r *Resource) CanWrite(role Role) bool { return slices.Contains(r.write, role) }

// Owned reports whether a record is that of a user, who may read and change it too, except
// for the fields that are for admins.
func (r *Resource) Owned() bool { return r.owned }

// New is an empty record.
func (r *Resource) New() Record { return reflect.New(r.goType).Interface().(Record) }
