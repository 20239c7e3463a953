package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Declarer is a hook of a record that declares a part of the schema, such as a field that an
// administrator adds while programs run. A [Store] applies the part in the transaction that
// creates, changes or deletes the record, and all such records when it is opened. When the record
// is deleted, the store removes the field with its values.
type Declarer interface {
	// Declare returns the part, made by [Extend].
	Declare() Part
}

// TxValidator is a hook that checks a new or changed record against others, in the transaction of
// the change. before is nil for a new record. It lacks the keys and places that other changes of the transaction have got
// ([Occupant]). It may be called again for the same change. An [*Error] refuses the change.
type TxValidator interface {
	ValidateIn(ctx context.Context, tx Tx, before Record) error
}

// Declaring returns the resources whose records declare parts of the schema.
func (s *Schema) Declaring() []*Resource { return slices.Clone(s.declaring) }

// Declared returns the schema with the parts that some records declare, and without those that
// others have declared before. The error names the part that is wrong.
func (s *Schema) Declared(recs []Record) (*Schema, error) {
	base := s.undeclared()
	recs = slices.Clone(recs)
	slices.SortFunc(recs, func(a, b Record) int { return compareValues(a.Meta().ID, b.Meta().ID) })
	versions := map[string]int64{}
	parts := base.parts
	for _, rec := range recs {
		d, ok := rec.(Declarer)
		if !ok {
			return nil, fmt.Errorf("%T declares no part of a schema", rec)
		}
		versions[rec.Meta().ID] = rec.Meta().Version
		parts = append(slices.Clip(parts), d.Declare())
	}
	next, err := NewSchema(parts...)
	if err != nil {
		return nil, err
	}
	next.base, next.versions = base, versions
	return next, nil
}

// Versions returns the versions of the records that the schema follows, by id.
func (s *Schema) Versions() map[string]int64 { return maps.Clone(s.versions) }

// undeclared returns the schema without declared parts.
func (s *Schema) undeclared() *Schema {
	if s.base != nil {
		return s.base
	}
	return s
}

// Removed returns the fields that another schema lacks and that records have declared.
func (s *Schema) Removed(next *Schema) (removed []Referrer) {
	base := s.undeclared()
	for _, r := range s.StoredResources() {
		for _, f := range r.fields {
			if !f.Extra || base.has(r.Name, f.Name) || next.has(r.Name, f.Name) {
				continue
			}
			removed = append(removed, Referrer{r, f})
		}
	}
	return removed
}

func (s *Schema) has(resource, field string) bool {
	r := s.byName[resource]
	return r != nil && r.byName[field] != nil
}
