package bookcatalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// noon is the creation time of all books of these tests.
var noon = time.Date(2026, 1, 31, 13, 0, 0, 123456789, time.FixedZone("", 3600))

func catalog(opts *bookcatalog.Options) *bookcatalog.Catalog {
	if opts == nil {
		opts = &bookcatalog.Options{}
	}
	opts.Now = func() time.Time { return noon }
	return bookcatalog.New(bookcatalog.NewMemStore(), opts)
}

func TestAdd(t *testing.T) {
	t.Parallel()
	c := catalog(nil)
	draft := &bookcatalog.Book{
		ID: "mine", Version: 7, ISBN13: "x", ISBN: "0-14-143958-0", Title: "Emma", CreatedAt: time.Unix(0, 0),
		Author: &bookcatalog.Author{FirstName: "Jane", LastName: "Austen"},
	}
	b, err := c.Add(t.Context(), draft)
	if err != nil {
		t.Fatal(err)
	}
	if !bookcatalog.ValidID(b.ID) || b.Version != 1 || b.ISBN != "0-14-143958-0" || b.ISBN13 != "9780141439587" ||
		b.CreatedAt.Format(time.RFC3339Nano) != "2026-01-31T12:00:00.123456Z" || b.UpdatedAt != b.CreatedAt {
		t.Errorf("the fields that the catalog sets are wrong: %+v", b)
	}
	if draft.ID != "mine" {
		t.Error("the draft was changed")
	}
	got, err := c.Get(t.Context(), b.ID)
	if err != nil || got.Title != "Emma" || got.Author.LastName != "Austen" {
		t.Errorf("the catalog has %+v, %v", got, err)
	}
}

func TestAddDuplicate(t *testing.T) {
	t.Parallel()
	c := catalog(nil)
	for i, isbn := range []string{"0-14-143958-0", "978 0141439587"} {
		_, err := c.Add(t.Context(), &bookcatalog.Book{Title: "Emma", ISBN: isbn})
		if want := []bookcatalog.ErrorKind{0, bookcatalog.Conflict}[i]; bookcatalog.KindOf(err) != want {
			t.Errorf("%s: %v, want the kind %d", isbn, err, want)
		}
	}
}

func TestLenientISBN(t *testing.T) {
	t.Parallel()
	c := catalog(&bookcatalog.Options{LenientISBN: true})
	for _, isbn := range []string{"44412", "44412", "", "", "9780141439587"} {
		if b, err := c.Add(t.Context(), &bookcatalog.Book{Title: "x", ISBN: isbn}); err != nil || b.ISBN != isbn || (b.ISBN13 != "") != (len(isbn) == 13) {
			t.Errorf("ISBN %q: %+v, %v", isbn, b, err)
		}
	}
	if _, err := c.Add(t.Context(), &bookcatalog.Book{Title: "x", ISBN: "0141439580"}); bookcatalog.KindOf(err) != bookcatalog.Conflict {
		t.Errorf("a duplicate valid ISBN: %v", err)
	}
}

