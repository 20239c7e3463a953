package records

import "slices"

// maxLightOffset is the number of records that a query may skip without being heavy.
const maxLightOffset = 10_000

// Heavy reports whether a store may have to read many records for a small page: for a search,
// a filter or an order that no index has, an order of several fields, an offset above 10,000,
// a total that has to be counted, or a limit to places. Transports run few of these at once, so that others don't
// wait for them.
func (q *Query) Heavy() bool {
	if q.Only != nil && !slices.ContainsFunc(q.Filters, q.few) {
		return true // the places of many records may be looked up
	}
	if q.Text != "" || q.Offset > maxLightOffset {
		return true
	}
	for i := range q.Filters {
		if !q.indexes(&q.Filters[i]) {
			return true
		}
	}
	for i, key := range q.Sort {
		if key.Field.Column == "id" {
			break // the fields after it have no effect
		}
		if i > 0 || !q.Resource.ordered(key.Field) {
			return true
		}
	}
	return q.Count && !q.countable()
}

// ordered reports whether stores have an index that begins with the field.
func (r *Resource) ordered(f *Field) bool {
	return r.Indexed(f) || f.Column == "id" ||
		slices.ContainsFunc(r.uniques, func(u Unique) bool { return u.Fields[0] == f.Name })
}

// indexes reports whether an index finds the records that match a filter.
func (q *Query) indexes(c *Filter) bool {
	switch c.Op {
	case Eq, Host, In, Gt, Gte, Lt, Lte:
		return q.Resource.ordered(c.Field)
	case Within:
		return q.Resource.Indexed(c.Field)
	case AnyWithin:
		return !slices.ContainsFunc(q.Resource.Addresses(), func(f *Field) bool { return !q.Resource.Indexed(f) })
	}
	return false
}

// countable reports whether the total is stored, or that of few records: those with one value
// of a unique key, or the parts of one record.
func (q *Query) countable() bool {
	if len(q.Filters) == 0 {
		return true
	}
	c := &q.Filters[0]
	if len(q.Filters) == 2 { // the pairs of values of two facets are counted
		other := &q.Filters[1]
		if c.Op == Eq && other.Op == Eq && c.Field.facet && other.Field.facet && c.Field != other.Field {
			return true
		}
	}
	return q.few(*c) || len(q.Filters) == 1 && c.Field.Counted && (c.Op == Eq || c.Op == In)
}

// few reports whether few records match a filter: those with one value of a unique key, or the
// parts of one record.
func (q *Query) few(c Filter) bool {
	return c.Op == Eq && (c.Field.Ref != nil && c.Field.Ref.Cascade || c.Field.Column == "id" ||
		slices.ContainsFunc(q.Resource.uniques, func(u Unique) bool {
			return len(u.Fields) == 1 && slices.Contains([]string{c.Field.Name, c.Field.Name + "_key"}, u.Fields[0])
		}))
}
