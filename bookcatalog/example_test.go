package bookcatalog_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// The code of the package comment without its HTTP part, which is an example of package httpapi.
func Example() {
	ctx := context.Background()
	catalog := bookcatalog.New(bookcatalog.NewMemStore(), &bookcatalog.Options{
		Now: func() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) },
	})
	emma, err := catalog.Add(ctx, &bookcatalog.Book{
		Title:  "Emma",
		ISBN:   "0-14-143958-0",
		Author: &bookcatalog.Author{FirstName: "Jane", LastName: "Austen"},
	})
	fmt.Println(err, emma.ISBN13, emma.Version, emma.CreatedAt.Year())

	_, err = catalog.Add(ctx, &bookcatalog.Book{Title: "Emma again", ISBN: "978-0-14-143958-7"})
	fmt.Println(bookcatalog.KindOf(err) == bookcatalog.Conflict, err)
	_, err = catalog.Add(ctx, &bookcatalog.Book{ISBN: "0-14-143958-1"})
	fmt.Println(bookcatalog.KindOf(err) == bookcatalog.Invalid, err)

	emma, err = catalog.Replace(ctx, emma.ID, &bookcatalog.Book{Title: "Emma, revised"}, func(old *bookcatalog.Book) error {
		fmt.Println("replacing version", old.Version, "of", old.Title)
		return nil
	})
	fmt.Println(err, emma.Version, emma.Title)
	// Output:
	// <nil> 9780141439587 1 2026
	// true A book with the ISBN 9780141439587 already exists
	// true Invalid book: title must not be empty; isbn has check digit 1 instead of 0: look for a typing error
	// replacing version 1 of Emma
	// <nil> 2 Emma, revised
}

// ParseISBN accepts several spellings, returns one, and reports typing errors.
func ExampleParseISBN() {
	for _, text := range []string{"0-14-143958-0", "978 0 14 143958 7", "0-8044-2957-X", "0-14-143985-0"} {
		isbn, err := bookcatalog.ParseISBN(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(isbn)
	}
	// Output:
	// 9780141439587
	// 9780141439587
	// 9780804429573
	// has check digit 0 instead of 8: look for a typing error
}
