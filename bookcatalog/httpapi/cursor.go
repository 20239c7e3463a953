package httpapi

import (
	"fmt"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/internal/listquery"
)

// cursor is a position in a list: the sort order, and the last book with the id and, in an order
// by other fields, the fields to sort by.
type cursor struct {
	Order string           `json:"o"`
	After bookcatalog.Book `json:"b"`
}

// cursorAfter returns the cursor after a book.
func (l *request) cursorAfter(b *bookcatalog.Book) string {
	after := bookcatalog.Book{ID: b.ID}
	if len(l.query.Sort) > 0 {
		after.Title, after.ISBN13, after.PublishedYear = b.Title, b.ISBN13, b.PublishedYear
		after.CreatedAt, after.UpdatedAt = b.CreatedAt, b.UpdatedAt
		if b.Author != nil {
			after.Author = &bookcatalog.Author{FirstName: b.Author.FirstName, LastName: b.Author.LastName}
		}
	}
	return listquery.EncodeCursor(cursor{fmt.Sprint(l.query.Sort), after})
}

// after continues after the position of a cursor. An empty one is the beginning.
func (l *request) after(text string) error {
	if text == "" {
		return nil
	}
	var c cursor
	if !listquery.DecodeCursor(text, &c) || !bookcatalog.ValidID(c.After.ID) {
		return badField("cursor", "invalid cursor: use one from the Link header, or send cursor= to begin")
	}
	if c.Order != fmt.Sprint(l.query.Sort) {
		return badField("cursor", "cursor of another order: send the same sortby, or cursor= to begin")
	}
	l.query.After = &c.After
	return nil
}
