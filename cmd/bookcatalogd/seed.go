package main

import (
	"context"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// samples are a few books to look at.
func samples() []bookcatalog.Book {
	return []bookcatalog.Book{
		{
			Title: "Emma", ISBN: "978-0-14-143958-7", PublishedYear: 1815, Language: "en", Pages: 512,
			Author: &bookcatalog.Author{
				FirstName: "Jane", LastName: "Austen", Born: "1775-12-16",
				Address: &bookcatalog.Address{City: "Chawton", Region: "Hampshire", Country: "GB"},
			},
			Publisher: "Penguin Classics", Subjects: []string{"Novel", "Comedy of manners"}, PriceMinor: 899, Currency: "GBP",
		},
		{
			Title: "At Swim-Two-Birds", ISBN: "1-56478-181-X", PublishedYear: 1939, Language: "en",
			Author: &bookcatalog.Author{FirstName: "Flann", LastName: "O'Brien"}, Subjects: []string{"Novel"},
		},
		{
			Title: "Beowulf", ISBN: "0-393-32097-9", PublishedYear: 1999, Language: "en",
			Authors: []bookcatalog.Author{{FirstName: "Seamus", LastName: "Heaney"}}, Subjects: []string{"Epic"},
		},
	}
}

// seed adds the samples to a catalog that has no books.
func seed(ctx context.Context, store bookcatalog.Store) error {
	catalog := bookcatalog.New(store, nil)
	_, total, err := catalog.List(ctx, &bookcatalog.Query{Limit: 1})
	if err != nil || total > 0 {
		return err
	}
	for _, b := range samples() {
		if _, err := catalog.Add(ctx, &b); err != nil {
			return err
		}
	}
	return nil
}
