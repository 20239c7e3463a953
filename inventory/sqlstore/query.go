package sqlstore

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

// builder collects the arguments of one statement.
type builder struct {
	*shared
	*table
	args     []any
	plan     plan.Plan // how to read a page
	latest   bool      // whether the table is that of the latest records
	changing bool      // in a transaction, whose changes indexes for searches may lack

	placing   placing
	aliases   int    // of referenced records
	placeList string // compares a column with the places; empty if the statement has not yet

	remember bool        // select the states after the total
	known    *knownTotal // the total that was counted last, or nil
}

// arg adds an argument and returns its parameter.
func (b *builder) arg(v any) string {
	b.args = append(b.args, b.dialect.argument(v))
	return b.dialect.Parameter + strconv.Itoa(len(b.args))
}

const (
	never  = "1 = 0"
	always = "1 = 1"
	isNull = " IS NULL"
)

// conditions returns the conditions of a query. notBy is the position of a filter whose index is not
// used, from 1, or 0. For the records of places it may be all but one.
func (b *builder) conditions(q *records.Query, notBy int) []string {
	var all []string
	for i := range q.Filters {
		f := &q.Filters[i]
		column := f.Field.Column
		if i+1 == notBy || b.placing.by != nil && f.Field != b.placing.by {
			column = b.dialect.Unindexed + column
		}
		all = append(all, b.condition(f, column))
	}
	if q.Text != "" {
		all = append(all, b.search(q.Text))
	}
	if q.Only != nil {
		all = append(all, b.places(q.Only, b.Resource, local(b.name)))
	}
	return all
}

