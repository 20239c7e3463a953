package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// id returns the nth id.
func id(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// isbn returns the nth valid ISBN of thirteen digits.
func isbn(n int) string {
	for digit := range 10 {
		s := fmt.Sprintf("978%09d%d", n, digit)
		if _, err := bookcatalog.ParseISBN(s); err == nil {
			return s
		}
	}
	panic("storetest: no check digit fits") // one of ten always does
}

// epoch returns the creation time of most books.
func epoch() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC) }

// full returns a book with a value in every field.
func full(n int) *bookcatalog.Book {
	return &bookcatalog.Book{
		ID: id(n), ISBN: isbn(n), ISBN13: isbn(n), Title: fmt.Sprintf("Title %d: ‘Ä’ & 'b' \"c\" %%_\\", n),
		Author: &bookcatalog.Author{
			ID: "a-1", FirstName: "Flann", LastName: "O'Brien", Born: "1911-10-05",
			Address: &bookcatalog.Address{Street: "1 High Street", City: "Dublin", Region: "Leinster", Postcode: "D02", Country: "IE"},
		},
		Authors:   []bookcatalog.Author{{LastName: "Second", FirstName: "A"}, {LastName: "Third", Address: &bookcatalog.Address{City: "Rome"}}},
		Publisher: "Publisher", PublishedYear: 1939, Language: "en-IE", Pages: 224, Subjects: []string{"Comedy", "Novel"},
		PriceMinor: 1299, Currency: "EUR", CreatedAt: epoch(), UpdatedAt: epoch().Add(time.Hour), Version: 1,
	}
}

// minimal returns a book with little more than a title.
func minimal(n int, title string) *bookcatalog.Book {
	return &bookcatalog.Book{ID: id(n), Title: title, Version: 1, CreatedAt: epoch(), UpdatedAt: epoch()}
}

func withISBN(b *bookcatalog.Book, isbn string) *bookcatalog.Book {
	b.ISBN, b.ISBN13 = isbn, isbn
	return b
}

// at returns the book with another version.
func at(b *bookcatalog.Book, version int64) *bookcatalog.Book {
	b.Version = version
	return b
}

func basicCases() []Case {
	return []Case{
		{"basic/stores every field", "a book must be read as it was written, or clients lose what they sent", func(f *fixture) {
			f.create(full(1), full(2))
		}},
		{"basic/stores missing values", "a value that a book does not have must not appear, such as an empty author", func(f *fixture) {
			f.create(minimal(1, "x"))
		}},
		{"basic/absent", "an unknown id is a result and not a failure", func(f *fixture) {
			_, err := f.store.Get(f.ctx, id(1))
			requireKind("get", err, bookcatalog.NotFound)
			f.replace(full(1), 1)
			f.remove(id(1), 1)
		}},
		{"basic/duplicates", "those who order a book name it by its ISBN", func(f *fixture) {
			f.create(full(1), full(3), withISBN(full(2), isbn(1)), withISBN(full(1), isbn(9)))
			f.replace(withISBN(full(3), isbn(1)), 1)
			f.create(withISBN(minimal(4, "x"), isbn(9)))
		}},
		{"basic/invalid isbn", "books without a valid ISBN are no duplicates of each other", func(f *fixture) {
			for n := range 2 {
				b := minimal(n, "x")
				b.ISBN = "44412"
				f.create(b, minimal(n+2, "y"))
			}
			f.agrees(&bookcatalog.Query{ISBN: "44412"})
		}},
		{"basic/replace", "a change must replace all of a book and nothing else", func(f *fixture) {
			f.create(full(1), full(2))
			f.replace(at(minimal(1, "bare"), 2), 1)
			f.verify()
			f.replace(at(full(1), 3), 2)
			f.verify()
			f.remove(id(1), 3)
		}},
		{"basic/stale", "a change of an old version would undo somebody else's", func(f *fixture) {
			f.create(at(full(1), 2))
			f.replace(at(full(1), 2), 1)
			f.replace(at(full(1), 4), 3)
			f.remove(id(1), 1)
		}},
		{"basic/frees isbn", "an ISBN that no book has any more may be used again", func(f *fixture) {
			f.create(full(1), full(2))
			f.replace(at(minimal(1, "bare"), 2), 1)
			f.remove(id(2), 1)
			f.create(withISBN(full(3), isbn(1)), withISBN(full(4), isbn(2)))
		}},
		{"basic/copies", "what callers do to a book must not change what is stored", func(f *fixture) {
			given := full(1)
			f.create(given)
			listed, _, err := f.store.List(f.ctx, &bookcatalog.Query{})
			must("list", err)
			for _, b := range []*bookcatalog.Book{given, f.get(id(1)), &listed[0]} {
				b.Title, b.Author.LastName, b.Author.Address.City = "?", "?", "?"
				b.Authors[0].LastName, b.Authors[1].Address.City, b.Subjects[0] = "?", "?", "?"
			}
		}},
		{"basic/canceled", "a call whose context has ended must not change anything", func(f *fixture) {
			f.create(full(1))
			ctx, cancel := context.WithCancel(f.ctx)
			cancel()
			_, getErr := f.store.Get(ctx, id(1))
			_, _, listErr := f.store.List(ctx, &bookcatalog.Query{})
			for what, err := range map[string]error{
				"create": f.store.Create(ctx, full(2)), "replace": f.store.Replace(ctx, at(minimal(1, "x"), 2), 1),
				"delete": f.store.Delete(ctx, id(1), 1), "get": getErr, "list": listErr,
			} {
				if err == nil {
					fail("%s: there is no error although the context has ended", what)
				}
			}
		}},
	}
}

