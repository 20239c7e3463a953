package records

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Resource describes one type of record for stores, handlers and documents. It belongs to one
// [Schema], does not change, and is safe for concurrent use.
type Resource struct {
	Definition
	fields    []*Field
	byName    map[string]*Field // by JSON name
	byMember  map[string]*Field // references, by Field.Member
	uniques   []Unique
	referrers []Referrer
	onChange  []ChangeFunc
	goType    reflect.Type // of the struct

	tablePrefix string
}

// Definition completes the description of a resource beyond the struct of its records.
type Definition struct {
	// Name is the name of the resource in paths, in the plural: "devices", "audit-logs".
	// Required.
	Name string
	// Label is the name of one record at the start of a sentence: "Device", "VLAN". Required.
	Label string
	// Description is a sentence about the records for documents. Default: "All racks." for the
	// label Rack.
	Description string
	// Messages are the messages for violations of unique keys, by the field whose tag has the
	// key, or by all fields of the key with commas between them. Default: "Serial number already exists" for
	// serial_number.
	Messages map[string]string
	// Reasons are the messages of errors that have only one field, by its reason.
	Reasons map[string]string

	// Keys are the natural keys, by which people and files name a record: the fields of each, the best
	// key first. Bodies may have them in place of ids, and imports find records by them. They should be
	// unique, but need not be. Default: the first unique key whose fields clients see.
	Keys [][]string
	// Apart are fields that tell records with an equal natural key apart, such as the tenant of devices: texts, whole
	// numbers and references. Natural keys may have them too. See [Namesake].
	Apart []string
	// Anonymous records may equal others in all that names them. Exports with natural keys have the ids of such records.
	Anonymous bool

	// ImportAfter are the resources whose rows an import applies before those of this one, if it has any.
	// It is for records that would change what these rows create. Default: the order of the schema.
	ImportAfter []string

	// Show says how pages show the records.
	Show Show
	// Internal resources are stored, and have no routes.
	Internal bool
	// Unaudited changes have no entry in the audit log. It is for measurements.
	Unaudited bool
	// Prunable records may be deleted by age or number, the oldest first ([Engine.Prune]). It is
	// for logs and measurements.
	Prunable bool
	// Lockable records may be locked ([Lock]). Their changes wait for the transactions that have done
	// so, in turn: however many follow, a change does not wait for later ones.
	Lockable bool
	// Access says who may read and change the records. The zero value: everybody with a token
	// reads, and admins change.
	Access Access
	// Routes are the operations that clients have. The zero value is all of them.
	Routes Routes
	// Order is the order of a list without sortby, such as "id:desc". Default: the order of
	// creation.
	Order []string
	// Limit is the number of records in a page without the parameter limit. Default:
	// DefaultLimit.
	Limit int64
	// Within says which places a record belongs to, for callers who are limited to some
	// ([Query].Only): the ids in these references, or the places of the records that they refer
	// to. A record belongs to given places if at least one of the references has a value, and
	// each that has one leads to them. "id" alone says that the records are the places. Nil: the
	// records belong to none, and limited callers have no access to them.
	Within []string
	// Children are lists of records that refer to one of this resource.
	Children []Child
	// Latest makes stores keep the latest records for themselves. Nil: they don't.
	Latest *Latest
	// Checks are conditions in SQL on several columns, which databases check as well as the rules of the
	// records. Databases get those that they lack, and keep others.
	Checks []string
	// Unindexed are fields of Base that stores do not index here, such as created_at of records
	// that are written often and listed by another time.
	Unindexed []string
}

// Show says how pages show the records of a resource. Its zero value is usable.
type Show struct {
	// Group is the group of the navigation, which shows its first resource in the order of Order, and the others below that
	// when it is opened. Groups are in the order of their first resource. Default: a resource of its own, after the others.
	Group string
	Order int
	// Hidden resources are not in the navigation: another page has their records.
	Hidden bool
	// Icon is the name of an icon of httpx/ui. Default: a dot.
	Icon string
	// Columns are the fields that lists have unless the reader chooses others. Default: those that seem to say most.
	Columns []string
}

// Latest describes which records are the latest ones: among those with the same value of Per, the
// one with the highest value of At, then the highest id. A store keeps them apart, in the
// transactions that change records, so that lists of them cost the same however many other
// records there are.
type Latest struct {
	Per    string   // a required reference whose records are deleted with the one that it refers to
	At     string   // a time
	Sorted []string // fields that lists of the latest records are sorted by; stores index them
}

