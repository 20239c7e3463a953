package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Schema is the resources of a store. It does not change, and is safe for concurrent use: a
// program that adds to it makes another one.
type Schema struct {
	parts          []Part
	public, stored []*Resource // a resource stands after those that it refers to
	byName         map[string]*Resource
	byType         map[reflect.Type]*Resource
	migrations     []Migration
	afterCommit    []func(context.Context, []*AuditLog)
	tablePrefix    string
	reserved       []string // see Reserve

	declaring []*Resource      // whose records declare parts
	base      *Schema          // without declared parts; nil if there are none
	versions  map[string]int64 // of the records that declare parts, by id
}

// Part is a part of a schema: a resource ([Define]), a field, values or a unique key that are added to
// one ([Extend], [ExtendEnum], [ExtendChildren], [UniqueKey]), or migrations ([Migrations]).
type Part struct{ add func(s *Schema) error }

// Define returns the part that defines the resource of records of type *T.
func Define[T any, P interface {
	*T
	Record
}](d Definition) Part {
	return Part{func(s *Schema) error {
		t := reflect.TypeFor[T]()
		r, err := newResource(d, t)
		if err != nil {
			return err
		}
		if s.byName[d.Name] != nil || s.byType[t] != nil {
			return fmt.Errorf("the resource %s or the type %v is defined twice", d.Name, t)
		}
		s.byName[d.Name], s.byType[t] = r, r
		s.public = append(s.public, r)
		if reflect.PointerTo(t).Implements(reflect.TypeFor[Declarer]()) {
			s.declaring = append(s.declaring, r)
		}
		return checkHooks(reflect.PointerTo(t))
	}}
}

// Extend returns the part that adds a field to a resource of another part. The tag has the same
// words as a field of a struct (see the package comment), and values=a|b|c for an enumeration.
// The values are in Base.Extra: use [Field.Value] or the map. All such fields may be null, except
// strings and lists. set may set Label, Default, Enum, Pattern and what else a tag can't contain.
func Extend(resource, field string, kind Kind, tag string, set ...func(f *Field)) Part {
	return Part{func(s *Schema) error {
		r := s.byName[resource]
		if r == nil {
			return fmt.Errorf("field %s extends the unknown resource %s", field, resource)
		}
		f, err := newExtra(field, kind, tag, set)
		if err != nil {
			return fmt.Errorf("field %s of %s: %w", field, resource, err)
		}
		return r.add(f)
	}}
}

// ExtendEnum returns the part that adds values to an open enumeration, which is a field of a resource of
// another part. Values are in lower case.
func ExtendEnum(resource, field string, values ...string) Part {
	return Part{func(s *Schema) error {
		r := s.byName[resource]
		if r == nil || r.byName[field] == nil || !r.byName[field].Open {
			return fmt.Errorf("values are added to %s of %s, which is no open enumeration", field, resource)
		}
		f := r.byName[field]
		for _, v := range values {
			if v == "" || v != strings.ToLower(v) || slices.Contains(f.Enum, v) {
				return fmt.Errorf("the value %q of %s of %s is empty, not in lower case, or a duplicate", v, field, resource)
			}
			f.Enum = append(slices.Clone(f.Enum), v)
		}
		return nil
	}}
}

// UniqueKey returns the part that adds a unique key to a resource of another part: no two records
// have the same values in these fields. It changes nothing if the resource has the key. A database
// gets or loses the index of the key when it is opened with a schema that has or lacks it; it can't
// be opened while its records violate the key.
func UniqueKey(resource string, fields ...string) Part {
	return Part{func(s *Schema) error {
		r := s.byName[resource]
		if r == nil || len(fields) == 0 {
			return fmt.Errorf("a unique key is added to the unknown resource %s, or has no fields", resource)
		}
		has := func(u Unique) bool { return u.Without == "" && slices.Equal(u.Fields, fields) }
		if !slices.ContainsFunc(r.uniques, has) {
			r.addKey(Unique{Fields: slices.Clone(fields), Added: true})
		}
		return nil
	}}
}