func listCases() []Case {
	return []Case{
		{"list/filters", "a filter that is ignored, or matches too much, shows books that nobody requested", checkFilters},
		{"list/orders", "an order must not depend on the store", checkOrders},
		{"list/pages", "pages must neither overlap nor skip a book", func(f *fixture) {
			f.create(novels()...)
			for _, offset := range []int64{-1, 0, 2, 3, 4, 6, 1 << 40} {
				for _, limit := range []int64{-1, 0, 2} { // two books have the same year
					f.agrees(&bookcatalog.Query{Sort: []bookcatalog.SortKey{desc("published_year")}, Offset: offset, Limit: limit})
				}
			}
		}},
		{"list/cursors", "a cursor must stay valid while books are created and deleted", func(f *fixture) {
			f.create(novels()...)
			for n := range 2 { // also when the book of a cursor is deleted
				for _, after := range novels() {
					for _, keys := range [][]bookcatalog.SortKey{nil, {desc("published_year"), asc("title")}, {asc("created_at")}, {asc("author"), desc("title")}} {
						f.agrees(&bookcatalog.Query{After: after, Sort: keys, Limit: 2})
						f.agrees(&bookcatalog.Query{After: after, Sort: keys})
					}
				}
				f.remove(id(n+1), 1)
			}
		}},
	}
}

func asc(f bookcatalog.SortField) bookcatalog.SortKey { return bookcatalog.SortKey{Field: f} }

func desc(f bookcatalog.SortField) bookcatalog.SortKey {
	return bookcatalog.SortKey{Field: f, Desc: true}
}

// finds requires titles, which are stated here and not computed by the model.
func (f *fixture) finds(q *bookcatalog.Query, titles string) {
	var found []string
	for _, b := range f.agrees(q) {
		found = append(found, b.Title)
	}
	if s := strings.Join(found, ", "); s != titles {
		fail("list %+v: the titles are %s; want %s", *q, s, titles)
	}
}

const ode = "Öde an die 100% Freude"

// novels returns books that differ in the fields of queries.
func novels() []*bookcatalog.Book {
	book := func(n int, title, first, last string, year int, subjects ...string) *bookcatalog.Book {
		b := withISBN(minimal(n, title), isbn(n))
		b.PublishedYear, b.Subjects = year, subjects
		b.Author = &bookcatalog.Author{FirstName: first, LastName: last}
		b.CreatedAt = b.CreatedAt.Add(-time.Duration(n) * time.Minute)
		b.UpdatedAt = b.UpdatedAt.Add(time.Duration(n%3) * time.Minute)
		return b
	}
	beowulf := book(4, "Beowulf", "", "", 0, "Epic")
	beowulf.Author, beowulf.Authors = nil, []bookcatalog.Author{{FirstName: "Seamus", LastName: "Heaney"}}
	return []*bookcatalog.Book{
		book(1, "Emma", "Jane", "Austen", 1815, "Novel", "Comedy"), book(2, "persuasion", "Jane", "Austen", 1817, "Novel"),
		book(3, ode, "Émile", "Zola_", -20, "novella"), beowulf, book(5, "emma", "Zadie", "Smith", 1815),
	}
}

