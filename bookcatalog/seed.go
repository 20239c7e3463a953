package bookcatalog

import "context"

// samples returns example books.
func samples() []Book {
	return []Book{
		{
			Title: "Emma", ISBN: "978-0-14-143958-7", PublishedYear: 1815, Language: "en", Pages: 512,
			Author: &Author{
				FirstName: "Jane", LastName: "Austen", Born: "1775-12-16",
				Address: &Address{City: "Chawton", Region: "Hampshire", Country: "GB"},
			},
			Publisher: "Penguin Classics", Subjects: []string{"Novel", "Comedy of manners"}, PriceMinor: 899, Currency: "GBP",
		},
		{
			Title: "At Swim-Two-Birds", ISBN: "1-56478-181-X", PublishedYear: 1939, Language: "en",
			Author: &Author{FirstName: "Flann", LastName: "O'Brien"}, Subjects: []string{"Novel"},
		},
		{
			Title: "Beowulf", ISBN: "0-393-32097-9", PublishedYear: 1999, Language: "en",
			Authors: []Author{{FirstName: "Seamus", LastName: "Heaney"}}, Subjects: []string{"Epic"},
		},
	}
}

// Seed adds a few example books to an empty catalog. It does nothing if there are books.
func (c *Catalog) Seed(ctx context.Context) error {
	_, total, err := c.List(ctx, &Query{Limit: 1})
	if err != nil || total > 0 {
		return err
	}
	for _, b := range samples() {
		if _, err := c.Add(ctx, &b); err != nil {
			return err
		}
	}
	return nil
}
