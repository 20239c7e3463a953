package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

// countKey identifies a count. Without a field it is the number of all records.
type countKey struct {
	resource, field, value string
}

// countRange is the counts whose sum is the total of a query.
type countRange struct {
	countKey          // without a value
	values   []string // the values that count, or
	not      bool     // that do not count
}

// countsOfAll returns the range for all records.
func (t *table) countsOfAll() *countRange {
	return &countRange{countKey{resource: t.name}, []string{""}, false}
}

// countsOf returns the counts for the total of a query, or false if its records have to be
// counted.
func (t *table) countsOf(q *records.Query) (r countRange, ok bool) {
	switch {
	case q.Text != "" || q.Only != nil:
		return r, false
	case len(q.Filters) == 2:
		return t.countsOfPair(&q.Filters[0], &q.Filters[1])
	case len(q.Filters) > 2:
		return r, false
	case len(q.Filters) == 0:
		return *t.countsOfAll(), true
	}
	return t.countsFor(&q.Filters[0])
}

// countsFor returns the counts for the records that match a filter, or false.
func (t *table) countsFor(f *records.Filter) (r countRange, ok bool) {
	if !f.Field.Counted {
		return r, false
	}
	values := []any{f.Value}
	r = countRange{countKey: countKey{resource: t.name, field: f.Field.Column}}
	switch f.Op {
	case records.Eq:
	case records.Ne:
		r.not = true
	case records.In:
		values = f.Value.([]any)
	case records.IsNull:
		values, r.not = []any{nil}, !f.Value.(bool)
	case records.Contains, records.StartsWith, records.Gt, records.Gte, records.Lt, records.Lte, records.Host, records.Within, records.AnyWithin:
		return r, false
	default:
		panic(unknownOp(f))
	}
	for _, v := range values {
		if emptyString(f.Field, v) {
			return r, false
		}
		r.values = append(r.values, (&column{Field: f.Field}).countKey(v))
	}
	return r, true
}

// facetPair is two facets whose pairs of values are counted.
type facetPair struct {
	a, b *records.Field // in the order of the columns
	i, j int            // their positions in table.counted

	field string // in the table of counts
}

// pairsOf returns all pairs of facets of a resource.
func pairsOf(r *records.Resource) (pairs []facetPair) {
	facets := r.Facets()
	for i, a := range facets {
		for _, b := range facets[i+1:] {
			pairs = append(pairs, facetPair{a: a, b: b, field: a.Column + "," + b.Column})
		}
	}
	return pairs
}

// pairKey returns the value of a pair in the table of counts: the characters of the first value,
// a colon, and both values.
func pairKey(a, b string) string {
	return strconv.Itoa(utf8.RuneCountInString(a)) + ":" + a + b
}

// pairText is the expression for pairKey of two texts.
func pairText(a, b string) string { return "length(" + a + ") || ':' || " + a + " || " + b }

// maxPairs bounds the pairs of values whose counts make a total.
const maxPairs = 256

// countsOfPair returns the counts for the records that match two filters, or false.
func (t *table) countsOfPair(f, g *records.Filter) (r countRange, ok bool) {
	p := t.pairOf(f.Field, g.Field)
	if p == nil {
		return r, false
	}
	if f.Field.Column == p.b.Column {
		f, g = g, f
	}
	of, ok := t.countsFor(f)
	og, ok2 := t.countsFor(g)
	if !ok || !ok2 || of.not || og.not || len(of.values)*len(og.values) > maxPairs {
		return r, false
	}
	r = countRange{countKey: countKey{resource: t.name, field: p.field}}
	for _, a := range of.values {
		for _, b := range og.values {
			if key := pairKey(a, b); !slices.Contains(r.values, key) {
				r.values = append(r.values, key)
			}
		}
	}
	return r, true
}

// has reports whether a count is in the range.
func (r *countRange) has(key countKey) bool {
	return key.resource == r.resource && key.field == r.field && slices.Contains(r.values, key.value) != r.not
}