// CaseSensitive returns the part that allows values of a field of a resource of another part which differ in case only, where
// the records of the resource refuse them otherwise.
func CaseSensitive(resource, field string) Part {
	return Part{func(s *Schema) error {
		r := s.byName[resource]
		if r == nil || r.byName[field] == nil {
			return fmt.Errorf("CaseSensitive: there is no field %s of %s", field, resource)
		}
		r.byName[field].CaseSensitive = true
		return nil
	}}
}

// Reserve returns the part with the names that fields which users add may not have ([Schema.Reserved]): those of members and
// parameters that requests have beside fields.
func Reserve(names ...string) Part {
	return Part{func(s *Schema) error {
		s.reserved = append(s.reserved, names...)
		return nil
	}}
}

// Reserved reports whether a field of a resource that a user adds may not have a name. Fields of programs, and those of
// before the name was reserved, keep it.
func (s *Schema) Reserved(r *Resource, name string) bool {
	return slices.Contains(s.reserved, name) || r.byMember[name] != nil
}

// ExtendChildren returns the part that adds lists of records to those below each record of a resource of another part, as
// Definition.Children does: GET /devices/{id}/contracts.
func ExtendChildren(resource string, children ...Child) Part {
	return Part{func(s *Schema) error {
		r := s.byName[resource]
		if r == nil {
			return fmt.Errorf("ExtendChildren: the resource %s is unknown", resource)
		}
		r.Children = slices.Concat(r.Children, children)
		return nil
	}}
}

// Migration is a numbered step of the history of a schema. Tables follow from the resources, so that most
// have no statements: only those that move or delete data do.
//
// A database has the numbers of its migrations. A program that lacks one goes on if Oldest allows it, so that the
// servers of a database can be replaced one by one. Otherwise it is older than the database, and refuses to use it.
type Migration struct {
	// Version is the number. Programs that add migrations to those of a library number theirs from 100,000.
	Version int64
	// Oldest is the version that programs need at least to work with the database after this migration: that of an
	// earlier one. A migration may add tables, optional columns and indexes that are not unique, and values of an
	// enum, and may drop what programs of version Oldest do not use. It may not add counted fields, which earlier
	// programs would not count. 0 means that they can't work with the database, and must be stopped before.
	Oldest int64
	// Statements change a database that existed before this migration, by its name: "sqlite" or "postgres", or
	// "" for both, which run first. They run once, before the tables are made to fit the resources, and in the
	// same transaction. {prefix} in them is the prefix of tables and indexes: ALTER TABLE {prefix}users.
	Statements map[string][]string
	// Fill are statements for both, as Statements, which run once the tables fit the resources: they fill new columns.
	Fill []string
}

// Migrations returns the part with some migrations.
func Migrations(all ...Migration) Part {
	return Part{func(s *Schema) error {
		for _, m := range all {
			if m.Version < 1 || slices.ContainsFunc(s.migrations, func(other Migration) bool { return other.Version == m.Version }) {
				return fmt.Errorf("the migration %d is below 1 or a duplicate", m.Version)
			}
			if m.Oldest < 0 || m.Oldest >= m.Version {
				return fmt.Errorf("the migration %d has the oldest version %d: name an earlier migration, or 0", m.Version, m.Oldest)
			}
			for database := range m.Statements {
				if database != "" && database != "sqlite" && database != "postgres" {
					return fmt.Errorf("the migration %d has statements for the database %q: use sqlite, postgres, or an empty name for both", m.Version, database)
				}
			}
			s.migrations = append(s.migrations, m)
		}
		slices.SortFunc(s.migrations, func(a, b Migration) int { return cmp.Compare(a.Version, b.Version) })
		return nil
	}}
}

