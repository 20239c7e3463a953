package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// index is an index of a table.
type index struct {
	name, text string
	condition  string // of a partial index
	keyed      bool   // of the keys of a field
}

// indexes returns the indexes of a resource: of its unique keys, of fields with the tag word index, and of
// references, which omits the records that have none unless the field has that word too.
func (d *Dialect) indexes(r *records.Resource) (all []index) {
	leading := map[string]bool{}
	for _, u := range r.Uniques() {
		name := uniqueName(r, u)
		columns := columnsOf(r, u)
		var conditions []string
		for _, field := range u.Fields {
			if condition := optional(r.KeyField(field)); condition != "" {
				conditions = append(conditions, condition)
			}
		}
		if without, ok := r.Field(u.Without); ok {
			conditions = append(conditions, missing(without, without.Column, true))
		}
		leading[columns[0]] = true
		text := "CREATE UNIQUE INDEX " + local(name) + " ON " + r.Table() + " (" + strings.Join(columns, ", ") + ")" + where(conditions)
		all = append(all, index{name: name, text: text, condition: strings.Join(conditions, " AND ")})
	}
	for _, f := range r.Fields() {
		name, covered := d.fieldIndex(r, f)
		if name == "" {
			continue
		}
		order := ""
		if orderField(f).Nullable {
			order = d.NullsFirst
		}
		columns := orderColumn(f) + order
		if r.Latest != nil && r.Latest.Per == f.Name {
			at, _ := r.Field(r.Latest.At)
			columns += ", " + at.Column + d.NullsFirst
		}
		if !d.DDL.Include || len(scanned(r)) == 0 { // else PostgreSQL keeps equal values once
			columns += ", id"
		}
		if d.DDL.Include && len(covered) > 0 {
			columns += ") INCLUDE (" + strings.Join(covered, ", ")
		} else {
			columns += strings.Join(append([]string{""}, covered...), ", ")
		}
		text, condition := "CREATE INDEX "+local(name)+" ON "+r.Table()+" ("+columns+")", ""
		if partial(f) {
			condition = optional(f)
			text += where([]string{condition})
		}
		all = append(all, index{name, text, condition, f.Keyed()})
	}
	return all
}

// optional returns the condition that an index of a key needs for a field that may have no value, else "".
func optional(f *records.Field) string {
	if f.Nullable || f.Kind == records.Text && !f.Required {
		return missing(f, f.Column, false)
	}
	return ""
}

// scanned returns the columns of the fields with the tag word scanned.
func scanned(r *records.Resource) (columns []string) {
	for _, f := range r.Fields() {
		if f.Scanned {
			columns = append(columns, f.Column)
		}
	}
	return columns
}

// leads reports whether the index of a unique key begins with a field, and has all records with a value of it.
func leads(r *records.Resource, f *records.Field, u records.Unique) bool {
	return u.Fields[0] == f.Name && u.Without == "" && !slices.ContainsFunc(u.Fields[1:], func(name string) bool { return optional(r.KeyField(name)) != "" })
}

// partial reports whether the index of a field omits the records without a value.
func partial(f *records.Field) bool { return f.Ref != nil && !f.Index && f.Nullable }

// fieldIndex returns the name of the index of a field and the id, empty if there is none, and
// the facets that it contains besides, so that a list with a filter of one of them reads no row
// that does not match. That of a shared field also has the columns of other orders where the
// store chooses the index, so that its records are sorted without reading their rows. Their hash is part of the name: with other facets it is another index. The
// index of a field that is keyed has its keys, and serves equality too, with the key of the value:
// it contains the values too, if there is space.
func (d *Dialect) fieldIndex(r *records.Resource, f *records.Field) (name string, covered []string) {
	// An index of a scanned field is small in PostgreSQL, which keeps equal values once.
	small := f.Scanned && d.IndexedBy == "" && (f.Search || !f.Counted)
	if f.Column == "" || f.Column == "id" || !r.Indexed(f) && !small {
		return "", nil
	}
	if f.Ref != nil && !f.Index && slices.ContainsFunc(r.Uniques(), func(u records.Unique) bool { return leads(r, f, u) }) {
		return "", nil // the index of the key serves it too
	}
	if also := scanned(r); also != nil {
		if f.Name != "created_at" || d.IndexedBy == "" {
			also = nil
		}
		return identifier(r.Table(), f.Column, hashOf(strings.Join(also, ",")), "idx"), also
	}
	size := indexBytes(f) + indexBytes(&records.Field{Kind: records.Text, Format: "uuid"})
	if n := indexBytes(f); f.Keyed() && (d.DDL.IndexBytes == 0 || size+n <= d.DDL.IndexBytes) {
		size += n
		covered = append(covered, f.Column)
	}
	for _, facet := range r.Facets() {
		n := indexBytes(facet)
		if facet.Column == f.Column || facet.Ref != nil || d.DDL.IndexBytes > 0 && size+n > d.DDL.IndexBytes {
			continue
		}
		size += n
		covered = append(covered, facet.Column)
	}
	if f.Shared && d.IndexedBy != "" {
		covered = append(covered, d.orders(r, f, covered, size)...)
	}
	if len(covered) > 0 {
		return identifier(r.Table(), orderColumn(f), hashOf(strings.Join(covered, ",")), "idx"), covered
	}
	return identifier(r.Table(), orderColumn(f), "idx"), nil
}

// orders returns the columns of the other orders of a resource that an index does not contain, as far
// as there is space: not those that each change sets, which would write the index again.
func (d *Dialect) orders(r *records.Resource, f *records.Field, covered []string, size int) (columns []string) {
	for _, by := range r.Fields() {
		column, n := orderColumn(by), indexBytes(orderField(by))
		switch {
		case by.Column == f.Column || by.Column == "id" || by.Name == "updated_at" || by.Volatile || !r.Indexed(by) || slices.Contains(covered, column):
		case d.DDL.IndexBytes > 0 && size+n > d.DDL.IndexBytes:
		default:
			columns, size = append(columns, column), size+n
		}
	}
	return columns
}

// indexBytes returns the most bytes that a value has in an index.
func indexBytes(f *records.Field) int {
	switch {
	case f.Kind != records.Text:
		return 8
	case f.Max != nil:
		return int(4 * *f.Max)
	}
	return 100 // of a format or of an enumeration, in ASCII
}

// columnsOf returns the columns of a unique key.
func columnsOf(r *records.Resource, u records.Unique) []string {
	columns := make([]string, len(u.Fields))
	for i, field := range u.Fields {
		f := r.KeyField(field)
		columns[i] = f.Column
	}
	return columns
}

// maxIdentifier is the longest name that databases do not cut.
const maxIdentifier = 63

// identifier joins the parts of the name of an index or a constraint. A name that would be too
// long ends in a hash.
func identifier(parts ...string) string { return shortened(strings.Join(parts, "_"), maxIdentifier) }

func shortened(name string, limit int) string {
	own := local(name)
	if len(own) <= limit {
		return name
	}
	return name[:len(name)-len(own)+limit-9] + "_" + hashOf(own)
}

// hashOf returns a short hash in hexadecimal digits.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