// total is a SELECT of the total of a query: from the counts, from the one that was counted last,
// or by counting records.
func (b *builder) total(q *records.Query) string {
	if r, ok := b.countsOf(q); ok {
		return b.sum(&r)
	}
	if b.known == nil {
		return b.count(q)
	}
	return b.knownNow(q)
}

// generationNow is a SELECT of the generation of the table.
func (b *builder) generationNow() string {
	key, _ := b.generation()
	return b.sum(&countRange{key, []string{""}, false})
}

// count is a SELECT that counts the records of a query.
func (b *builder) count(q *records.Query) string {
	if text, ok := b.countMatching(q); ok {
		return text
	}
	if b.placing.count == plan.FromPlaces {
		return "SELECT count(*) FROM (" + b.fromPlaces(q, "1 AS found") + b.enough(q) + ") AS counted"
	}
	from := b.name + b.dialect.indexedBy(b.plan.Counting) + where(b.conditions(q, 0))
	if q.Estimate {
		from = "(SELECT 1 FROM " + from + b.enough(q) + ") AS counted"
	}
	return "SELECT count(*) FROM " + from
}

// enough ends a SELECT of the records to count if the total may be estimated.
func (b *builder) enough(q *records.Query) string {
	if !q.Estimate {
		return ""
	}
	return " LIMIT " + strconv.FormatInt(b.mostCounted(q)+1, 10)
}

// sum is a SELECT of the sum of a range.
func (b *builder) sum(r *countRange) string {
	if len(r.values) == 0 {
		return "SELECT 0"
	}
	parameters := make([]string, len(r.values))
	for i, v := range r.values {
		parameters[i] = b.arg(v)
	}
	in := " IN ("
	if r.not {
		in = " NOT IN ("
	}
	return "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM " + b.own.counts + " WHERE resource = '" + r.resource +
		"' AND field = '" + r.field + "' AND value" + in + strings.Join(parameters, ", ") + ")"
}

// counts are the changes of a transaction to each count.
type counts map[countKey]int64

// generationField is the field of the count that grows with each change of a record of a resource:
// while it stays, so does every total. That of the audit log does not grow with new entries. It is no
// name of a column.
const generationField = "*"

// maxGrowth bounds the steps of a generation, which are random: a database that is restored from a
// backup does not get to an earlier generation with other records.
const maxGrowth = 1 << 24

// generation returns the count that grows with each change of a table. Measurements, which change
// all the time, have none.
func (t *table) generation() (key countKey, ok bool) {
	return countKey{resource: t.name, field: generationField}, t.chained || !t.Unaudited && !t.Internal
}

// changes notes that records of a table change.
func (c counts) changes(t *table) {
	if key, ok := t.generation(); ok {
		c[key] += 1 + rand.Int64N(maxGrowth)
	}
}

// add counts a row: n is 1 for one that is added, and -1 for one that is deleted. at returns
// its value for the ith counted column.
func (c counts) add(t *table, n int64, at func(i int) any) {
	if n < 0 || !t.chained {
		c.changes(t)
	}
	c[countKey{resource: t.name}] += n
	values := make([]string, len(t.counted))
	for i, j := range t.counted {
		column := t.columns[j]
		values[i] = column.countKey(at(i))
		c[countKey{t.name, column.Column, values[i]}] += n
	}
	for _, p := range t.pairs {
		c[countKey{t.name, p.field, pairKey(values[p.i], values[p.j])}] += n
	}
}

// addRow counts a row of all columns.
func (c counts) addRow(t *table, row []any, n int64) {
	c.add(t, n, func(i int) any { return row[t.counted[i]] })
}

// deleted returns a function that notes deleted rows of the columns of table.returning.
func (t *transaction) deleted(of *table) func(row []any) error {
	return func(row []any) error {
		t.counts.add(of, -1, func(i int) any { return row[i+1] })
		t.noteReturned(of, row)
		return nil
	}
}

// noteReturned notes a deleted or changed row of the columns of table.returning, if the table has latest records.
func (t *transaction) noteReturned(of *table, row []any) {
	if of.latest != nil {
		id, _ := row[0].(string)
		t.noteGone(of, row[len(row)-1], id)
	}
}

