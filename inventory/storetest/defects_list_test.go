package storetest_test

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// queries has a store change each query.
func queries(change func(q *records.Query)) func(*defective) {
	return func(b *defective) {
		b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
			other := *q
			other.Filters, other.Sort = slices.Clone(q.Filters), slices.Clone(q.Sort)
			change(&other)
			return from.List(ctx, &other)
		}
	}
}

// filters has a store change filters, or drop them.
func filters(change func(c *records.Filter) (keep bool)) func(*defective) {
	return queries(func(q *records.Query) {
		q.Filters = slices.DeleteFunc(q.Filters, func(c records.Filter) bool {
			before := c
			return !change(&before)
		})
		for i := range q.Filters {
			change(&q.Filters[i])
		}
	})
}

func listDefects() []defect {
	return []defect{
		{"ignores the filter ne", []string{"list/filters", "list/random queries"}, filters(func(c *records.Filter) bool {
			return c.Op != records.Ne
		})},
		{"treats a string as a pattern", []string{"list/odd strings"}, filters(func(c *records.Filter) bool {
			return c.Op != records.Contains || c.Value != "%"
		})},
		{"matches everything for an empty list", []string{"list/filters"}, filters(func(c *records.Filter) bool {
			values, ok := c.Value.([]any)
			return !ok || len(values) > 0
		})},
		{"compares networks as strings", []string{"list/within"}, filters(func(c *records.Filter) bool {
			if p, ok := c.Value.(netip.Prefix); ok {
				text := strings.TrimSuffix(p.Masked().Addr().String(), ".0")
				c.Op, c.Value = records.StartsWith, text
			}
			return true
		})},
		{"shows what is elsewhere", []string{"list/columns", "list/places"}, queries(func(q *records.Query) { q.Only = nil })},
		{"folds all letters", []string{"list/search"}, queries(func(q *records.Query) { q.Text = strings.ToLower(q.Text) })},
		{"ignores time zones", []string{"list/zones"}, filters(func(c *records.Filter) bool {
			if at, ok := c.Value.(time.Time); ok {
				c.Value = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
			}
			return true
		})},
		{"counts the page", []string{"list/counts", "list/random queries"}, func(b *defective) {
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				page, err := from.List(ctx, q)
				if err == nil {
					page.Total = int64(len(page.Records))
				}
				return page, err
			}
		}},
		{"ignores places", []string{"list/places"}, queries(func(q *records.Query) { q.Only = nil })},
		{"counts all places", []string{"list/places"}, func(b *defective) {
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				page, err := from.List(ctx, q)
				if err != nil || q.Only == nil {
					return page, err
				}
				all := *q
				all.Only = nil
				every, err := from.List(ctx, &all)
				if err == nil {
					page.Total = every.Total
				}
				return page, err
			}
		}},
		{"counts later", []string{"concurrency/readers"}, func(b *defective) {
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				page, err := from.List(ctx, q)
				if err != nil {
					return nil, err
				}
				runtime.Gosched()
				later, err := from.List(ctx, q)
				if err == nil {
					page.Total = later.Total
				}
				return page, err
			}
		}},
	}
}

// byBytes sorts the records of a query by the bytes of their strings.
func byBytes(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
	all := *q
	all.Sort, all.After, all.Offset, all.Limit = nil, nil, 0, 0
	page, err := from.List(ctx, &all)
	if err != nil {
		return nil, err
	}
	compare := func(a, b *records.Place) int {
		for i, key := range q.Sort {
			x, _ := a.Values[i].(string)
			y, _ := b.Values[i].(string)
			order := strings.Compare(x, y)
			if key.Desc {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return strings.Compare(a.ID, b.ID)
	}
	slices.SortFunc(page.Records, func(a, b records.Record) int { return compare(q.PlaceOf(a), q.PlaceOf(b)) })
	page.Records = slices.DeleteFunc(page.Records, func(rec records.Record) bool {
		return q.After != nil && compare(q.PlaceOf(rec), q.After) <= 0
	})
	if n := int(q.Limit); n > 0 && n < len(page.Records) {
		page.Records, page.More = page.Records[:n], true
	}
	return page, nil
}

func pageDefects() []defect {
	return []defect{
		{"sorts by bytes", []string{"page/natural order", "page/address order"}, func(b *defective) {
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				if len(q.Sort) == 0 || !q.Sort[0].Field.Keyed() {
					return from.List(ctx, q)
				}
				return byBytes(ctx, from, q)
			}
		}},
		{"ignores descending order", []string{"page/every field", "list/random queries"}, queries(func(q *records.Query) {
			for i := range q.Sort {
				q.Sort[i].Desc = false
			}
		})},
		{"ignores all sort keys but one", []string{"page/ids", "list/random queries"}, queries(func(q *records.Query) {
			if len(q.Sort) > 1 {
				q.Sort = q.Sort[:1]
				if q.After != nil {
					q.After = &records.Place{Values: q.After.Values[:1], ID: q.After.ID}
				}
			}
		})},
		{"starts again if the record of a cursor is deleted", []string{"page/deleted place"}, func(b *defective) {
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				other := *q
				if q.After != nil {
					if _, err := from.Get(ctx, q.Resource, q.After.ID); err != nil {
						other.After = nil
					}
				}
				return from.List(ctx, &other)
			}
		}},
		{"continues at an offset", []string{"concurrency/readers"}, func(b *defective) {
			behind := map[string]int64{}
			b.list = func(ctx context.Context, from records.Reader, q *records.Query) (*records.Page, error) {
				if q.Limit == 0 {
					return from.List(ctx, q)
				}
				other := *q
				if q.After != nil {
					other.After, other.Offset = nil, behind[q.After.ID]
				}
				page, err := from.List(ctx, &other)
				runtime.Gosched()
				if err == nil && len(page.Records) > 0 {
					last := page.Records[len(page.Records)-1].Meta().ID
					behind[last] = other.Offset + int64(len(page.Records))
				}
				return page, err
			}
		}},
	}
}
