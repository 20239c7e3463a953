package records

import (
	"context"
	"iter"
)

// First returns a record of a type whose fields have some values, nil if there is none, as in
// First[Device](ctx, store, "hostname", "sw1"). Each value follows the name of its field ([Query.Where]).
func First[T any, P interface {
	*T
	Record
}](ctx context.Context, from Reader, where ...any) (P, error) {
	all, err := Select[T, P](ctx, from, &Query{Limit: 1}, where...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// Select returns the page of a query, whose resource it sets, with conditions as those of [First].
func Select[T any, P interface {
	*T
	Record
}](ctx context.Context, from Reader, q *Query, where ...any) ([]P, error) {
	if err := CheckStore(from); err != nil {
		return nil, err
	}
	q.Resource = Of[T](from.Schema())
	page, err := from.List(ctx, q.where(where))
	if err != nil {
		return nil, err
	}
	all := make([]P, len(page.Records))
	for i, rec := range page.Records {
		all[i] = rec.(P)
	}
	return all, nil
}

// Count returns the number of records of a query, with conditions as those of [First].
func Count(ctx context.Context, from Reader, q *Query, where ...any) (int64, error) {
	q.Limit, q.Count = 1, true
	page, err := from.List(ctx, q.where(where))
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

// where adds conditions.
func (q *Query) where(pairs []any) *Query {
	for i := 0; i < len(pairs); i += 2 {
		q.Where(pairs[i].(string), pairs[i+1])
	}
	return q
}

// All iterates over the records of all pages of a query. The last element may be an error.
func All(ctx context.Context, from interface {
	List(ctx context.Context, q *Query) (*Page, error)
}, q *Query,
) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		next := *q
		for {
			page, err := from.List(ctx, &next)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, rec := range page.Records {
				if !yield(rec, nil) {
					return
				}
			}
			if !page.More || len(page.Records) == 0 {
				return
			}
			next.After = next.PlaceOf(page.Records[len(page.Records)-1])
		}
	}
}