// returned is the number of columns of table.returning.
func (t *table) returned() int {
	n := 1 + len(t.counted)
	if t.latest != nil {
		n++
	}
	return n
}

// maxUpsert bounds the counts that one statement changes.
const maxUpsert = 64

// flush writes the changes of a transaction to the counts, at its end and in one order for
// all, so that transactions wait for each other as shortly as possible and can't deadlock.
func (t *transaction) flush(ctx context.Context) error {
	keys := slices.SortedFunc(maps.Keys(t.counts), func(a, b countKey) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.field, b.field), cmp.Compare(a.value, b.value))
	})
	keys = slices.DeleteFunc(keys, func(k countKey) bool { return t.counts[k] == 0 })
	slot := int64(rand.IntN(t.dialect.Slots))
	for chunk := range slices.Chunk(keys, maxUpsert) {
		b := &builder{shared: t.shared}
		rows := make([]string, len(chunk))
		for i, k := range chunk {
			rows[i] = fmt.Sprintf("(%s, %s, %s, %s, %s)", b.arg(k.resource), b.arg(k.field), b.arg(k.value), b.arg(slot), b.arg(t.counts[k]))
		}
		text := "INSERT INTO " + t.own.counts + " (resource, field, value, slot, n) VALUES " + strings.Join(rows, ", ") +
			" ON CONFLICT (resource, field, value, slot) DO UPDATE SET n = " + t.own.counts + ".n + excluded.n"
		if _, err := t.exec(ctx, text, b.args...); err != nil {
			return t.end(ctx, "write the counts", err)
		}
	}
	return nil
}

// createCounts returns the statement that creates the table of counts.
func (d *Dialect) createCounts(own ownTables) string {
	text := d.DDL.Types[records.Text] + " NOT NULL"
	number := d.DDL.Types[records.Int] + " NOT NULL"
	return "CREATE TABLE " + own.counts + " (\n    resource " + text + ",\n    field " + text + ",\n    value " + text +
		",\n    slot " + number + ",\n    n " + number +
		",\n    CONSTRAINT " + local(own.counts) + "_pkey PRIMARY KEY (resource, field, value, slot)\n)" + d.DDL.Options
}

// countedText is the expression for the value of a field as column.countKey returns it.
func countedText(f *records.Field) string {
	if f.Kind == records.Bool {
		return "CASE WHEN " + f.Column + " THEN 'true' WHEN NOT " + f.Column + " THEN 'false' ELSE '' END"
	}
	return "coalesce(CAST(" + f.Column + " AS text), '')"
}

// maxCounted bounds the counts that one statement makes.
const maxCounted = 100

// countExisting returns the statements that count the records of a table, by the values of each
// column, of each pair of columns, and all for an empty one. The values are those of column.countKey
// and pairKey. A statement reads the table once: it counts the combinations of all values first.
func countExisting(own ownTables, r *records.Resource, columns ...string) (all []string) {
	texts := map[string]string{}
	for _, f := range r.Fields() {
		texts[f.Column] = countedText(f)
	}
	for chunk := range slices.Chunk(columns, maxCounted) {
		var read, counted []string
		for _, column := range chunk {
			a, b, pair := strings.Cut(column, ",")
			value := "''"
			switch {
			case pair:
				value = pairText(texts[a], texts[b])
				read = append(read, a, b)
			case column != "":
				value = texts[a]
				read = append(read, a)
			}
			counted = append(counted, "SELECT "+literal(r.Table())+", "+literal(column)+", "+value+", 0, CAST(sum(n) AS bigint) FROM combined GROUP BY 3")
		}
		slices.Sort(read)
		list := strings.Join(slices.Compact(read), ", ")
		combined := "SELECT 1, count(*) AS n FROM " + r.Table() + " HAVING count(*) > 0"
		if list != "" {
			combined = "SELECT " + list + ", count(*) AS n FROM " + r.Table() + " GROUP BY " + list
		}
		all = append(all, "INSERT INTO "+own.counts+" (resource, field, value, slot, n) WITH combined AS MATERIALIZED ("+combined+") "+strings.Join(counted, " UNION ALL "))
	}
	return all
}

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