func checkFilters(f *fixture) {
	type query = bookcatalog.Query
	f.create(novels()...)
	for titles, queries := range map[string][]query{
		"Emma, persuasion, " + ode + ", Beowulf, emma": {{}},
		"Emma, emma":              {{Title: "EMMA"}, {Text: "Emma"}, {Year: new(1815)}},
		"Emma, persuasion":        {{Author: "jane austen"}, {Author: "Austen Jane"}, {Subject: "NOVEL"}},
		ode:                       {{Title: "ö"}, {Title: "0% F"}, {Title: "%"}, {Author: "_"}, {Author: "ÉMILE"}, {YearMin: new(-100), YearMax: new(0)}},
		"persuasion":              {{Text: isbn(2)[5:]}, {ISBN: isbn(2)}, {ISBN: isbn(2)[:5] + "-" + isbn(2)[5:]}, {YearMin: new(1816)}},
		"Emma, " + ode + ", emma": {{YearMax: new(1815)}},
		"Emma":                    {{Author: "austen", Year: new(1815)}},
		"emma":                    {{Text: "smith"}},
		"Beowulf":                 {{Author: "heaney"}},
		"":                        {{Title: "a_"}, {Title: `\`}, {Title: `'`}, {Title: "no such title"}, {ISBN: isbn(2)[:12]}, {Subject: "nov"}},
	} {
		for _, q := range queries {
			f.finds(&q, titles)
		}
	}
}

func checkOrders(f *fixture) {
	f.create(novels()...)
	for titles, sort := range map[string][]bookcatalog.SortKey{
		"Emma, persuasion, " + ode + ", Beowulf, emma": nil,
		"Beowulf, Emma, emma, persuasion, " + ode:      {asc("title")},
		ode + ", persuasion, Emma, emma, Beowulf":      {desc("title")},
		"Beowulf, Emma, persuasion, emma, " + ode:      {asc("author")},
		"emma, Beowulf, " + ode + ", persuasion, Emma": {desc("isbn")},
		"persuasion, emma, Emma, Beowulf, " + ode:      {desc("published_year"), desc("author")},
		ode + ", Emma, Beowulf, persuasion, emma":      {asc("updated_at"), desc("created_at")},
	} {
		f.finds(&bookcatalog.Query{Sort: sort}, titles)
	}
	f.finds(&bookcatalog.Query{Sort: []bookcatalog.SortKey{asc("created_at")}}, "emma, Beowulf, "+ode+", persuasion, Emma")
}

// checkRandom makes random calls.
func checkRandom(f *fixture) {
	r := &random{rand.New(rand.NewPCG(1, 1))} // #nosec G404 -- the sequence must be the same in each run
	for range 960 {
		version := int64(1 + r.IntN(3))
		switch b := r.book(); r.IntN(4) {
		case 0:
			f.create(at(b, 1))
		case 1:
			f.replace(at(b, version+1), version)
		case 2:
			f.remove(b.ID, version)
		default:
			f.agrees(r.query())
		}
	}
}

// random makes random books and queries.
type random struct{ *rand.Rand }

// numbers is the number of ids and ISBNs.
const numbers = 24

func (r *random) pick(from ...string) string { return from[r.IntN(len(from))] }

func (r *random) book() *bookcatalog.Book {
	b := minimal(r.IntN(numbers), r.pick("Emma", "emma", "EMMA II", "Ödipus", "100%", "a_b", "ß"))
	withISBN(b, r.pick("", isbn(r.IntN(numbers)), isbn(r.IntN(numbers))))
	if r.IntN(3) > 0 {
		b.Author = &bookcatalog.Author{FirstName: r.pick("Jane", "", "É"), LastName: r.pick("Austen", "austen", "O'Brien")}
	}
	if r.IntN(3) == 0 {
		b.Authors = []bookcatalog.Author{{LastName: r.pick("Austen", "Zola")}}
		b.Subjects = []string{r.pick("Novel", "novel", "Comedy"), r.pick("Epic", "a%")}
	}
	b.PublishedYear = r.IntN(5) * 900
	b.CreatedAt = epoch().Add(time.Duration(r.IntN(5)) * time.Microsecond)
	b.UpdatedAt = epoch().Add(time.Duration(r.IntN(5)) * time.Hour)
	return b
}

func (r *random) query() *bookcatalog.Query {
	q := &bookcatalog.Query{
		Text: r.pick("", "", "", "em", "978", "%"), Title: r.pick("", "", "", "emma", "Ö", "_"),
		Author: r.pick("", "", "", "AUSTEN", "é"), Subject: r.pick("", "", "", "NOVEL", "a%"),
		ISBN:   r.pick("", "", "", "", "", "", "", isbn(r.IntN(numbers))),
		Offset: int64(r.IntN(3)), Limit: int64(r.IntN(5)),
	}
	for _, year := range []**int{&q.Year, &q.YearMin, &q.YearMax} {
		if r.IntN(6) == 0 {
			*year = new(r.IntN(5) * 900)
		}
	}
	for range r.IntN(3) {
		fields := bookcatalog.SortFields()
		q.Sort = append(q.Sort, bookcatalog.SortKey{Field: fields[r.IntN(len(fields))], Desc: r.IntN(2) == 0})
	}
	if r.IntN(2) == 0 {
		q.After = r.book()
	}
	return q
}
