package plan

import (
	"fmt"
	"math"
	"slices"
)

// The relative costs of reading a page, measured on SQLite.
const (
	entryCost = 1   // of an entry of an index that is compared with the filters
	rowCost   = 150 // of finding a row by its id
	nextCost  = 15  // of the next row in the order of the ids
	// orderFactor allows for records that match being rarer at the beginning of an order.
	orderFactor = 1.5
)

// MaxFew is the number of records up to which those that match a filter without a count, or the string of
// a search, are counted before a plan is chosen.
const MaxFew = 2000

// Query describes a page of records with filters. At least one filter has an index.
type Query struct {
	Records int64 // number of all records
	Matches int64 // records that match all filters, at most
	Wanted  int64 // records that the page has, with those that it skips
	Filters []Filter
	Order   Order
}

// Filter is a filter of a query.
type Filter struct {
	Column  string // that an index must have to compare the filter without reading rows; empty if none has
	Index   Index  // that finds the records that match; the zero Index if there is none
	Records int64  // records that match
	Guess   bool   // whether no count tells Records
	Range   bool   // whether the records that match have different values in Index
	Scan    bool   // whether all entries of Index are read, which is a Range
}

// Order is the order of a page.
type Order struct {
	Column string // the first column
	Index  Index  // that has all records in the order; the zero Index if there is none
	ByID   bool   // whether the order is that of the ids, in which an Index has the records of each value
	Probe  bool   // whether the first records of Index can be compared with the filters
}

// Index is an index of a column and the id.
type Index struct {
	Name    string
	Columns []string // the column, the id, and others that the index has too
}

// Shape is the shape of the statement that reads a page.
type Shape uint8

// The shapes.
const (
	// InOrder reads records in the order of the page until it is full.
	InOrder Shape = iota
	// FindFirst finds the ids of all records that match in an index, and reads and sorts their rows.
	FindFirst
	// SortEntries sorts the entries of all records that match, in an index that has the column of the
	// order.
	SortEntries
)

// String returns the shape as in a plan.
func (s Shape) String() string {
	return [...]string{InOrder: "in order", FindFirst: "find first", SortEntries: "sort entries"}[s]
}

// Plan selects how to read a page and its total. The zero Plan leaves all to the database.
type Plan struct {
	None     bool // no record matches: nothing is read
	Shape    Shape
	Index    string // the index to read; empty leaves the choice to the database
	Counting string // the index in which the records that match are counted; empty leaves the choice to the database
	Search   string // the string to look up in the index for searches; empty looks up none
	// NotBy is the position of a filter whose index is not used, from 1. 0 is none.
	NotBy int
}

// String returns the plan for people: "find first: devices_vendor_idx".
func (p Plan) String() string {
	switch {
	case p == Plan{}:
		return "as the database chooses"
	case p.None:
		return "no record matches"
	case p.Search != "":
		return fmt.Sprintf("index for searches: %q", p.Search)
	case p.NotBy > 0:
		return fmt.Sprintf("%s, not by the index of filter %d", p.Shape, p.NotBy)
	}
	text := p.Shape.String()
	if p.Index != "" {
		text += ": " + p.Index
	}
	if p.Counting != "" && p.Counting != p.Index {
		text += ", count: " + p.Counting
	}
	return text
}

// Choose returns the plan with the least cost. If the number of records that match is a guess, it calls
// probe, which reports whether the first records of Order.Index contain a page of records that match.
func Choose(q *Query, probe func() (bool, error)) (Plan, error) {
	indexed := func(f Filter) bool { return f.Index.Name != "" }
	rarest := -1
	for i, f := range q.Filters {
		if indexed(f) && (rarest < 0 || f.Records < q.Filters[rarest].Records) {
			rarest = i
		}
	}
	first := q.Filters[rarest]
	matches := float64(max(min(q.Matches, first.Records), 1))
	cheapest, counting := q.cheapest(matches), q.counting()
	switch {
	case q.Order.ByID && !first.Range:
		return Plan{Index: counting, Counting: counting}, nil
	case first.Range && first.Index.Name == q.Order.Index.Name:
		return Plan{Index: first.Index.Name, Counting: counting}, nil
	}
	inOrder := float64(q.Wanted) * float64(q.Records) / matches * orderFactor
	switch {
	case q.Order.ByID:
		inOrder *= nextCost
	case q.Order.Index.Name == "":
		inOrder = math.Inf(1)
	case q.Order.Probe && slices.ContainsFunc(q.Filters, func(f Filter) bool { return f.Guess }):
		enough, err := probe()
		if enough || err != nil {
			return Plan{Index: q.Order.Index.Name, Counting: counting}, err
		}
		inOrder = math.Inf(1)
	default:
		inOrder *= q.entry(q.Order.Index)
	}
	switch {
	case cheapest.cost <= inOrder:
		return Plan{Shape: cheapest.shape, Index: cheapest.index, Counting: counting}, nil
	case q.Order.ByID:
		return Plan{NotBy: rarest + 1, Counting: counting}, nil
	}
	return Plan{Index: q.Order.Index.Name, Counting: counting}, nil
}

// candidate is a way to find all records that match.
type candidate struct {
	shape Shape
	index string
	cost  float64
}

// cheapest returns the index in which all records that match are found with the least cost.
func (q *Query) cheapest(matches float64) candidate {
	least := candidate{cost: math.Inf(1)}
	for _, f := range q.Filters {
		c := candidate{SortEntries, f.Index.Name, q.find(f)}
		if !slices.Contains(f.Index.Columns, q.Order.Column) {
			c.shape = FindFirst
			c.cost += rowCost * matches
		}
		if c.index != "" && c.cost < least.cost {
			least = c
		}
	}
	return least
}

// counting returns the index in which the records that match are counted with the least cost.
func (q *Query) counting() (name string) {
	least := math.Inf(1)
	for _, f := range q.Filters {
		if cost := q.find(f); f.Index.Name != "" && cost < least {
			least, name = cost, f.Index.Name
		}
	}
	return name
}

// find returns the cost of comparing the entries among which the index of a filter finds those that match.
func (q *Query) find(f Filter) float64 {
	if f.Scan {
		return q.entry(f.Index) * float64(q.Records)
	}
	return q.entry(f.Index) * float64(f.Records)
}

// entry returns the cost of an entry of an index that is compared with all filters.
func (q *Query) entry(index Index) float64 {
	if slices.ContainsFunc(q.Filters, func(f Filter) bool { return !slices.Contains(index.Columns, f.Column) }) {
		return rowCost
	}
	return entryCost
}
