package bookcatalog

import (
	"slices"
	"time"
)

// Book is a record of the catalog. The catalog sets ID, ISBN13, CreatedAt, UpdatedAt and Version,
// and ignores what a client sends for them.
//
// Strings contain no control characters. Their limits are in characters.
type Book struct {
	ID string `json:"id"` // a UUID

	// ISBN is the client's spelling: ten or thirteen digits, with or without spaces and
	// hyphens. It may be empty.
	ISBN string `json:"isbn" validate:"max=32,line"`
	// ISBN13 is its form of thirteen digits, unique in the catalog, or empty without a valid
	// ISBN.
	ISBN13 string `json:"isbn13,omitempty"`

	Title         string   `json:"title" validate:"required,max=500,line"` // required
	Author        *Author  `json:"author" validate:"omitempty"`
	Authors       []Author `json:"authors,omitempty" validate:"max=50,dive"` // in addition to Author
	Publisher     string   `json:"publisher,omitempty" validate:"max=200,line"`
	PublishedYear int      `json:"published_year,omitempty" validate:"min=-3000,max=9999"` // 0 if unknown
	Language      string   `json:"language,omitempty" validate:"omitempty,max=35,bcp47_language_tag"`
	Pages         int      `json:"pages,omitempty" validate:"min=0,max=100000"` // 0 if unknown
	Subjects      []string `json:"subjects,omitempty" validate:"max=50,dive,required,max=100,line"`

	// PriceMinor is in the smallest unit of Currency, an ISO 4217 code: 1299 EUR is 12.99 euros.
	// Each requires the other.
	PriceMinor int64  `json:"price_minor,omitempty" validate:"min=0,max=1000000000"`
	Currency   string `json:"currency,omitempty" validate:"required_with=PriceMinor,omitempty,iso4217"`

	CreatedAt time.Time `json:"created_at,omitzero"` // in UTC
	UpdatedAt time.Time `json:"updated_at,omitzero"` // in UTC
	Version   int64     `json:"version"`             // starts at 1 and increases with each change
}

// Author is an author of a book.
type Author struct {
	ID        string   `json:"id,omitempty" validate:"max=100,line"` // chosen by the client
	FirstName string   `json:"firstname" validate:"max=100,line"`
	LastName  string   `json:"lastname" validate:"required,max=100,line"`               // required
	Born      string   `json:"born,omitempty" validate:"omitempty,datetime=2006-01-02"` // a date
	Address   *Address `json:"address,omitempty" validate:"omitempty"`
}

// Address is the address of an author.
type Address struct {
	Street   string `json:"street,omitempty" validate:"max=200,line"`
	City     string `json:"city,omitempty" validate:"max=100,line"`
	Region   string `json:"region,omitempty" validate:"max=100,line"`
	Postcode string `json:"postcode,omitempty" validate:"max=20,line"`
	Country  string `json:"country,omitempty" validate:"omitempty,iso3166_1_alpha2"` // such as GB
}

// Clone returns a deep copy.
func (b *Book) Clone() *Book {
	c := *b
	if b.Author != nil {
		c.Author = new(b.Author.clone())
	}
	c.Subjects = slices.Clone(b.Subjects)
	c.Authors = slices.Clone(b.Authors)
	for i := range c.Authors {
		c.Authors[i] = c.Authors[i].clone()
	}
	return &c
}

func (a Author) clone() Author {
	if a.Address != nil {
		a.Address = new(*a.Address)
	}
	return a
}
