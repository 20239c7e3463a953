package httpapi

import (
	"fmt"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/internal/listquery"
)

// cursor is a position in a list: the sort order, and the id and the sort keys of the last book.
type cursor struct {
	Order string           `json:"o"`
	After bookcatalog.Book `json:"b"`
}

// cursorAfter returns the cursor after a book.
func (l *request) cursorAfter(b *bookcatalog.Book) string {
	after := bookcatalog.Book{ID: b.ID}
	for _, key := range l.query.Sort {
		switch key.Field {
		case bookcatalog.SortTitle:
			after.Title = b.Title
		case bookcatalog.SortAuthor:
			if b.Author != nil {
				after.Author = &bookcatalog.Author{FirstName: b.Author.FirstName, LastName: b.Author.LastName}
			}
		case bookcatalog.SortISBN:
			after.ISBN13 = b.ISBN13
		case bookcatalog.SortYear:
			after.PublishedYear = b.PublishedYear
		case bookcatalog.SortCreated:
			after.CreatedAt = b.CreatedAt
		case bookcatalog.SortUpdated:
			after.UpdatedAt = b.UpdatedAt
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
