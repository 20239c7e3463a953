package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// id is the nth id.
func id(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// isbn is the nth valid ISBN of thirteen digits.
func isbn(n int) string {
	body := fmt.Sprintf("978%09d", n)
	for digit := range 10 {
		if whole := fmt.Sprintf("%s%d", body, digit); valid(whole) {
			return whole
		}
	}
	panic("there is no check digit for " + body) // one of ten always fits
}

func valid(isbn string) bool {
	_, err := bookcatalog.ParseISBN(isbn)
	return err == nil
}

// epoch is when the first book was made.
func epoch() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC) }

// full is a book that has everything there is.
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

// plain is a book that has little more than a title.
func plain(n int, title string) *bookcatalog.Book {
	return &bookcatalog.Book{ID: id(n), Title: title, Version: 1, CreatedAt: epoch(), UpdatedAt: epoch()}
}

// same compares books by all their fields. Times are compared by what they show, so
// that they must be in UTC.
func same(got, want *bookcatalog.Book) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	return fmt.Errorf("got the book %s, want %s", a, b)
}

// isKind says what is wrong with an error that should be of a kind.
func isKind(what string, err error, kind bookcatalog.ErrorKind) error {
	if got := bookcatalog.KindOf(err); got != kind || err == nil {
		return fmt.Errorf("%s: the error is %v (kind %d), want one of kind %d", what, err, got, kind)
	}
	return nil
}
