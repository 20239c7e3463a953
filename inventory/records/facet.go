package records

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
