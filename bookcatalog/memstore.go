package bookcatalog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// MaxMemBytes limits the approximate memory of the books of a [MemStore] in bytes: some 100,000
// books with a few authors. A change beyond it fails with an error of the kind Full.
const MaxMemBytes = 128 << 20

// MemStore is a [Store] in memory. Create it with [NewMemStore].
type MemStore struct {
	mu     sync.RWMutex
	size   int64 // approximate memory of all books in bytes
	books  map[string]*Book
	byISBN map[string]string // ISBN13 to id; without the empty one
}

// NewMemStore returns an empty store.
func NewMemStore() *MemStore {
	return &MemStore{books: map[string]*Book{}, byISBN: map[string]string{}}
}

// Create adds a book.
func (s *MemStore) Create(ctx context.Context, b *Book) error {
	return s.change(ctx, b.ID, nil, b)
}

// Get returns a book.
func (s *MemStore) Get(ctx context.Context, id string) (*Book, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.books[id]
	if !ok {
		return nil, ErrNotFound
	}
	return b.Clone(), nil
}

// Replace replaces a version of a book.
func (s *MemStore) Replace(ctx context.Context, b *Book, version int64) error {
	return s.change(ctx, b.ID, &version, b)
}

// Delete removes a version of a book.
func (s *MemStore) Delete(ctx context.Context, id string, version int64) error {
	return s.change(ctx, id, &version, nil)
}

// change replaces a version of the book with an id by b, or deletes it if b is nil. If version is
// nil, it creates the book.
func (s *MemStore) change(ctx context.Context, id string, version *int64, b *Book) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.books[id]
	switch {
	case version == nil && old != nil:
		return Duplicate("id", id)
	case version != nil && old == nil:
		return ErrNotFound
	case version != nil && old.Version != *version:
		return ErrStale
	}
	grows := size(b) - size(old)
	if grows > 0 && s.size+grows > MaxMemBytes {
		return &Error{Kind: Full, Message: "The catalog has no space left: delete books, or store them in a database"}
	}
	if b != nil {
		if owner, used := s.byISBN[b.ISBN13]; used && owner != id {
			return Duplicate("isbn", b.ISBN13)
		}
	}
	s.size += grows
	if old != nil {
		delete(s.byISBN, old.ISBN13)
	}
	if b == nil {
		delete(s.books, id)
		return nil
	}
	if b.ISBN13 != "" {
		s.byISBN[b.ISBN13] = id
	}
	s.books[id] = b.Clone()
	return nil
}

// size returns the approximate memory of a book in bytes.
func size(b *Book) int64 {
	if b == nil {
		return 0
	}
	text, _ := json.Marshal(b)
	return int64(1024 + len(text))
}

// List returns the books that match a query.
func (s *MemStore) List(ctx context.Context, q *Query) ([]Book, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.RLock()
	all := slices.Collect(maps.Values(s.books)) // stored books are replaced and never modified
	s.mu.RUnlock()
	selected, total := q.Select(all)
	page := make([]Book, len(selected))
	for i, b := range selected {
		page[i] = *b.Clone()
	}
	return page, total, nil
}
