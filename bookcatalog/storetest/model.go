package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

func modelCases() []Case {
	return []Case{{
		"model/random calls",
		"what a store does after any calls must be what the simplest store would do",
		checkModel,
	}}
}

const (
	modelSeeds = 8
	modelSteps = 120
	modelIDs   = 12
)

// model is a store that can't be wrong: a list that is looked through.
type model struct{ books []bookcatalog.Book }

// checkModel makes random calls, each on the store and on the model. All seeds use the
// same store with ids and ISBNs of their own.
func checkModel(ctx context.Context, s bookcatalog.Store) error {
	m := &model{}
	for seed := range modelSeeds {
		g := &generator{rand.New(rand.NewPCG(uint64(seed), 1)), seed}
		for step := range modelSteps {
			if err := g.step(ctx, s, m); err != nil {
				return fmt.Errorf("seed %d, step %d: %w", seed, step, err)
			}
		}
	}
	return nil
}

// generator makes random calls.
type generator struct {
	*rand.Rand
	seed int
}

func (g *generator) step(ctx context.Context, s bookcatalog.Store, m *model) error {
	b := g.book()
	version := int64(1 + g.IntN(3))
	var got error
	var want bookcatalog.ErrorKind
	switch g.IntN(4) {
	case 0:
		b.Version = 1
		got, want = s.Create(ctx, b), m.create(b)
	case 1:
		b.Version = version + 1
		got, want = s.Replace(ctx, b, version), m.replace(b, version)
	case 2:
		got, want = s.Delete(ctx, b.ID, version), m.remove(b.ID, version)
	default:
		return g.compare(ctx, s, m)
	}
	if bookcatalog.KindOf(got) != want || want == 0 && got != nil {
		return fmt.Errorf("a change of %+v gives %w, want the kind %d", *b, got, want)
	}
	return nil
}

func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) book() *bookcatalog.Book {
	b := plain(g.seed*1000+g.IntN(modelIDs), g.pick("Emma", "emma", "EMMA II", "Ödipus", "100%", "a_b", "ß"))
	if g.IntN(3) > 0 {
		b = withISBN(b, isbn(g.seed*1000+g.IntN(modelIDs)))
	}
	if g.IntN(3) > 0 {
		b.Author = &bookcatalog.Author{FirstName: g.pick("Jane", "", "É"), LastName: g.pick("Austen", "austen", "O'Brien")}
	}
	if g.IntN(3) == 0 {
		b.Authors = []bookcatalog.Author{{LastName: g.pick("Austen", "Zola")}}
		b.Subjects = []string{g.pick("Novel", "novel", "Comedy"), g.pick("Epic", "a%")}
	}
	b.PublishedYear = g.IntN(5) * 900
	b.CreatedAt = epoch().Add(time.Duration(g.IntN(5)) * time.Microsecond)
	b.UpdatedAt = epoch().Add(time.Duration(g.IntN(5)) * time.Hour)
	return b
}

// query makes one of any kind.
func (g *generator) query() *bookcatalog.Query {
	q := &bookcatalog.Query{
		Text: g.pick("", "", "", "em", "978", "%"), Title: g.pick("", "", "", "emma", "Ö", "_"),
		Author: g.pick("", "", "", "AUSTEN", "é"), Subject: g.pick("", "", "", "NOVEL", "a%"),
	}
	if g.IntN(8) == 0 {
		q.ISBN = isbn(g.seed*1000 + g.IntN(modelIDs))
	}
	for _, year := range []**int{&q.Year, &q.YearMin, &q.YearMax} {
		if g.IntN(6) == 0 {
			y := g.IntN(5) * 900
			*year = &y
		}
	}
	for range g.IntN(3) {
		fields := bookcatalog.SortFields()
		q.Sort = append(q.Sort, bookcatalog.SortKey{Field: fields[g.IntN(len(fields))], Desc: g.IntN(2) == 0})
	}
	q.Offset, q.Limit = int64(g.IntN(3)), int64(g.IntN(5))
	if g.IntN(2) == 0 {
		q.After = g.book()
	}
	return q
}

// compare asks both for the same list.
func (g *generator) compare(ctx context.Context, s bookcatalog.Store, m *model) error {
	q := g.query()
	page, total := q.Select(slices.Clone(m.books))
	want := make([]*bookcatalog.Book, len(page))
	for i := range page {
		want[i] = &page[i]
	}
	return lists(ctx, s, q, total, want...)
}

func (m *model) find(id string) int {
	return slices.IndexFunc(m.books, func(b bookcatalog.Book) bool { return b.ID == id })
}

// taken reports whether another book has the ISBN.
func (m *model) taken(b *bookcatalog.Book) bool {
	return slices.ContainsFunc(m.books, func(other bookcatalog.Book) bool {
		return b.ISBN13 != "" && other.ISBN13 == b.ISBN13 && other.ID != b.ID
	})
}

func (m *model) create(b *bookcatalog.Book) bookcatalog.ErrorKind {
	if m.find(b.ID) >= 0 || m.taken(b) {
		return bookcatalog.Conflict
	}
	m.books = append(m.books, *b.Clone())
	return 0
}

func (m *model) replace(b *bookcatalog.Book, version int64) bookcatalog.ErrorKind {
	i := m.find(b.ID)
	switch {
	case i < 0:
		return bookcatalog.NotFound
	case m.books[i].Version != version:
		return bookcatalog.Stale
	case m.taken(b):
		return bookcatalog.Conflict
	}
	m.books[i] = *b.Clone()
	return 0
}

func (m *model) remove(id string, version int64) bookcatalog.ErrorKind {
	i := m.find(id)
	switch {
	case i < 0:
		return bookcatalog.NotFound
	case m.books[i].Version != version:
		return bookcatalog.Stale
	}
	m.books = slices.Delete(m.books, i, i+1)
	return 0
}
