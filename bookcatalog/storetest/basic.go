package storetest

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

func basicCases() []Case {
	return []Case{
		{"basic/keeps", "a book comes back as it was given, or clients lose what they sent", checkKeeps},
		{"basic/plain", "what a book does not have must not come to be, such as an empty author", checkPlain},
		{"basic/absent", "an id that is not there is an answer and not a failure", checkAbsent},
		{"basic/duplicates", "two books with one ISBN can't be told apart by those who order them", checkDuplicates},
		{"basic/no isbn", "books without a valid ISBN do not come in each other's way", checkNoISBN},
		{"basic/replace", "a change replaces all of a book and nothing else", checkReplace},
		{"basic/stale", "a change of an old version would undo what somebody else has done", checkStale},
		{"basic/frees isbn", "an ISBN that no book has any more may be given again", checkFreesISBN},
		{"basic/copies", "what callers do to a book afterwards must not change what is kept", checkCopies},
		{"basic/canceled", "a call whose caller has gone must not change anything", checkCanceled},
	}
}

// has says what is wrong with what the store has for the book's id.
func has(ctx context.Context, s bookcatalog.Store, want *bookcatalog.Book) error {
	got, err := s.Get(ctx, want.ID)
	if err != nil {
		return fmt.Errorf("get %s: %w", want.ID, err)
	}
	return same(got, want)
}

func create(ctx context.Context, s bookcatalog.Store, books ...*bookcatalog.Book) error {
	for _, b := range books {
		if err := s.Create(ctx, b); err != nil {
			return fmt.Errorf("create %s: %w", b.ID, err)
		}
	}
	return nil
}

func checkKeeps(ctx context.Context, s bookcatalog.Store) error {
	return first(
		func() error { return create(ctx, s, full(1), full(2)) },
		func() error { return has(ctx, s, full(1)) },
		func() error { return has(ctx, s, full(2)) },
		func() error { return lists(ctx, s, &bookcatalog.Query{}, 2, full(1), full(2)) },
	)
}

func checkPlain(ctx context.Context, s bookcatalog.Store) error {
	return first(
		func() error { return create(ctx, s, plain(1, "x")) },
		func() error { return has(ctx, s, plain(1, "x")) },
		func() error { return lists(ctx, s, &bookcatalog.Query{}, 1, plain(1, "x")) },
	)
}

func checkAbsent(ctx context.Context, s bookcatalog.Store) error {
	_, err := s.Get(ctx, id(1))
	return first(
		func() error { return isKind("get", err, bookcatalog.NotFound) },
		func() error { return isKind("replace", s.Replace(ctx, full(1), 1), bookcatalog.NotFound) },
		func() error { return isKind("delete", s.Delete(ctx, id(1), 1), bookcatalog.NotFound) },
		func() error { return lists(ctx, s, &bookcatalog.Query{}, 0) },
	)
}

func checkDuplicates(ctx context.Context, s bookcatalog.Store) error {
	second, third := full(2), full(3)
	second.ISBN, second.ISBN13 = isbn(1), isbn(1)
	sameID := full(1)
	sameID.ISBN, sameID.ISBN13 = isbn(9), isbn(9)
	return first(
		func() error { return create(ctx, s, full(1), third) },
		func() error {
			return isKind("create with an ISBN that is taken", s.Create(ctx, second), bookcatalog.Conflict)
		},
		func() error {
			return isKind("create with an id that is taken", s.Create(ctx, sameID), bookcatalog.Conflict)
		},
		func() error {
			third.ISBN13 = isbn(1)
			return isKind("replace with an ISBN that is taken", s.Replace(ctx, third, 1), bookcatalog.Conflict)
		},
		func() error { return lists(ctx, s, &bookcatalog.Query{}, 2, full(1), full(3)) },
		func() error { return create(ctx, s, withISBN(plain(4, "x"), isbn(9))) },
	)
}

func withISBN(b *bookcatalog.Book, isbn string) *bookcatalog.Book {
	b.ISBN, b.ISBN13 = isbn, isbn
	return b
}

