package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// cursor is a place in a list: the sort order, and the last book's keys in it.
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

// order names the sort order of a query.
func order(q *bookcatalog.Query) string { return fmt.Sprint(q.Sort) }

// place is the cursor that follows a book.
func (l *request) place(b *bookcatalog.Book) string {
	c := cursor{Order: order(&l.query), ID: b.ID}
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
	data, _ := json.Marshal(c) // texts, numbers, and times of this age
	return base64.RawURLEncoding.EncodeToString(data)
}

// after continues behind the place of a cursor. An empty one is the beginning.
func (l *request) after(text string) error {
	if text == "" {
		return nil
	}
	var c cursor
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&c)
	}
	if err != nil || !bookcatalog.ValidID(c.ID) {
		return badField("cursor", "is none of this list: take it from the Link header, or send cursor= to begin")
	}
	if c.Order != order(&l.query) {
		return badField("cursor", "belongs to another order: send the sortby it was made with, or cursor= to begin")
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
