package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

// minSearch is the number of characters that an index of trigrams finds. It may find pairs too.
const minSearch = 3

// searched returns the searched fields of a resource.
func searched(r *records.Resource) []*records.Field {
	return slices.DeleteFunc(r.Fields(), func(f *records.Field) bool { return !f.Search || f.Column == "" })
}

// searchName returns the name of the index for searches of a resource, empty if it has none. The
// hash of the columns is part of it. Logs and measurements, which are not audited, have none:
// they are written more often than searched.
func (d *Dialect) searchName(r *records.Resource) string {
	var columns []string
	for _, f := range searched(r) {
		columns = append(columns, f.Column)
	}
	if d.DDL.Search == nil || len(columns) == 0 || r.Unaudited || r.Internal {
		return ""
	}
	return identifier(r.Table(), "search", hashOf(strings.Join(columns, ",")+d.DDL.Search.Version))
}

// searchText returns a text with the placeholders of a dialect.Search replaced.
func (d *Dialect) searchText(r *records.Resource, name, text string) string {
	var values []string
	for _, f := range searched(r) {
		values = append(values, d.foldedText(f))
	}
	between := " || " + d.DDL.Search.Separator + " || "
	return strings.NewReplacer("{name}", name, "{local}", local(name), "{table}", r.Table(), "{text}", strings.Join(values, between)).Replace(text)
}

// foldedText is the folded string in which searches look for a part of the value of a field.
func (d *Dialect) foldedText(f *records.Field) string {
	if f.Kind == records.List {
		return folded(fmt.Sprintf(d.Elements, f.Column))
	}
	return folded(f.Column)
}

// searchStatements returns the statements that create the index for searches, and drop those of
// other columns.
func (d *Dialect) searchStatements(r *records.Resource, have *Catalog) (all []string) {
	name := d.searchName(r)
	if name != "" && have.indexes[name] == "" && have.columns[name] == nil && !have.noSearch {
		for _, text := range d.DDL.Search.Create {
			all = append(all, strings.ReplaceAll(d.searchText(r, name, text), "{schema}", have.searchSchema))
		}
	}
	if d.DDL.Search == nil {
		return all
	}
	of := regexp.MustCompile("^" + regexp.QuoteMeta(r.Table()) + "_search_[0-9a-f]{8}$")
	for _, other := range slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(have.indexes)), slices.Collect(maps.Keys(have.columns))))) {
		if of.MatchString(other) && other != name {
			for _, text := range d.DDL.Search.Drop {
				all = append(all, d.searchText(r, other, text))
			}
		}
	}
	return all
}

// maxPattern is the most characters of a string that are looked up in an index for searches. The
// records that it finds are compared with the whole string.
const maxPattern = 64

// findable reports whether the index for searches finds a string. One with control characters could
// match the separator.
func (b *builder) findable(s string) bool {
	name := b.dialect.searchName(b.Resource)
	if name == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || b.changing && len(b.dialect.DDL.Search.Update) > 0 {
		return false
	}
	return utf8.RuneCountInString(s) >= minSearch || isPair(s) && b.dialect.DDL.Search.Pair != ""
}

// isPair reports whether a string has two characters.
func isPair(s string) bool { return utf8.RuneCountInString(s) == minSearch-1 }

// pattern returns an expression with the pattern for the index for searches, for a string that it
// finds.
func (b *builder) pattern(s string) string {
	if isPair(s) {
		name := b.dialect.searchName(b.Resource)
		return fmt.Sprintf(b.dialect.searchText(b.Resource, name, b.dialect.DDL.Search.Pair), b.arg(records.FoldASCII(s)))
	}
	if runes := []rune(s); len(runes) > maxPattern {
		s = string(runes[:maxPattern])
	}
	return b.arg(b.dialect.DDL.Search.Pattern(records.FoldASCII(s)))
}

