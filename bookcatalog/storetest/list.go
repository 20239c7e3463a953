package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

func listCases() []Case {
	return []Case{
		{"list/filters", "a filter that is ignored, or takes too much, shows books nobody asked for", checkFilters},
		{"list/orders", "an order that two stores do not share is no order", checkOrders},
		{"list/pages", "pages must neither overlap nor skip a book", checkPages},
		{"list/cursors", "a place in a list must hold while books come and go", checkCursors},
	}
}

// lists says what is wrong with what the store lists for a query.
func lists(ctx context.Context, s bookcatalog.Store, q *bookcatalog.Query, total int64, want ...*bookcatalog.Book) error {
	got, gotTotal, err := s.List(ctx, q)
	if err != nil {
		return fmt.Errorf("list %+v: %w", *q, err)
	}
	if gotTotal != total || len(got) != len(want) {
		return fmt.Errorf("list %+v: %d books of %d in all, want %d of %d", *q, len(got), gotTotal, len(want), total)
	}
	for i := range got {
		if err := same(&got[i], want[i]); err != nil {
			return fmt.Errorf("list %+v: at place %d: %w", *q, i, err)
		}
	}
	return nil
}

// finds says what is wrong with the titles that a query finds, in their order.
func finds(ctx context.Context, s bookcatalog.Store, q *bookcatalog.Query, titles ...string) error {
	got, _, err := s.List(ctx, q)
	if err != nil {
		return fmt.Errorf("list %+v: %w", *q, err)
	}
	found := make([]string, len(got))
	for i := range got {
		found[i] = got[i].Title
	}
	if a, b := strings.Join(found, ", "), strings.Join(titles, ", "); a != b {
		return fmt.Errorf("list %+v found %s; want %s", *q, a, b)
	}
	return nil
}

// shelf is a few books that differ in what they can be found by.
func shelf() []*bookcatalog.Book {
	book := func(n int, title, first, last string, year int, subjects ...string) *bookcatalog.Book {
		b := withISBN(plain(n, title), isbn(n))
		b.PublishedYear, b.Subjects = year, subjects
		if last != "" {
			b.Author = &bookcatalog.Author{FirstName: first, LastName: last}
		}
		b.CreatedAt = b.CreatedAt.Add(-time.Duration(n) * time.Minute)
		b.UpdatedAt = b.UpdatedAt.Add(time.Duration(n%3) * time.Minute)
		return b
	}
	beowulf := book(4, "Beowulf", "", "", 0, "Epic")
	beowulf.Authors = []bookcatalog.Author{{FirstName: "Seamus", LastName: "Heaney"}}
	return []*bookcatalog.Book{
		book(1, "Emma", "Jane", "Austen", 1815, "Novel", "Comedy"),
		book(2, "persuasion", "Jane", "Austen", 1817, "Novel"),
		book(3, "Öde an die 100% Freude", "Émile", "Zola_", -20, "novella"),
		beowulf,
		book(5, "emma", "Zadie", "Smith", 1815),
	}
}

