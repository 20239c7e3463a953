package httpapi

import (
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/internal/listquery"
)

// cursor is a position in a list: the sort order and the sort keys of the last book.
type cursor struct {
	Order     string    `json:"o"`
	ID        string    `json:"i"`
	Title     string    `json:"t,omitempty"`
	FirstName string    `json:"f,omitempty"`
	LastName  string    `json:"l,omitempty"`
	ISBN13    string    `json:"n,omitempty"`
	Year      int       `json:"y,omitempty"`
	Created   time.Time `json:"c,omitzero"`
	Updated   time.Time `json:"u,omitzero"`
}

// cursorAfter returns the cursor after a book.
func (l *request) cursorAfter(b *bookcatalog.Book) string {
	c := cursor{Order: fmt.Sprint(l.query.Sort), ID: b.ID}
	for _, key := range l.query.Sort {
		switch key.Field {
		case bookcatalog.SortTitle:
			c.Title = b.Title
		case bookcatalog.SortAuthor:
			if b.Author != nil {
				c.FirstName, c.LastName = b.Author.FirstName, b.Author.LastName
			}
		case bookcatalog.SortISBN:
			c.ISBN13 = b.ISBN13
		case bookcatalog.SortYear:
			c.Year = b.PublishedYear
		case bookcatalog.SortCreated:
			c.Created = b.CreatedAt
		case bookcatalog.SortUpdated:
			c.Updated = b.UpdatedAt
		}
	}
	return listquery.EncodeCursor(c)
}

// after continues after the position of a cursor. An empty one is the beginning.
func (l *request) after(text string) error {
	if text == "" {
		return nil
	}
	var c cursor
	if !listquery.DecodeCursor(text, &c) || !bookcatalog.ValidID(c.ID) {
		return badField("cursor", "invalid cursor: use one from the Link header, or send cursor= to begin")
	}
	if c.Order != fmt.Sprint(l.query.Sort) {
		return badField("cursor", "cursor of another order: send the same sortby, or cursor= to begin")
	}
	b := &bookcatalog.Book{
		ID: c.ID, Title: c.Title, ISBN13: c.ISBN13, PublishedYear: c.Year, CreatedAt: c.Created, UpdatedAt: c.Updated,
	}
	if c.FirstName != "" || c.LastName != "" {
		b.Author = &bookcatalog.Author{FirstName: c.FirstName, LastName: c.LastName}
	}
	l.query.After = b
	return nil
}