func TestValidation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 501)
	for want, b := range map[string]bookcatalog.Book{
		"": {
			Title: long[:1000], Author: &bookcatalog.Author{LastName: "O'Brien & <3", Born: "1911-10-05", Address: &bookcatalog.Address{Country: "IE"}},
			Language: "pt-BR", PublishedYear: -20, PriceMinor: 5, Currency: "EUR", Subjects: []string{"a"},
		},
		"title empty":                         {},
		"title 500 characters":                {Title: long},
		"title control":                       {Title: "a\nb"},
		"isbn check digit 8 instead of 7":     {Title: "x", ISBN: "9780141439588"},
		"author.lastname empty":               {Title: "x", Author: &bookcatalog.Author{FirstName: "a"}},
		"author.born date":                    {Title: "x", Author: &bookcatalog.Author{LastName: "a", Born: "1775"}},
		"authors[1].address.country ISO 3166": {Title: "x", Authors: []bookcatalog.Author{{LastName: "a"}, {LastName: "b", Address: &bookcatalog.Address{Country: "England"}}}},
		"authors 50 elements":                 {Title: "x", Authors: many(51)},
		"subjects[0] empty":                   {Title: "x", Subjects: []string{""}},
		"language BCP 47":                     {Title: "x", Language: "English!"},
		"pages at least 0":                    {Title: "x", Pages: -1},
		"published_year at most 9999":         {Title: "x", PublishedYear: 10000},
		"currency price_minor":                {Title: "x", PriceMinor: 5},
		"currency ISO 4217":                   {Title: "x", PriceMinor: 5, Currency: "EURO"},
		"title control; pages at least 0":     {Title: " ", Pages: -1},
	} {
		_, err := catalog(nil).Add(t.Context(), &b)
		var fields []bookcatalog.FieldError
		if e, ok := errors.AsType[*bookcatalog.Error](err); ok && e.Kind == bookcatalog.Invalid {
			fields = e.Fields
		}
		var parts []string // each a field and a key word of its reason
		if want != "" {
			parts = strings.Split(want, "; ")
		}
		if !slices.EqualFunc(fields, parts, func(f bookcatalog.FieldError, part string) bool {
			field, word, _ := strings.Cut(part, " ")
			return f.Field == field && strings.Contains(f.Reason, word) && strings.Contains(err.Error(), f.Reason)
		}) || (err == nil) != (want == "") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func many(n int) []bookcatalog.Author {
	authors := make([]bookcatalog.Author, n)
	for i := range authors {
		authors[i].LastName = "x"
	}
	return authors
}

func TestReplace(t *testing.T) {
	t.Parallel()
	c := catalog(nil)
	b, err := c.Add(t.Context(), &bookcatalog.Book{Title: "Emma", ISBN: "0141439580", Pages: 7})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := c.Replace(t.Context(), b.ID, &bookcatalog.Book{ID: "other", Title: "Emma II"}, nil)
	if err != nil || changed.ID != b.ID || changed.Version != 2 || changed.Pages != 0 || changed.ISBN13 != "" || changed.CreatedAt != b.CreatedAt {
		t.Errorf("replaced by %+v, %v", changed, err)
	}
	refusal := errors.New("refused")
	refuse := func(old *bookcatalog.Book) error { return fmt.Errorf("version %d: %w", old.Version, refusal) }
	if _, err := c.Replace(t.Context(), b.ID, changed, refuse); !errors.Is(err, refusal) || !strings.HasPrefix(err.Error(), "version 2") {
		t.Errorf("a refusal gives %v", err)
	}
	if err := c.Remove(t.Context(), b.ID, refuse); !errors.Is(err, refusal) {
		t.Errorf("a refusal gives %v", err)
	}
	if _, err := c.Replace(t.Context(), b.ID, &bookcatalog.Book{}, nil); bookcatalog.KindOf(err) != bookcatalog.Invalid {
		t.Errorf("a bad draft gives %v", err)
	}
	if err := c.Remove(t.Context(), b.ID, nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Replace(t.Context(), b.ID, changed, nil); bookcatalog.KindOf(err) != bookcatalog.NotFound {
		t.Errorf("a book that is gone gives %v", err)
	}
}

// TestParallelWriters checks that none of many changes of one book is lost, and that each
// check gets the version that its writer replaces.
func TestParallelWriters(t *testing.T) {
	t.Parallel()
	c := catalog(nil)
	b, err := c.Add(t.Context(), &bookcatalog.Book{Title: "0"})
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 20
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				if _, err := c.Replace(context.Background(), b.ID, &bookcatalog.Book{Title: "x"}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, err := c.Get(t.Context(), b.ID); err != nil || got.Version != 1+writers*each {
		t.Errorf("the version is %d, %v; want %d", got.Version, err, 1+writers*each)
	}
}

// contested is a store in which somebody else is always faster.
type contested struct{ bookcatalog.Store }

func (contested) Replace(context.Context, *bookcatalog.Book, int64) error {
	return bookcatalog.ErrStale
}

func TestReplaceGivesUp(t *testing.T) {
	t.Parallel()
	c := bookcatalog.New(contested{bookcatalog.NewMemStore()}, nil)
	b, err := c.Add(t.Context(), &bookcatalog.Book{Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Replace(t.Context(), b.ID, b, nil); !errors.Is(err, bookcatalog.ErrStale) {
		t.Errorf("got %v, want ErrStale", err)
	}
}

func TestValidID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f":   true,
		"":                                       false,
		"1":                                      false,
		"{018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f}": false,
		"urn:uuid:018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f": false,
		"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0g":          false,
	} {
		if got := bookcatalog.ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %v", id, got)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := &bookcatalog.Error{Kind: bookcatalog.Conflict, Message: "no", Err: cause}
	if !errors.Is(err, cause) || err.Error() != "no: cause" || bookcatalog.KindOf(fmt.Errorf("x: %w", err)) != bookcatalog.Conflict {
		t.Errorf("the error is %v", err)
	}
}
