package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of the totals that are remembered: about two megabytes.
const (
	maxTotals   = 1024
	maxTotalKey = 1024 // bytes of the filters of a query; the string of a search is shorter
)

// knownTotal is a total that was counted, and the generation of the table at that time. Both are of
// one state of the database.
type knownTotal struct{ generation, total int64 }

// totalKey identifies the queries with one total. A replica is another handle: it may commit
// transactions in another order, so that equal generations are not equal states.
type totalKey struct {
	db    *sql.DB
	table *table
	query string
}

// knownTotals are the totals that were counted last. They are exact for as long as the generation
// of the table stays, which statements compare.
type knownTotals struct {
	mu   sync.Mutex
	last map[totalKey]knownTotal
}

// totalKey returns the key of the total of a query, or false if the total is not remembered: it is
// stored or that of few records, the table has no generation, or the transaction may have changes.
func (e *executor) totalKey(t *table, q *records.Query) (key totalKey, ok bool) {
	if _, ok := t.generation(); !ok || !q.Count || e.latest || e.changing || !q.Heavy() {
		return key, false
	}
	if _, stored := t.countsOf(q); stored {
		return key, false
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%t %q", q.Estimate, q.Text)
	for _, f := range q.Filters {
		fmt.Fprintf(&text, " %s %d %#v", f.Field.Column, f.Op, f.Value)
		if text.Len() > maxTotalKey {
			return key, false
		}
	}
	return totalKey{e.db, t, text.String()}, true
}

// get returns a total, or nil.
func (k *knownTotals) get(key totalKey) *knownTotal {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known, ok := k.last[key]; ok {
		return &known
	}
	return nil
}

// put remembers a total. Of too many, any one is forgotten.
func (k *knownTotals) put(key totalKey, known knownTotal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = map[totalKey]knownTotal{}
	}
	if _, ok := k.last[key]; !ok && len(k.last) >= maxTotals {
		for other := range k.last {
			delete(k.last, other)
			break
		}
	}
	k.last[key] = known
}
