package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// The columns of a book, and of its keys. [fields] and [values] use this order.
const (
	columns = `id, isbn, isbn13, title, author, authors, publisher, published_year, language, pages, subjects,
		price_minor, currency, created_at, updated_at, version`
	keyColumns = "title_key, author_key, authors_key, text_key, subjects_key"
)

// fields returns pointers to the fields of a book, to read and to write the columns.
func fields(b *bookcatalog.Book) []any {
	return []any{
		&b.ID, &b.ISBN, &b.ISBN13, &b.Title,
		document{&b.Author},
		document{&b.Authors},
		&b.Publisher, &b.PublishedYear, &b.Language, &b.Pages,
		document{&b.Subjects},
		&b.PriceMinor, &b.Currency,
		micros{&b.CreatedAt},
		micros{&b.UpdatedAt},
		&b.Version,
	}
}

// values returns the values of all columns, and a parameter for each.
func values(b *bookcatalog.Book) (all []any, parameters string) {
	k := bookcatalog.KeysOf(b)
	all = append(fields(b), k.Title, k.Author, k.Authors, k.Text, k.Subjects)
	return all, strings.Repeat("?, ", len(all)-1) + "?"
}

// document is a pointer to a value whose column contains JSON.
type document struct{ to any }

// Value returns the JSON.
func (d document) Value() (driver.Value, error) {
	text, err := json.Marshal(d.to)
	return string(text), err
}

// Scan reads the JSON.
func (d document) Scan(column any) error {
	text, _ := column.(string) // an empty text is not JSON
	return json.Unmarshal([]byte(text), d.to)
}

// micros is a pointer to a time whose column contains microseconds since 1970.
type micros struct{ to *time.Time }

// Value returns the microseconds.
func (m micros) Value() (driver.Value, error) { return m.to.UnixMicro(), nil }

// Scan reads the microseconds.
func (m micros) Scan(column any) error {
	n, ok := column.(int64)
	if !ok {
		return fmt.Errorf("the column has a %T, not an integer", column)
	}
	*m.to = time.UnixMicro(n).UTC()
	return nil
}