func checkNoISBN(ctx context.Context, s bookcatalog.Store) error {
	free := func(n int) *bookcatalog.Book {
		b := plain(n, "x")
		b.ISBN = "44412"
		return b
	}
	return first(
		func() error { return create(ctx, s, free(1), free(2), plain(3, "y"), plain(4, "y")) },
		func() error { return lists(ctx, s, &bookcatalog.Query{ISBN: "44412"}, 2, free(1), free(2)) },
	)
}

// version is a book with another version.
func version(b *bookcatalog.Book, v int64) *bookcatalog.Book {
	b.Version = v
	return b
}

func checkReplace(ctx context.Context, s bookcatalog.Store) error {
	return first(
		func() error { return create(ctx, s, full(1), full(2)) },
		func() error { return s.Replace(ctx, version(plain(1, "bare"), 2), 1) },
		func() error { return has(ctx, s, version(plain(1, "bare"), 2)) },
		func() error { return s.Replace(ctx, version(full(1), 3), 2) },
		func() error { return has(ctx, s, version(full(1), 3)) },
		func() error { return has(ctx, s, full(2)) },
		func() error { return s.Delete(ctx, id(1), 3) },
		func() error { return lists(ctx, s, &bookcatalog.Query{}, 1, full(2)) },
	)
}

func checkStale(ctx context.Context, s bookcatalog.Store) error {
	return first(
		func() error { return create(ctx, s, version(full(1), 2)) },
		func() error {
			return isKind("replace an old version", s.Replace(ctx, version(full(1), 2), 1), bookcatalog.Stale)
		},
		func() error {
			return isKind("replace a version to come", s.Replace(ctx, version(full(1), 4), 3), bookcatalog.Stale)
		},
		func() error { return isKind("delete an old version", s.Delete(ctx, id(1), 1), bookcatalog.Stale) },
		func() error { return has(ctx, s, version(full(1), 2)) },
	)
}

func checkFreesISBN(ctx context.Context, s bookcatalog.Store) error {
	return first(
		func() error { return create(ctx, s, full(1), full(2)) },
		func() error { return s.Replace(ctx, version(plain(1, "bare"), 2), 1) },
		func() error { return s.Delete(ctx, id(2), 1) },
		func() error { return create(ctx, s, withISBN(full(3), isbn(1)), withISBN(full(4), isbn(2))) },
	)
}

func checkCopies(ctx context.Context, s bookcatalog.Store) error {
	given := full(1)
	if err := create(ctx, s, given); err != nil {
		return err
	}
	deface(given)
	got, err := s.Get(ctx, id(1))
	if err != nil {
		return err
	}
	deface(got)
	listed, _, err := s.List(ctx, &bookcatalog.Query{})
	if err != nil || len(listed) != 1 {
		return fmt.Errorf("list: %d books, %w", len(listed), err)
	}
	deface(&listed[0])
	return has(ctx, s, full(1))
}

// deface changes a book through all that can be shared.
func deface(b *bookcatalog.Book) {
	b.Title, b.Author.LastName, b.Author.Address.City = "?", "?", "?"
	b.Authors[0].LastName, b.Authors[1].Address.City, b.Subjects[0] = "?", "?", "?"
}

func checkCanceled(ctx context.Context, s bookcatalog.Store) error {
	if err := create(ctx, s, full(1)); err != nil {
		return err
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, getErr := s.Get(gone, id(1))
	_, _, listErr := s.List(gone, &bookcatalog.Query{})
	for what, err := range map[string]error{
		"create": s.Create(gone, full(2)), "replace": s.Replace(gone, version(plain(1, "x"), 2), 1),
		"delete": s.Delete(gone, id(1), 1), "get": getErr, "list": listErr,
	} {
		if err == nil {
			return fmt.Errorf("%s: no error although the context has ended", what)
		}
	}
	return lists(ctx, s, &bookcatalog.Query{}, 1, full(1))
}