// TablePrefix returns the part that adds a prefix to the names of all tables of a database, such as inventory_ or
// inventory. with a dot, for a schema of PostgreSQL. Stores add it themselves (sqlstore.Options.Namespace).
func TablePrefix(prefix string) Part {
	return Part{func(s *Schema) error {
		name := strings.TrimRight(prefix, "._")
		if !namePattern.MatchString(name) || len(name) > maxName || len(prefix) != len(name)+1 || sqlName(name) != name || strings.HasPrefix(prefix, "pg_") || strings.HasPrefix(prefix, "sqlite_") {
			return fmt.Errorf("the namespace %q of tables is invalid or reserved: use up to %d lower-case letters, digits and single underscores, beginning with a letter", name, maxName)
		}
		s.tablePrefix = prefix
		return nil
	}}
}

// TablePrefix returns the prefix of the names of tables.
func (s *Schema) TablePrefix() string { return s.tablePrefix }

// NewSchema returns the schema of some parts, and of the audit log and the stored responses
// to repeated requests, which every schema has. The error names the part that is wrong.
func NewSchema(parts ...Part) (*Schema, error) {
	s := &Schema{parts: slices.Clone(parts), byName: map[string]*Resource{}, byType: map[reflect.Type]*Resource{}}
	for _, p := range slices.Concat(parts, builtIn()) {
		if p.add == nil {
			return nil, errors.New("schema: a part is the zero Part")
		}
		if err := p.add(s); err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
	}
	if err := s.resolve(); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

// With returns the schema with further parts.
func (s *Schema) With(parts ...Part) (*Schema, error) {
	return NewSchema(slices.Concat(s.parts, parts)...)
}

// Resources returns the resources that clients use. A resource stands after those that it
// refers to.
func (s *Schema) Resources() []*Resource { return slices.Clone(s.public) }

// StoredResources returns all resources that a store holds, Resources and internal ones, in such an order.
func (s *Schema) StoredResources() []*Resource { return slices.Clone(s.stored) }

// OfKind returns the resource whose records have a name in the audit log ([Resource.Kind]), nil if there is none.
func (s *Schema) OfKind(kind string) *Resource {
	if i := slices.IndexFunc(s.public, func(r *Resource) bool { return r.Kind() == kind }); i >= 0 {
		return s.public[i]
	}
	return nil
}

// Named returns the resource with a name such as "devices".
func (s *Schema) Named(name string) (*Resource, bool) {
	r, ok := s.byName[name]
	return r, ok
}

// Migrations returns the migrations of the schema, in the order of their numbers.
func (s *Schema) Migrations() []Migration { return slices.Clone(s.migrations) }

// Of returns the resource of the records of type *T, as in Of[Device](schema). It panics if
// there is none.
func Of[T any](s *Schema) *Resource {
	r := s.byType[reflect.TypeFor[T]()]
	if r == nil {
		panic("records: " + reflect.TypeFor[T]().String() + " is not a record type of the schema")
	}
	return r
}

// Of returns the resource of a record. The error is for nil and unknown types.
func (s *Schema) Of(rec Record) (*Resource, error) {
	v := reflect.ValueOf(rec)
	if s.byType == nil {
		return nil, errors.New("the store or its schema is nil")
	}
	if rec == nil || v.Kind() != reflect.Pointer || v.IsNil() || s.byType[v.Type().Elem()] == nil {
		return nil, fmt.Errorf("%T is not a record type of the schema, or the record is nil", rec)
	}
	return s.byType[v.Type().Elem()], nil
}

// resolve connects references, checks the definitions, and orders the resources.
func (s *Schema) resolve() error {
	for _, r := range s.public {
		r.tablePrefix = s.tablePrefix
		for _, f := range r.fields {
			if f.Ref == nil {
				continue
			}
			f.Ref.resource = s.byName[f.Ref.To]
			if f.Ref.resource == nil {
				return fmt.Errorf("field %s of %s refers to the unknown resource %s", f.Name, r.Name, f.Ref.To)
			}
			f.Ref.resource.referrers = append(f.Ref.resource.referrers, Referrer{r, f})
		}
		if err := r.checkDefinition(s); err != nil {
			return err
		}
	}
	for _, r := range s.public {
		r.setMembers()
	}
	return s.sort()
}

// checkDefinition checks what refers to fields and resources by name.
func (r *Resource) checkDefinition(s *Schema) error {
	for _, u := range r.uniques {
		for _, name := range u.Fields {
			if r.KeyField(name) == nil {
				return fmt.Errorf("a unique key of %s has the unknown field %s", r.Name, name)
			}
		}
	}
	if err := r.checkIndexes(); err != nil {
		return err
	}
	if err := r.setKeys(); err != nil {
		return err
	}
	for _, f := range r.Facets() {
		f.facet = true
	}
	for _, order := range r.Order {
		name, direction, _ := strings.Cut(order, ":")
		if f := r.byName[name]; f == nil || !f.Sortable() || direction != "asc" && direction != "desc" {
			return fmt.Errorf("%s has the order %q: use the name of a sortable field and :asc or :desc", r.Name, order)
		}
	}
	var paths []string // of Children
	for _, c := range r.Children {
		from := s.byName[c.From]
		if from == nil || from.byName[c.Field] == nil || from.byName[c.Field].Ref == nil || from.byName[c.Field].Ref.To != r.Name {
			return fmt.Errorf("%s has the children %s, but no field %s of %s refers to it", r.Name, c.Path, c.Field, c.From)
		}
		paths = append(paths, c.Path)
		if c.Count != "" {
			paths = append(paths, c.Count)
		}
	}
	for i, path := range paths {
		if !resourcePattern.MatchString(path) || slices.Contains(paths[:i], path) {
			return fmt.Errorf("%s has children with the path %q: use each once, with lower-case letters, digits and single hyphens", r.Name, path)
		}
	}
	if err := r.checkLatest(); err != nil {
		return err
	}
	if err := r.checkWithin(s); err != nil {
		return err
	}
	if r.Limit < 0 || r.Limit > MaxLimit {
		return fmt.Errorf("%s has pages of %d records: use 1 to %d", r.Name, r.Limit, MaxLimit)
	}
	for name := range r.Messages {
		if !slices.ContainsFunc(r.uniques, func(u Unique) bool { return u.Fields[len(u.Fields)-1] == name || strings.Join(u.Fields, ",") == name }) {
			return fmt.Errorf("%s has a message for the field %s, which ends no unique key", r.Name, name)
		}
	}
	return nil
}

// maxIndexed is the maximum number of characters in one index: databases bound the bytes.
const maxIndexed = 600

// checkIndexes checks that databases can index the fields that are to be indexed or counted.
func (r *Resource) checkIndexes() error {
	for _, f := range r.fields {
		for _, c := range []struct {
			wrong  bool
			reason string
		}{
			{f.Ref != nil && f.Ref.Cascade && f.Ref.To == r.Name, "refers to its own resource, which must not cascade: use :null"},
			{f.Ref != nil && f.Ref.Restrict && !f.Nullable, "restricts deletions and can't be null: make it a pointer"},
			{f.Natural && (f.Kind != Text || f.Format != "line"), "is no line of text, and has no natural order: remove natural"},
			{f.Counted && f.Kind != Text && f.Kind != Int && f.Kind != Bool, "is a " + f.Kind.String() + ", whose values are not counted: remove counted"},
			{f.Shared && (!f.Index || f.Counted), "is not indexed, or it is counted, and can't be shared: remove shared"},
			{f.Index && !f.Sortable() && !f.Hidden, "can't be sorted by: remove index"},
			{(f.Index || f.Counted) && f.indexed() > maxIndexed, fmt.Sprintf("is indexed or counted: add max= with at most %d characters", maxIndexed)},
		} {
			if c.wrong {
				return fmt.Errorf("field %s of %s %s", f.Name, r.Name, c.reason)
			}
		}
	}
	for _, u := range r.uniques {
		sum := 0.0
		for _, name := range u.Fields {
			sum += r.KeyField(name).indexed()
		}
		if sum > maxIndexed {
			return fmt.Errorf("the unique key %s of %s is too long: add max= with at most %d characters for all its fields", strings.Join(u.Fields, ", "), r.Name, maxIndexed)
		}
	}
	return nil
}

// indexed returns the characters that a value may have in an index.
func (f *Field) indexed() float64 {
	switch {
	case f.Kind != Text:
		return 0
	case f.Max != nil:
		return *f.Max
	case f.Format == "line" || f.Format == "text" || f.Format == "url":
		return math.Inf(1)
	}
	return 100 // of a format
}

// sort puts each resource after those that it refers to, and separates the internal ones.
func (s *Schema) sort() error {
	state := map[*Resource]int{} // 1: begun, 2: done
	var visit func(r *Resource) error
	visit = func(r *Resource) error {
		switch state[r] {
		case 1:
			return fmt.Errorf("%s refers to resources that refer to it", r.Name)
		case 2:
			return nil
		}
		state[r] = 1
		for _, f := range r.fields {
			if f.Ref != nil && f.Ref.resource != r {
				if err := visit(f.Ref.resource); err != nil {
					return err
				}
			}
		}
		state[r] = 2
		s.stored = append(s.stored, r)
		return nil
	}
	for _, r := range s.public {
		if err := visit(r); err != nil {
			return err
		}
	}
	s.public = slices.DeleteFunc(slices.Clone(s.stored), func(r *Resource) bool { return r.Internal })
	return nil
}

// namePattern is the form of the name of a field: it is also a column and a parameter.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// maxName is the maximum length of the name of a field. Databases bound the names of columns
// and of indexes, which contain those of fields.
const maxName = 40

// reserved are the parameters and members that no field may have as its name.
var reserved = []string{
	"page", "limit", "sortby", "q", "fields", "count", "cursor", "dry_run", "sort", "latest", "if_version", "within",
}

// checkName checks the name of a field.
func checkName(name string) error {
	switch {
	case !namePattern.MatchString(name) || len(name) > maxName:
		return fmt.Errorf("a name has up to %d lower-case letters, digits and single underscores, and begins with a letter", maxName)
	case slices.Contains(reserved, name):
		return errors.New("this name is a parameter of lists")
	}
	return nil
}

// sqlWords are the names that PostgreSQL or SQLite do not accept for a column or a table without
// quotes.
var sqlWords = strings.Fields(`
	add all alter analyse analyze and any array as asc asymmetric authorization autoincrement between binary both case cast check
	cmax cmin collate collation column commit concurrently constraint create cross ctid current_catalog current_date current_role
	current_schema current_time current_timestamp current_user default deferrable delete desc distinct do drop else end escape
	except exists false fetch for foreign freeze from full grant group having ilike in index indexed initially inner insert
	intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not nothing notnull null
	offset on only or order outer overlaps placing primary references returning right rowid select session_user set similar some
	symmetric system_user table tableoid tablesample then to trailing transaction true union unique update user using values
	variadic verbose when where window with xmax xmin`)

// sqlName returns the name of a column or a table: that of its field or resource, with an
// underscore at the end if databases do not accept it.
func sqlName(name string) string {
	if slices.Contains(sqlWords, name) {
		return name + "_"
	}
	return name
}

// resourcePattern is the form of the name of a resource.
var resourcePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// reservedPaths are the paths that no resource may have as its name.
var reservedPaths = []string{"docs", "debug"}

// checkResourceName checks the name of a resource, which is also a path and a table.
func checkResourceName(name string) error {
	switch {
	case !resourcePattern.MatchString(name) || len(name) > maxName:
		return fmt.Errorf("the resource has the name %q: use up to %d lower-case letters, digits and single hyphens, beginning with a letter", name, maxName)
	case slices.Contains(reservedPaths, name) || strings.HasPrefix(name, "sqlite-") || strings.HasPrefix(name, "pg-"):
		return fmt.Errorf("the resource has the name %q, which is reserved: use another one", name)
	}
	return nil
}
