//go:build unix

package server_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// timed is a list and the duration of its first page in milliseconds.
type timed struct {
	*list
	ms float64
}

// pairs measures lists with two equality filters and an order that an index has: all pairs of
// fields and all such orders. The table gets the slowest ones.
func (x *measured) pairs(table string) {
	x.t.Helper()
	r, ok := inventory.Schema().Named(table)
	require.True(x.t, ok)
	every := 211
	if *fullTable {
		every = max(*tableEvery, 1)
	}
	var all []timed
	over, overEstimated, longest := 0, 0, 0.0
	for i, l := range x.combinations(r) {
		if i%every != 0 {
			continue
		}
		w := x.get(l.path())
		if !*fullTable {
			x.checkTotal(l, x.parse(w))
		}
		ms := min(once(func() { x.get(l.path()) }), once(func() { x.get(l.path()) }))
		all = append(all, timed{l, ms})
		if ms > 5 {
			over++
			estimated := func() { x.get(l.path() + "&count=estimated") }
			ms := min(once(estimated), once(estimated), once(estimated))
			if longest = max(longest, ms); ms > 5 {
				overEstimated++
			}
		}
	}
	slices.SortFunc(all, func(a, b timed) int { return cmp.Compare(b.ms, a.ms) })
	x.note(fmt.Sprintf("%s: %d combinations of two filters and an order", table, len(all)),
		fmt.Sprintf("%d take more than 5 ms; median %.2f ms, p95 %.2f ms. With count=estimated %d of those do, the longest %.2f ms",
			over, all[len(all)/2].ms, all[len(all)/20].ms, overEstimated, longest))
	for _, worst := range all[:min(5, len(all))] {
		x.measureList(5, worst.list)
	}
}

// once returns the duration of f in milliseconds.
func once(f func()) float64 {
	begin := time.Now()
	f()
	return float64(time.Since(begin).Microseconds()) / 1000
}

// combinations returns the lists of a resource with values that exist: for each pair of fields
// the most frequent two values, the rarest, and two frequent ones that no record has together.
func (x *measured) combinations(r *records.Resource) (all []*list) {
	x.t.Helper()
	var fields, orders []string
	for _, f := range r.Fields() {
		if filterable(f) {
			fields = append(fields, f.Name)
		}
		if ordered(r, f) {
			orders = append(orders, f.Name)
		}
	}
	for i, b := range fields {
		for _, a := range fields[:i] {
			for _, values := range x.values(r.Table(), a, b) {
				for _, order := range orders {
					direction := []string{":asc", ":desc"}[len(all)%2]
					all = append(all, &list{r.Table(), [][2]string{{a, values[0]}, {b, values[1]}}, order + direction})
				}
			}
		}
	}
	return all
}

// filterable reports whether equality of the field is measured: not that of times, of which
// nearly each is unique, of ids and of long texts. Lists have no filter of the version.
func filterable(f *records.Field) bool {
	return f.Scalar() && f.Name != "id" && f.Name != "version" && f.Kind != records.Time && f.Format != "text"
}

// ordered reports whether stores have an index that begins with the field.
func ordered(r *records.Resource, f *records.Field) bool {
	return f.Sortable() && (f.Index || f.Name == "id" ||
		slices.ContainsFunc(r.Uniques(), func(u records.Unique) bool { return u.Fields[0] == f.Name }))
}

// maxGroups bounds the pairs of values that values reads.
const maxGroups = 2000

// values returns pairs of values of two columns.
func (x *measured) values(table, a, b string) (pairs [][2]string) {
	x.t.Helper()
	text := fmt.Sprintf("SELECT CAST(%[1]s AS text), CAST(%[2]s AS text), count(*) FROM %[3]s WHERE CAST(%[1]s AS text) <> '' AND CAST(%[2]s AS text) <> '' GROUP BY 1, 2", a, b, table)
	groups := x.query(text + fmt.Sprintf(" ORDER BY 3 DESC, 1, 2 LIMIT %d", maxGroups))
	if len(groups) == 0 {
		return nil
	}
	pair := func(row []any) [2]string { return [2]string{row[0].(string), row[1].(string)} }
	pairs = append(pairs, pair(groups[0]))
	if rarest := pair(groups[len(groups)-1]); len(groups) > 1 {
		pairs = append(pairs, rarest)
	}
	together := map[[2]string]bool{}
	number := [2]map[string]int64{{}, {}}
	for _, g := range groups {
		together[pair(g)] = true
		for i := range number {
			number[i][pair(g)[i]] += g[2].(int64)
		}
	}
	var apart [2]string
	most := int64(0)
	for v, n := range number[0] {
		for w, m := range number[1] {
			if !together[[2]string{v, w}] && (n*m > most || n*m == most && v+w < apart[0]+apart[1]) {
				apart, most = [2]string{v, w}, n*m
			}
		}
	}
	if most > 0 && len(groups) < maxGroups {
		pairs = append(pairs, apart)
	}
	return pairs
}