func checkFilters(ctx context.Context, s bookcatalog.Store) error {
	year := func(n int) *int { return &n }
	type query = bookcatalog.Query
	if err := create(ctx, s, shelf()...); err != nil {
		return err
	}
	for _, want := range []struct {
		q      query
		titles []string
	}{
		{query{}, []string{"Emma", "persuasion", "Öde an die 100% Freude", "Beowulf", "emma"}},
		{query{Title: "EMMA"}, []string{"Emma", "emma"}},
		{query{Title: "ö"}, []string{"Öde an die 100% Freude"}},
		{query{Title: "0% F"}, []string{"Öde an die 100% Freude"}},
		{query{Title: "%"}, []string{"Öde an die 100% Freude"}},
		{query{Title: "a_"}, nil},
		{query{Title: `\`}, nil},
		{query{Title: `'`}, nil},
		{query{Author: "jane austen"}, []string{"Emma", "persuasion"}},
		{query{Author: "Austen Jane"}, []string{"Emma", "persuasion"}},
		{query{Author: "heaney"}, []string{"Beowulf"}},
		{query{Author: "_"}, []string{"Öde an die 100% Freude"}},
		{query{Author: "ÉMILE"}, []string{"Öde an die 100% Freude"}},
		{query{Text: "smith"}, []string{"emma"}},
		{query{Text: "Emma"}, []string{"Emma", "emma"}},
		{query{Text: isbn(2)[5:]}, []string{"persuasion"}},
		{query{ISBN: isbn(2)}, []string{"persuasion"}},
		{query{ISBN: isbn(2)[:5] + "-" + isbn(2)[5:]}, []string{"persuasion"}},
		{query{ISBN: isbn(2)[:12]}, nil},
		{query{Subject: "NOVEL"}, []string{"Emma", "persuasion"}},
		{query{Subject: "nov"}, nil},
		{query{Year: year(1815)}, []string{"Emma", "emma"}},
		{query{YearMin: year(1816)}, []string{"persuasion"}},
		{query{YearMax: year(1815)}, []string{"Emma", "Öde an die 100% Freude", "emma"}},
		{query{YearMin: year(-100), YearMax: year(0)}, []string{"Öde an die 100% Freude"}},
		{query{Author: "austen", Year: year(1815)}, []string{"Emma"}},
		{query{Title: "nothing of the sort"}, nil},
	} {
		if err := finds(ctx, s, &want.q, want.titles...); err != nil {
			return err
		}
	}
	return nil
}

func checkOrders(ctx context.Context, s bookcatalog.Store) error {
	if err := create(ctx, s, shelf()...); err != nil {
		return err
	}
	by := func(keys ...bookcatalog.SortKey) *bookcatalog.Query { return &bookcatalog.Query{Sort: keys} }
	const ode = "Öde an die 100% Freude"
	return first(
		func() error { return finds(ctx, s, by(), "Emma", "persuasion", ode, "Beowulf", "emma") },
		func() error { return finds(ctx, s, by(asc("title")), "Beowulf", "Emma", "emma", "persuasion", ode) },
		func() error { return finds(ctx, s, by(desc("title")), ode, "persuasion", "Emma", "emma", "Beowulf") },
		func() error { return finds(ctx, s, by(asc("author")), "Beowulf", "Emma", "persuasion", "emma", ode) },
		func() error { return finds(ctx, s, by(desc("isbn")), "emma", "Beowulf", ode, "persuasion", "Emma") },
		func() error {
			return finds(ctx, s, by(desc("published_year"), desc("author")), "persuasion", "emma", "Emma", "Beowulf", ode)
		},
		func() error {
			return finds(ctx, s, by(asc("created_at")), "emma", "Beowulf", ode, "persuasion", "Emma")
		},
		func() error {
			return finds(ctx, s, by(asc("updated_at"), desc("created_at")), ode, "Emma", "Beowulf", "persuasion", "emma")
		},
	)
}

func asc(f bookcatalog.SortField) bookcatalog.SortKey { return bookcatalog.SortKey{Field: f} }

func desc(f bookcatalog.SortField) bookcatalog.SortKey {
	return bookcatalog.SortKey{Field: f, Desc: true}
}

func checkPages(ctx context.Context, s bookcatalog.Store) error {
	if err := create(ctx, s, shelf()...); err != nil {
		return err
	}
	// Equal years, so that only the id tells two books apart.
	page := func(offset, limit int64) *bookcatalog.Query {
		return &bookcatalog.Query{Sort: []bookcatalog.SortKey{desc("published_year")}, Offset: offset, Limit: limit}
	}
	b := shelf()
	return first(
		func() error { return lists(ctx, s, page(0, 2), 5, b[1], b[0]) },
		func() error { return lists(ctx, s, page(2, 2), 5, b[4], b[3]) },
		func() error { return lists(ctx, s, page(4, 2), 5, b[2]) },
		func() error { return lists(ctx, s, page(6, 2), 5) },
		func() error { return lists(ctx, s, page(1<<40, 2), 5) },
		func() error { return lists(ctx, s, page(3, 0), 5, b[3], b[2]) },
		func() error { return lists(ctx, s, page(-1, 2), 5, b[1], b[0]) },
		func() error { return lists(ctx, s, page(-1, -1), 5, b[1], b[0], b[4], b[3], b[2]) },
	)
}

func checkCursors(ctx context.Context, s bookcatalog.Store) error {
	if err := create(ctx, s, shelf()...); err != nil {
		return err
	}
	b := shelf()
	after := func(book *bookcatalog.Book, limit int64, keys ...bookcatalog.SortKey) *bookcatalog.Query {
		return &bookcatalog.Query{After: book, Limit: limit, Sort: keys}
	}
	years := []bookcatalog.SortKey{desc("published_year"), asc("title")}
	return first(
		func() error { return lists(ctx, s, after(b[1], 2), 5, b[2], b[3]) },
		func() error { return lists(ctx, s, after(b[4], 2), 5) },
		func() error { return lists(ctx, s, after(b[0], 2, years...), 5, b[4], b[3]) },
		func() error { return lists(ctx, s, after(b[3], 2, asc("created_at")), 5, b[2], b[1]) },
		func() error { return s.Delete(ctx, b[0].ID, 1) },
		func() error { return lists(ctx, s, after(b[0], 2, years...), 4, b[4], b[3]) },
		func() error { return lists(ctx, s, after(b[4], 0, asc("author"), desc("title")), 4, b[2]) },
	)
}
