package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// tallies are what has been added to each.
type tallies map[tallyKey]int64

// add counts a row: n is 1 for one more, -1 for one less.
func (t tallies) add(of *table, row []any, n int64) {
	t[tallyKey{resource: of.name}] += n
	for _, i := range of.tallies {
		t[tallyKey{of.name, of.columns[i].Column, of.columns[i].tallied(row[i])}] += n
	}
}

// addCounted counts a row of the columns of table.counted.
func (t tallies) addCounted(of *table, counted []any, n int64) {
	t[tallyKey{resource: of.name}] += n
	for j, i := range of.tallies {
		t[tallyKey{of.name, of.columns[i].Column, of.columns[i].tallied(counted[j+1])}] += n
	}
}

// merge adds what others have counted.
func (t tallies) merge(other tallies) {
	for key, n := range other {
		t[key] += n
	}
}

// maxUpsert is how many tallies one statement changes.
const maxUpsert = 64

// flush writes what a transaction has counted, at its end and in one order for all, so that
// transactions that change the same tallies wait for each other as shortly as can be, and
// never in a circle.
func (t *transaction) flush(ctx context.Context) error {
	keys := slices.SortedFunc(maps.Keys(t.count), func(a, b tallyKey) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.field, b.field), cmp.Compare(a.value, b.value))
	})
	keys = slices.DeleteFunc(keys, func(k tallyKey) bool { return t.count[k] == 0 })
	slot := rand.IntN(max(t.dialect.Slots, 1))
	for chunk := range slices.Chunk(keys, maxUpsert) {
		b := &builder{shared: t.shared}
		rows := make([]string, len(chunk))
		for i, k := range chunk {
			rows[i] = fmt.Sprintf("(%s, %s, %s, %s, %s)", b.arg(k.resource), b.arg(k.field), b.arg(k.value), b.arg(int64(slot)), b.arg(t.count[k]))
		}
		text := "INSERT INTO " + talliesTable + " (resource, field, value, slot, n) VALUES " + strings.Join(rows, ", ") +
			" ON CONFLICT (resource, field, value, slot) DO UPDATE SET n = " + talliesTable + ".n + excluded.n"
		if _, err := t.exec(ctx, text, b.args...); err != nil {
			return t.end(ctx, "change the totals", err)
		}
	}
	return nil
}