// Access says who may perform the operations of a resource.
type Access struct {
	Read   Permission // default: everybody with a token
	Create Permission // default, as for the others: admins
	Update Permission
	Delete Permission
}

// Permission says who may perform an operation. The zero value is the default of the
// operation.
type Permission struct {
	Everyone bool     // everybody with a token
	Roles    []string // users with one of these roles, and admins
	Owner    bool     // the user whose own record it is, whatever the role
}

// Or returns the permission, or another one if it is the zero value.
func (p Permission) Or(other Permission) Permission {
	if !p.Everyone && !p.Owner && len(p.Roles) == 0 {
		return other
	}
	return p
}

// Routes is a set of operations that clients have.
type Routes uint8

// The operations.
const (
	RouteList       Routes = 1 << iota // GET of a list
	RouteGet                           // GET of one record
	RouteCreate                        // POST of one or several records
	RouteReplace                       // PUT of one record
	RouteChange                        // PATCH of one record
	RouteChangeMany                    // PATCH of several records
	RouteDelete                        // DELETE of one record
	RouteDeleteMany                    // DELETE of several records

	RoutesRead = RouteList | RouteGet
	RoutesAll  = RoutesRead | RouteCreate | RouteReplace | RouteChange | RouteChangeMany | RouteDelete | RouteDeleteMany
)

// Has reports whether an operation is one of the set. The zero set has all of them.
func (r Routes) Has(operation Routes) bool { return r == 0 || r&operation != 0 }

// Rights are the operations that somebody may perform, by resource.
type Rights map[string]Routes

// May reports whether one of some operations on records of a resource is among them. On single records it may
// still be refused, and one's own user may be read and changed without it.
func (r Rights) May(resource string, operation Routes) bool { return r[resource]&operation != 0 }

// Child is a list of the records that refer to one record: GET /devices/{id}/interfaces.
type Child struct {
	Path  string // the last part of the path: "interfaces"
	Count string // the last part of a path with their number: "interfacecount"; empty for none
	From  string // the name of the resource that refers
	Field string // the field with the reference
}

// Unique is a key that is unique among the records of a resource. A record without a value
// in one of its fields has no such key.
type Unique struct {
	Fields  []string // names of fields, or the column of a hidden one: see Resource.KeyField
	Without string   // if not empty, only records without a value in this field have the key
	Added   bool     // by UniqueKey
	Message string   // for people, when a record would violate it
}

// Referrer is a field that refers to a resource.
type Referrer struct {
	From  *Resource
	Field *Field
}

// newResource reads the tags of a struct.
func newResource(d Definition, t reflect.Type) (*Resource, error) {
	r := &Resource{Definition: d, goType: t, byName: map[string]*Field{}}
	if d.Name == "" || d.Label == "" {
		return nil, fmt.Errorf("the resource of %v has no name or no label", t)
	}
	if err := checkResourceName(d.Name); err != nil {
		return nil, err
	}
	for _, sf := range reflect.VisibleFields(t) {
		if sf.Anonymous || sf.Tag.Get("json") == "-" && sf.Tag.Get("field") == "" {
			continue
		}
		f, err := newField(sf)
		if err != nil {
			return nil, fmt.Errorf("field %s of %v: %w", sf.Name, t, err)
		}
		f.Index = f.Index && !slices.Contains(d.Unindexed, f.Name)
		if err := r.add(f); err != nil {
			return nil, err
		}
	}
	if f := r.byName["updated_at"]; f != nil && d.Unaudited {
		f.Index = false // measurements and entries of a log do not change
	}
	return r, nil
}

// add adds a field.
func (r *Resource) add(f *Field) error {
	for _, other := range r.fields {
		if f.Column != "" && other.Column == f.Column && other.Name != f.Name {
			return fmt.Errorf("field %s of %s has the column of another field: rename it", f.Name, r.Name)
		}
	}
	r.fields = append(r.fields, f)
	if f.Name == "" { // a hidden field, which keys name by its column
		for _, key := range f.keys {
			key.Fields[len(key.Fields)-1] = f.Column
			r.addKey(key)
		}
		return nil
	}
	if err := checkName(f.Name); err != nil {
		return fmt.Errorf("field %q of %s: %w", f.Name, r.Name, err)
	}
	if r.byName[f.Name] != nil {
		return fmt.Errorf("%s has two fields with the name %s", r.Name, f.Name)
	}
	r.byName[f.Name] = f
	for _, key := range f.keys {
		r.addKey(key)
	}
	return nil
}

