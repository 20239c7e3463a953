package bookcatalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Query selects books. The zero Query selects all, in the order of their ids, which is the order
// of creation.
//
// Strings match anywhere in a field, without case.
type Query struct {
	Text    string // in the title, a name of an author, the ISBN or the ISBN13
	Title   string
	Author  string // in "Jane Austen" and in "Austen Jane", of each author
	ISBN    string // the whole ISBN, in any of its forms
	Subject string // a whole subject

	Year             *int // the year of publication
	YearMin, YearMax *int // inclusive; books of unknown year do not match

	Sort []SortKey // the id breaks ties

	After         *Book // start after the position of a book, which need not exist
	Offset, Limit int64 // how many to skip and to return; a Limit that is not positive means all
}

// SortKey is a field to sort by.
type SortKey struct {
	Field SortField
	Desc  bool
}

// SortField is a field that books can be sorted by.
type SortField string

// The fields to sort by.
const (
	SortTitle   SortField = "title" // in lower case
	SortAuthor  SortField = "author"
	SortISBN    SortField = "isbn"
	SortYear    SortField = "published_year"
	SortCreated SortField = "created_at"
	SortUpdated SortField = "updated_at"
)

// SortFields returns all sort fields.
func SortFields() []SortField { return slices.Sorted(maps.Keys(orders)) }

// orders compares books by one field.
var orders = map[SortField]func(a, b *Book) int{
	SortTitle:   func(a, b *Book) int { return strings.Compare(fold(a.Title), fold(b.Title)) },
	SortAuthor:  func(a, b *Book) int { return strings.Compare(authorKey(a.Author), authorKey(b.Author)) },
	SortISBN:    func(a, b *Book) int { return strings.Compare(a.ISBN13, b.ISBN13) },
	SortYear:    func(a, b *Book) int { return cmp.Compare(a.PublishedYear, b.PublishedYear) },
	SortCreated: func(a, b *Book) int { return a.CreatedAt.Compare(b.CreatedAt) },
	SortUpdated: func(a, b *Book) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
}

// Keys holds the search and sort keys of a book, for stores that store them with the book. They
// are in lower case by Go's rules, so that all stores agree.
type Keys struct {
	Title    string // to sort and to search
	Author   string // to sort: last name and first name of Author
	Authors  string // to search: all names, each in both orders
	Text     string // to search: the title, the names and both forms of the ISBN
	Subjects string // to search for a subject between line feeds
}

// KeysOf returns the keys of a book.
func KeysOf(b *Book) Keys {
	k := Keys{Title: fold(b.Title), Author: authorKey(b.Author)}
	authors := b.Authors
	if b.Author != nil {
		authors = append([]Author{*b.Author}, authors...)
	}
	var names []string
	for _, a := range authors {
		names = append(names, a.FirstName+" "+a.LastName, a.LastName+" "+a.FirstName)
	}
	k.Authors = fold(strings.Join(names, "\n"))
	k.Text = strings.Join([]string{k.Title, k.Authors, fold(b.ISBN), b.ISBN13}, "\n")
	if len(b.Subjects) > 0 {
		k.Subjects = "\n" + fold(strings.Join(b.Subjects, "\n")) + "\n"
	}
	return k
}

func authorKey(a *Author) string {
	if a == nil {
		return ""
	}
	return fold(a.LastName + " " + a.FirstName)
}

// fold removes the difference of case.
func fold(s string) string { return strings.ToLower(s) }

// Folded returns the query with its strings in the form of [Keys], and a valid ISBN in the form of
// ISBN13.
func (q *Query) Folded() *Query {
	f := *q
	f.Text, f.Title, f.Author = fold(q.Text), fold(q.Title), fold(q.Author)
	if q.Subject != "" {
		f.Subject = "\n" + fold(q.Subject) + "\n"
	}
	if isbn13, err := ParseISBN(q.ISBN); err == nil {
		f.ISBN = isbn13
	}
	return &f
}

// Select returns the page of a query from all books, and the number of all that match. It uses the
// slice books as working memory.
func (q *Query) Select(books []*Book) (page []*Book, total int64) {
	folded := q.Folded()
	found := slices.DeleteFunc(books, func(b *Book) bool { return !folded.matches(b) })
	slices.SortFunc(found, q.Compare)
	total = int64(len(found))
	if q.After != nil {
		found = slices.DeleteFunc(found, func(b *Book) bool { return q.Compare(b, q.After) <= 0 })
	}
	found = found[min(max(q.Offset, 0), int64(len(found))):]
	if q.Limit > 0 {
		found = found[:min(q.Limit, int64(len(found)))]
	}
	return found, total
}

// matches reports whether a book matches a folded query.
func (q *Query) matches(b *Book) bool {
	if q.ISBN != "" && b.ISBN != q.ISBN && b.ISBN13 != q.ISBN || !q.matchesYear(b.PublishedYear) {
		return false
	}
	if q.Text == "" && q.Title == "" && q.Author == "" && q.Subject == "" {
		return true
	}
	k := KeysOf(b)
	return strings.Contains(k.Text, q.Text) && strings.Contains(k.Title, q.Title) &&
		strings.Contains(k.Authors, q.Author) && strings.Contains(k.Subjects, q.Subject)
}

func (q *Query) matchesYear(year int) bool {
	known := year != 0
	return (q.Year == nil || year == *q.Year) &&
		(q.YearMin == nil || known && year >= *q.YearMin) &&
		(q.YearMax == nil || known && year <= *q.YearMax)
}

// Compare is negative if a comes before b in the order of the query, positive if it
// comes after b, and 0 only for books with the same id.
func (q *Query) Compare(a, b *Book) int {
	for _, key := range q.Sort {
		order := 0
		if compare, ok := orders[key.Field]; ok {
			order = compare(a, b)
		}
		if key.Desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return strings.Compare(a.ID, b.ID)
}
