package sqlstore

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of the totals that are remembered: about two megabytes.
const (
	maxTotals   = 1024
	maxTotalKey = 1024 // bytes of the filters of a query; the string of a search is shorter
)

// maxNew is the most entries after the position of a remembered total of the audit log that are
// added to it. With more, the total is counted again.
const maxNew = 1000

// knownTotal is a total that was counted, the generation of the table at that time, and the end of
// the audit log if the total is one of it. All are of one state of the database.
type knownTotal struct {
	generation, total int64
	at                records.AuditPosition
}

// totalKey identifies the queries with one total. A replica is another handle: it may commit
// transactions in another order, so that equal generations are not equal states.
type totalKey struct {
	db    *sql.DB
	table *table
	query string
}

// knownTotals are the totals that were counted last. They are exact for as long as the generation
// of the table stays, which statements compare, but for new entries of the audit log: its
// generation stays for them.
type knownTotals struct {
	mu   sync.Mutex
	last map[totalKey]knownTotal
}

// totalKey returns the key of the total of a query, or false if the total is not remembered: it is
// stored or that of few records, the table has no generation, the transaction may have changes, or it
// depends on the places of other records.
func (e *executor) totalKey(t *table, q *records.Query) (key totalKey, ok bool) {
	if _, ok := t.generation(); !ok || !q.Count || q.Only != nil || e.latest || e.changing || !q.Heavy() {
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

// states are SELECTs of what a total is remembered with.
func (b *builder) states() []string {
	all := []string{b.generationNow()}
	if b.chained {
		all = append(all, "SELECT seq FROM "+b.own.head+" WHERE id = 1", "SELECT hash FROM "+b.own.head+" WHERE id = 1")
	}
	return all
}

// stateColumns is the number of builder.states.
func (t *table) stateColumns() int {
	if t.chained {
		return 3
	}
	return 1
}

// remembered returns a total with the values of builder.states. It reports whether the total can be
// used later: without a hash, the position would be that of other entries in a restored database.
func (t *table) remembered(total int64, states []any) (known knownTotal, ok bool) {
	known.total = total
	known.generation, _ = states[0].(int64)
	if t.chained {
		return known, scanPosition(states[1:], &known.at) == nil && len(known.at.Hash) > 0
	}
	return known, true
}

// knownNow is a SELECT of the known total of a query, if it still holds, or else by counting. To one
// of the audit log it adds the entries that have been committed since.
func (b *builder) knownNow(q *records.Query) string {
	holds := "(" + b.generationNow() + ") = " + b.arg(b.known.generation)
	total := "CAST(" + b.arg(b.known.total) + " AS bigint)"
	if b.chained {
		later := " FROM " + b.own.chain + " WHERE seq > " + b.arg(b.known.at.Seq)
		newest := strconv.Itoa(maxNew)
		holds += " AND EXISTS (SELECT 1 FROM " + b.own.chain + " WHERE seq = " + b.arg(b.known.at.Seq) + " AND hash = " + b.arg(b.known.at.Hash) + ")" +
			" AND (SELECT seq FROM " + b.own.head + " WHERE id = 1) <= " + b.arg(b.known.at.Seq+maxNew)
		// The limit tells PostgreSQL that there are few.
		total += " + (SELECT count(*) FROM (SELECT id AS added" + later + " ORDER BY seq LIMIT " + newest + ") AS later CROSS JOIN " + b.name +
			where(append([]string{"id = added"}, b.conditions(q, 0)...)) + ")"
	}
	return "SELECT CASE WHEN " + holds + " THEN " + total + " ELSE (" + b.count(q) + ") END"
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