// matching returns the condition that the index for searches finds a record by a string, or false
// if the index is not used for the string.
func (b *builder) matching(s string) (condition string, ok bool) {
	if !b.findable(s) || b.dialect.DDL.Search.Count != "" && (b.plan.Search != s) {
		return "", false
	}
	name := b.dialect.searchName(b.Resource)
	return fmt.Sprintf(b.dialect.searchText(b.Resource, name, b.dialect.DDL.Search.Match), b.pattern(s)), true
}

// textOf returns the string that the records of a filter contain in one of the searched fields,
// for filters that no other index serves.
func (t *table) textOf(f *records.Filter) (s string, ok bool) {
	s, ok = f.Value.(string)
	switch {
	case !ok || !f.Field.Search || f.Field.Kind != records.Text && f.Field.Kind != records.List:
		return "", false
	case f.Field.Kind == records.List: // has it as an element
		return s, f.Op == records.Eq
	case f.Op == records.Contains || f.Op == records.StartsWith:
		return s, true
	}
	return s, f.Op == records.Eq && t.indexes[f.Field.Column].Name == "" && !t.firstOfKey(f.Field)
}

// updateSearch brings the indexes for searches up to date, at the end of a transaction.
func (t *transaction) updateSearch(ctx context.Context) error {
	if t.dialect.DDL.Search == nil || len(t.dialect.DDL.Search.Update) == 0 {
		return nil
	}
	for of, changed := range t.changedTexts {
		name := t.dialect.searchName(of.Resource)
		for ids := range slices.Chunk(slices.Sorted(maps.Keys(changed)), records.MaxItems) {
			list, err := json.Marshal(ids)
			if err != nil {
				return t.end(ctx, "update the index for searches", err)
			}
			for _, text := range t.dialect.DDL.Search.Update {
				if _, err := t.exec(ctx, t.dialect.searchText(of.Resource, name, text), string(list)); err != nil {
					return t.end(ctx, "update the index for searches", err)
				}
			}
		}
	}
	return nil
}

// changesText notes that the index for searches lacks the change of a record. It is no error if
// the change is undone later: the index gets what the table has.
func (t *transaction) changesText(of *table, id any) {
	text, ok := id.(string)
	if !ok || t.dialect.DDL.Search == nil || len(t.dialect.DDL.Search.Update) == 0 || t.dialect.searchName(of.Resource) == "" {
		return
	}
	if t.changedTexts[of] == nil {
		t.changedTexts[of] = map[string]bool{}
	}
	t.changedTexts[of][text] = true
}

// chooseSearch returns how to read a page of records that contain strings. For a database that
// can't choose itself: by the index for searches if it finds few records for one of the strings,
// and else in the order of the page.
func (e *executor) chooseSearch(ctx context.Context, t *table, q *records.Query) (p plan.Plan, err error) {
	if e.latest || e.dialect.DDL.Search == nil { // the latest records have no such indexes
		return p, nil
	}
	if e.dialect.DDL.Search.Count == "" {
		return e.findFirst(ctx, t, q)
	}
	texts := []string{q.Text}
	for i := range q.Filters {
		if s, ok := t.textOf(&q.Filters[i]); ok {
			texts = append(texts, s)
		}
	}
	least := int64(plan.MaxFew + 1)
	for _, s := range texts {
		b := &builder{shared: e.shared, table: t, changing: e.changing}
		if !b.findable(s) || isPair(s) && e.knownMany(t, q) {
			continue
		}
		n := int64(0)
		text := fmt.Sprintf(b.dialect.searchText(t.Resource, b.dialect.searchName(t.Resource), b.dialect.DDL.Search.Count), b.pattern(s), b.arg(least))
		if err := e.each(ctx, 1, func(row []any) error { n, _ = row[0].(int64); return nil }, text, b.args...); err != nil {
			return p, err
		}
		if n < least {
			least, p = n, plan.Plan{Search: s, None: n == 0}
		}
	}
	if keys := sortKeys(q); p.Search == "" && !e.changing && q.Text != "" && len(q.Filters) == 0 && q.Only == nil && len(keys) == 2 && t.inOrder(keys[0].Field).Name != "" {
		p.Index = t.inOrder(keys[0].Field).Name // many, or unknown
	}
	return p, nil
}