// addKey adds a unique key with its message.
func (r *Resource) addKey(key Unique) {
	last := key.Fields[len(key.Fields)-1]
	key.Message = cmp.Or(r.Messages[strings.Join(key.Fields, ",")], r.Messages[last])
	if key.Message == "" {
		words := strings.ReplaceAll(last, "_", " ")
		key.Message = strings.ToUpper(words[:1]) + words[1:] + " already exists"
	}
	r.uniques = append(r.uniques, key)
}

// Describe returns the description for documents.
func (r *Resource) Describe() string { return cmp.Or(r.Description, "All "+r.Plural(r.Noun())+".") }

// Plural returns a word for one record of the resource with the ending of several, which the name of the resource has: "addresses"
// for "address".
func (r *Resource) Plural(word string) string {
	end, ok := strings.CutPrefix(r.Name, strings.ReplaceAll(strings.ToLower(r.Label), " ", "-"))
	if !ok {
		end = "s"
	}
	return word + end
}

// Noun returns the name of one record within a sentence: "device", "tagged VLAN".
func (r *Resource) Noun() string {
	words := strings.Fields(r.Label)
	for i, word := range words {
		if word != strings.ToUpper(word) {
			words[i] = strings.ToLower(word)
		}
	}
	return strings.Join(words, " ")
}

// Kind returns the name of one record for programs, as in audit logs: "device", "audit_log".
func (r *Resource) Kind() string { return strings.ReplaceAll(strings.ToLower(r.Label), " ", "_") }

// Table returns the name of the database table, with the prefix of the schema: "devices", "audit_logs".
func (r *Resource) Table() string {
	return r.tablePrefix + sqlName(strings.ReplaceAll(r.Name, "-", "_"))
}

// Fields returns the fields of [Base], those of the record, hidden ones included, and those
// that were added to it.
func (r *Resource) Fields() []*Field { return slices.Clone(r.fields) }

// Field returns the field with a JSON name. Hidden fields have none.
func (r *Resource) Field(name string) (*Field, bool) {
	f, ok := r.byName[name]
	return f, ok
}

// Uniques returns the unique keys.
func (r *Resource) Uniques() []Unique { return slices.Clone(r.uniques) }

// KeyField returns the field that [Unique].Fields names, nil if there is none. A hidden field is
// named by its column there.
func (r *Resource) KeyField(name string) *Field {
	if f := r.byName[name]; f != nil {
		return f
	}
	i := slices.IndexFunc(r.fields, func(f *Field) bool { return f.Hidden && f.Column == name })
	if i < 0 {
		return nil
	}
	return r.fields[i]
}

// Referrers returns the fields that refer to the resource.
func (r *Resource) Referrers() []Referrer { return slices.Clone(r.referrers) }

// New returns an empty record.
func (r *Resource) New() Record { return reflect.New(r.goType).Interface().(Record) }

// Is reports whether a record is one of the resource, and not a nil pointer.
func (r *Resource) Is(rec Record) bool {
	v := reflect.ValueOf(rec)
	return rec != nil && v.Type() == reflect.PointerTo(r.goType) && !v.IsNil()
}

// check returns an error for a record of another type. It is a mistake of the caller.
func (r *Resource) check(rec Record) error {
	if r.Is(rec) {
		return nil
	}
	return fmt.Errorf("%T is not a record of %s, or is nil", rec, r.Name)
}

// The bounds of facets: stores keep a count for each pair of values of two of them.
const (
	maxFacets     = 10
	maxFacetRunes = 150
)

// Facets returns the first ten counted fields of the struct with values of up to 150 characters.
// Stores also count the records for each pair of values of two of them, and their indexes contain
// those that are no references, so that a list with filters of them reads few records.
func (r *Resource) Facets() (facets []*Field) {
	for _, f := range r.fields {
		if f.Counted && !f.Extra && f.Column != "" && f.indexed() <= maxFacetRunes && len(facets) < maxFacets {
			facets = append(facets, f)
		}
	}
	return facets
}

// Indexed reports whether stores have an index that finds the records with a value of the field.
func (r *Resource) Indexed(f *Field) bool { return f.Index || f.Ref != nil }
