package sqlstore

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// builder gathers the parameters of one statement.
type builder struct {
	*shared
	*table
	args []any
	only string // a condition that all records must meet, beside those of the query
}

// arg adds a parameter and returns what stands for it.
func (b *builder) arg(v any) string {
	b.args = append(b.args, operand(v, &b.dialect))
	return b.dialect.Parameter + strconv.Itoa(len(b.args))
}

// never is a condition that nothing meets.
const never = "1 = 0"

// conditions are those of the filters of a query. unindexed is a filter that no index is to be
// used for, or nil.
func (b *builder) conditions(q *inventory.Query, unindexed *inventory.Filter) []string {
	var all []string
	for i := range q.Filters {
		f := &q.Filters[i]
		column := f.Field.Column
		if f == unindexed {
			column = b.dialect.Unindexed + column
		}
		all = append(all, b.condition(f, column))
	}
	if q.Text != "" {
		all = append(all, b.search(q.Text))
	}
	if b.only != "" {
		all = append(all, b.only)
	}
	return all
}

func where(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// search is true when one of the fields that are searched holds a text.
func (b *builder) search(text string) string {
	var fields []string
	for _, c := range b.columns {
		if c.Search {
			fields = append(fields, c.Column)
		}
	}
	if len(fields) == 0 {
		return never
	}
	part := b.arg(inventory.FoldASCII(text))
	for i, column := range fields {
		fields[i] = fmt.Sprintf(b.dialect.Contains, b.folded(column), part)
	}
	return "(" + strings.Join(fields, " OR ") + ")"
}

func (b *builder) folded(column string) string { return fmt.Sprintf(b.dialect.Fold, column) }

// condition is one filter.
func (b *builder) condition(f *inventory.Filter, column string) string {
	switch f.Op {
	case inventory.Eq:
		return b.equal(f.Field, column, f.Value)
	case inventory.Ne:
		return b.unequal(f.Field, column, f.Value)
	case inventory.In:
		return b.in(f.Field, column, f.Value.([]any))
	case inventory.IsNull:
		return without(f.Field, column, f.Value.(bool))
	case inventory.Contains:
		return b.part(b.dialect.Contains, column, f.Value.(string))
	case inventory.StartsWith:
		return b.part(b.dialect.StartsWith, column, f.Value.(string))
	}
	return b.larger(f, column)
}

// part compares with a part of a text. The empty one is part of every value, and no value has
// no part.
func (b *builder) part(how, column, value string) string {
	if value == "" {
		return column + " <> ''"
	}
	return fmt.Sprintf(how, b.folded(column), b.arg(inventory.FoldASCII(value)))
}

// empty reports whether a value is one that no record has: an empty text is kept where there
// is none.
func empty(f *inventory.Field, value any) bool {
	return f.Kind == inventory.Text && !f.Nullable && value == ""
}

func (b *builder) equal(f *inventory.Field, column string, value any) string {
	switch {
	case value == nil:
		return without(f, column, true)
	case f.Kind == inventory.List:
		return fmt.Sprintf(b.dialect.Element, column, b.arg(value))
	case empty(f, value):
		return never
	}
	condition := column + " = " + b.arg(value)
	if b.partial(f) {
		condition += " AND " + column + " <> ''"
	}
	return condition
}

// partial reports whether the index of a unique key leaves out records without a value. A database
// uses it only if a condition says that there is one: it does not know the parameter.
func (b *builder) partial(f *inventory.Field) bool {
	return f.Kind == inventory.Text && !f.Nullable && !f.Required &&
		slices.ContainsFunc(b.uniques, func(u inventory.Unique) bool { return slices.Contains(u.Fields, f.Name) })
}

func (b *builder) unequal(f *inventory.Field, column string, value any) string {
	switch {
	case value == nil:
		return without(f, column, false)
	case f.Kind == inventory.List:
		return "NOT (" + b.equal(f, column, value) + ")"
	case empty(f, value):
		return "1 = 1"
	case f.Nullable:
		return "(" + column + " <> " + b.arg(value) + " OR " + column + " IS NULL)"
	}
	return column + " <> " + b.arg(value)
}

// in pads the values to a power of two, so that there are few different statements.
func (b *builder) in(f *inventory.Field, column string, values []any) string {
	var either, parameters []string
	for _, v := range values {
		if v == nil || empty(f, v) || f.Kind == inventory.List {
			either = append(either, b.equal(f, column, v))
			continue
		}
		parameters = append(parameters, b.arg(v))
	}
	if n := len(parameters); n > 0 {
		for range 1<<bits.Len(uint(n-1)) - n {
			parameters = append(parameters, parameters[n-1])
		}
		either = append(either, column+" IN ("+strings.Join(parameters, ", ")+")")
	}
	if len(either) == 0 {
		return never
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// without is true where a column has no value, or where it has one.
func without(f *inventory.Field, column string, none bool) string {
	switch {
	case f.Nullable && none:
		return column + " IS NULL"
	case f.Nullable:
		return column + " IS NOT NULL"
	case f.Kind != inventory.Text:
		return map[bool]string{true: never, false: "1 = 1"}[none]
	case none:
		return column + " = ''"
	}
	return column + " <> ''"
}

func (b *builder) larger(f *inventory.Filter, column string) string {
	sign := map[inventory.Op]string{inventory.Gt: " > ", inventory.Gte: " >= ", inventory.Lt: " < ", inventory.Lte: " <= "}[f.Op]
	condition := column + sign + b.arg(f.Value)
	if f.Field.Kind == inventory.Text && !f.Field.Nullable {
		condition = "(" + condition + " AND " + column + " <> '')"
	}
	return condition
}