// findFirst returns the plan for the first page of records that contain a string, for a database that chooses
// itself: unless the first records in the order have enough of them, they are found before they are sorted.
// The database takes them for evenly spread, and would read most records of the order if the last ones match,
// as for the devices of a new location.
func (e *executor) findFirst(ctx context.Context, t *table, q *records.Query) (p plan.Plan, err error) {
	b := &builder{shared: e.shared, table: t, changing: e.changing}
	keys := sortKeys(q)
	if e.changing || q.Text == "" || isPair(q.Text) || !b.findable(q.Text) || len(q.Filters) > 0 || q.Only != nil || q.After != nil ||
		q.Limit <= 0 || q.Limit >= maxLiteral || q.Offset > maxRead || !t.ordered(keys[0].Field) {
		return p, nil
	}
	enough, err := e.probe(ctx, t, q, keys)
	if err == nil && !enough {
		p.Shape = plan.FindFirst
	}
	return p, err
}

// countMatching returns a SELECT of the number of records that match a query of a string only, or
// false if the index for searches does not have the number.
func (b *builder) countMatching(q *records.Query) (text string, ok bool) {
	if !b.findable(q.Text) || len(q.Filters) > 0 || q.Only != nil || b.dialect.DDL.Search.Count == "" {
		return "", false
	}
	most := int64(maxRows)
	if q.Estimate {
		most = records.MaxEstimate + 1
	}
	name := b.dialect.searchName(b.Resource)
	return fmt.Sprintf(b.dialect.searchText(b.Resource, name, b.dialect.DDL.Search.Count), b.pattern(q.Text), b.arg(most)), true
}

// knownMany reports whether many records matched a query when its total was counted last.
func (e *executor) knownMany(t *table, q *records.Query) bool {
	key, ok := e.totalKey(t, q)
	if !ok {
		return false
	}
	known := e.totals.get(key)
	return known != nil && known.total > plan.MaxFew
}

// maxValues is the most values of a field that replace a string that they contain.
const maxValues = 100

// byValues returns the query with the values of counted fields in place of strings that they
// contain, so that their indexes and counts serve it. It reports whether there are no such values.
// The counts lack the changes of a transaction.
func (e *executor) byValues(ctx context.Context, t *table, q *records.Query) (_ *records.Query, none bool, err error) {
	if e.changing || e.latest {
		return q, false, nil
	}
	next := *q
	next.Filters = slices.Clone(q.Filters)
	if fields := searched(t.Resource); q.Text != "" && len(fields) == 1 && fields[0].Counted {
		next.Text, next.Filters = "", append(next.Filters, records.Filter{Field: fields[0], Op: records.Contains, Value: q.Text})
	}
	for i := range next.Filters {
		f := &next.Filters[i]
		if f.Op != records.Contains && f.Op != records.StartsWith || !f.Field.Counted || f.Value == "" {
			continue
		}
		b := &builder{shared: e.shared, table: t}
		var values []any
		text := "SELECT value FROM " + e.own.counts + " WHERE resource = '" + t.name + "' AND field = '" + f.Field.Column + "' AND " +
			b.compare(&records.Filter{Field: f.Field, Op: f.Op, Value: f.Value}, "value") +
			" GROUP BY value HAVING sum(n) > 0 ORDER BY value LIMIT " + strconv.Itoa(maxValues+1)
		err := e.each(ctx, 1, func(row []any) error { values = append(values, textOf(row[0])); return nil }, text, b.args...)
		switch {
		case err != nil || len(values) == 0:
			return q, err == nil, err
		case len(values) == 1:
			f.Op, f.Value = records.Eq, values[0]
		case len(values) <= maxValues:
			f.Op, f.Value = records.In, values
		}
	}
	return &next, false, nil
}