func where(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// search holds if one of the fields for searches contains a string.
func (b *builder) search(s string) string {
	var columns []string
	for _, c := range b.columns {
		if c.Search {
			columns = append(columns, b.dialect.foldedText(c.Field))
		}
	}
	if len(columns) == 0 {
		return never
	}
	found, ok := b.matching(s)
	if ok && utf8.RuneCountInString(s) <= maxPattern {
		return found
	}
	part := b.arg(records.FoldASCII(s))
	for i, text := range columns {
		columns[i] = fmt.Sprintf(b.dialect.Contains, text, part)
	}
	condition := "(" + strings.Join(columns, " OR ") + ")"
	if ok {
		condition = found + " AND " + condition
	}
	return condition
}

// folded converts the ASCII letters of a string to lower case; those only, by the collation of the columns.
func folded(text string) string { return "lower(" + text + ")" }

// condition returns the condition of one filter.
func (b *builder) condition(f *records.Filter, column string) string {
	condition := b.compare(f, column)
	if s, ok := b.textOf(f); ok {
		if found, ok := b.matching(s); ok {
			return found + " AND " + condition
		}
	}
	return condition
}

// compare compares a column with the value of a filter.
func (b *builder) compare(f *records.Filter, column string) string {
	switch f.Op {
	case records.Eq:
		return b.equal(f.Field, column, f.Value)
	case records.Host:
		return b.host(f.Field, column, f.Value.(string))
	case records.Within, records.AnyWithin:
		if b.inNetwork(f) {
			return "(" + b.within(f.Field, column, f.Value) + ")"
		}
		var either []string
		for _, of := range b.Addresses() {
			either = append(either, b.within(of, of.Column, f.Value))
		}
		return "(" + strings.Join(either, " OR ") + ")"
	case records.Ne:
		return b.unequal(f.Field, column, f.Value)
	case records.In:
		return b.in(f.Field, column, f.Value.([]any))
	case records.IsNull:
		condition := missing(f.Field, column, f.Value.(bool))
		if f.Value.(bool) && b.hasKey(f.Field, column) {
			condition = b.keysOf(f.Field, []any{nil}, condition)
		}
		return condition
	case records.Contains:
		return b.substring(b.dialect.Contains, column, f.Value.(string))
	case records.StartsWith:
		return b.substring(b.dialect.StartsWith, column, f.Value.(string))
	}
	operator, ok := orderOperators[f.Op]
	if !ok {
		panic(unknownOp(f))
	}
	condition := column + operator + b.arg(f.Value)
	if f.Field.Kind == records.Text && !f.Field.Nullable { // a missing string has no order
		condition = "(" + condition + " AND " + column + " <> '')"
	}
	return condition
}

// orderOperators compare the order of a column and a value.
var orderOperators = map[records.Op]string{records.Gt: " > ", records.Gte: " >= ", records.Lt: " < ", records.Lte: " <= "}

// unknownOp describes a filter whose comparison the package does not know: a defect of the program.
func unknownOp(f *records.Filter) string {
	return fmt.Sprintf("sqlstore: unknown comparison %s of %s", f.Op, f.Field.Name)
}

// substring compares with a part of a string. Every value contains the empty string, and a
// missing value does not.
func (b *builder) substring(how, column, value string) string {
	if value == "" {
		return column + " <> ''"
	}
	return fmt.Sprintf(how, folded(column), b.arg(records.FoldASCII(value)))
}

// emptyString reports whether no record has a value, because the empty string is stored for a
// missing one.
func emptyString(f *records.Field, value any) bool {
	return f.Kind == records.Text && !f.Nullable && value == ""
}

func (b *builder) equal(f *records.Field, column string, value any) string {
	switch {
	case value == nil:
		return missing(f, column, true)
	case f.Kind == records.List:
		return fmt.Sprintf(b.dialect.Element, column, b.arg(value))
	case emptyString(f, value):
		return never
	}
	condition := column + " = " + b.arg(value)
	if b.hasKey(f, column) {
		condition = b.keysOf(f, []any{value}, condition)
	}
	// The index of an optional key omits missing values. A database uses it only if a condition
	// excludes them: it does not know the argument.
	if f.Kind == records.Text && !f.Nullable && !f.Required && b.inKey(f) {
		condition += " AND " + column + " <> ''"
	}
	return condition
}

func (b *builder) unequal(f *records.Field, column string, value any) string {
	switch {
	case value == nil:
		return missing(f, column, false)
	case f.Kind == records.List:
		return "NOT (" + b.equal(f, column, value) + ")"
	case emptyString(f, value):
		return always
	case f.Nullable:
		return "(" + column + " <> " + b.arg(value) + " OR " + column + isNull + ")"
	}
	return column + " <> " + b.arg(value)
}

// in pads the values to a power of two, so that there are few different statements.
func (b *builder) in(f *records.Field, column string, values []any) string {
	var either, parameters []string
	var keyed []any
	for _, v := range values {
		if v == nil || emptyString(f, v) || f.Kind == records.List {
			either = append(either, b.equal(f, column, v))
			continue
		}
		parameters, keyed = append(parameters, b.arg(v)), append(keyed, v)
	}
	if n := len(parameters); n > 0 {
		for range 1<<bits.Len(uint(n-1)) - n {
			parameters, keyed = append(parameters, parameters[n-1]), append(keyed, keyed[n-1])
		}
		condition := column + " IN (" + strings.Join(parameters, ", ") + ")"
		if f.Keyed() && b.hasKey(f, column) {
			condition = "(" + b.keysOf(f, keyed, condition) + ")"
		}
		either = append(either, condition)
	}
	if len(either) == 0 {
		return never
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// anyOf is the condition that a column of ids has one of the values.
func (b *builder) anyOf(column string, values []any) string {
	if len(values) == 1 {
		return column + " = " + b.arg(values[0])
	}
	return b.in(&records.Field{Column: column, Nullable: true}, column, values)
}

// anys returns strings as arguments.
func anys(all []string) []any {
	args := make([]any, len(all))
	for i, s := range all {
		args[i] = s
	}
	return args
}

// missing holds if a column has no value, or if it has one.
func missing(f *records.Field, column string, none bool) string {
	switch {
	case f.Nullable && none:
		return column + isNull
	case f.Nullable:
		return column + " IS NOT NULL"
	case f.Kind == records.Text && none:
		return column + " = ''"
	case f.Kind == records.Text:
		return column + " <> ''"
	case none:
		return never
	}
	return always
}

// sortKey is a column to sort by.
type sortKey struct {
	*records.Field
	desc bool
}

// sortKeys returns the columns that decide the order of a query, and the id as the last one. A
// key after the id, or a column that occurs a second time, decides nothing.
func sortKeys(q *records.Query) []sortKey {
	var keys []sortKey
	seen := map[string]bool{}
	for _, key := range q.Sort {
		if !seen[key.Field.Column] {
			keys = append(keys, sortKey{orderField(key.Field), key.Desc})
		}
		seen[key.Field.Column] = true
		if key.Field.Column == "id" {
			return keys
		}
	}
	id, _ := q.Resource.Field("id")
	return append(keys, sortKey{id, q.IDDesc()})
}

// orderBy sorts null before all values. prefix precedes the names of columns.
func (d *Dialect) orderBy(keys []sortKey, prefix string) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = prefix + k.Column
		switch {
		case k.desc && k.Nullable:
			parts[i] += " DESC" + d.NullsLast
		case k.desc:
			parts[i] += " DESC"
		case k.Nullable:
			parts[i] += d.NullsFirst
		}
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

// cursorValues returns the stored values of the keys at the cursor, after which a page begins.
func cursorValues(q *records.Query, keys []sortKey) []any {
	values := make([]any, len(keys))
	for i, k := range keys {
		if k.Column == "id" {
			values[i] = q.After.ID
		} else if j := slices.IndexFunc(q.Sort, func(key records.SortKey) bool { return orderColumn(key.Field) == k.Column }); j < len(q.After.Values) {
			values[i] = q.After.Values[j]
			if of := q.Sort[j].Field; of.Keyed() {
				values[i] = of.OrderKey(values[i])
			}
		}
		if values[i] == nil && k.Kind == records.Text && !k.Nullable {
			values[i] = ""
		}
	}
	return values
}

// pagePart is a range of the records after a cursor: its conditions, and the order in which an
// index has its records.
type pagePart struct {
	conditions []string
	keys       []sortKey
}

// pageParts returns disjoint ranges that together contain the records after a cursor. Each can
// be looked up in an index, unlike one condition with OR.
func (b *builder) pageParts(q *records.Query, keys []sortKey) []pagePart {
	at := cursorValues(q, keys)
	if row := b.rowAfter(keys, at); row != "" {
		return []pagePart{{[]string{row}, keys}}
	}
	var parts []pagePart
	var before []string
	order := slices.Clone(keys)
	for i, k := range keys {
		for _, after := range b.after(k, at[i]) {
			part := pagePart{append(slices.Clone(before), after), slices.Clone(order)}
			if strings.HasSuffix(after, isNull) {
				part.keys[i].desc = keys[len(keys)-1].desc // all are equal, and an index has the ids in the same direction
			}
			parts = append(parts, part)
		}
		if at[i] == nil {
			order[i].desc = keys[len(keys)-1].desc
			before = append(before, k.Column+isNull)
		} else if i < len(keys)-1 {
			before = append(before, k.Column+" = "+b.arg(at[i]))
		}
	}
	if len(parts) == 0 {
		return []pagePart{{[]string{never}, keys}}
	}
	return parts
}

// rowAfter compares whole rows, if all keys ascend and none may be null.
func (b *builder) rowAfter(keys []sortKey, at []any) string {
	columns, values := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		if k.desc || k.Nullable || at[i] == nil {
			return ""
		}
		columns[i] = k.Column
	}
	for i := range keys {
		values[i] = b.arg(at[i])
	}
	if len(keys) == 1 {
		return columns[0] + " > " + values[0]
	}
	return "(" + strings.Join(columns, ", ") + ") > (" + strings.Join(values, ", ") + ")"
}

// after returns the conditions, each a range of an index, that a column sorts after a value.
func (b *builder) after(k sortKey, value any) []string {
	switch {
	case value == nil && k.desc:
		return nil // null is the last
	case value == nil:
		return []string{k.Column + " IS NOT NULL"}
	case !k.desc:
		return []string{k.Column + " > " + b.arg(value)}
	case k.Nullable:
		return []string{k.Column + " < " + b.arg(value), k.Column + isNull}
	}
	return []string{k.Column + " < " + b.arg(value)}
}
