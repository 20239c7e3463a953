package bookcatalog

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
)

// MaxMemBytes is the memory in bytes, about, that the books of a [MemStore] may take: some 100,000
// books with a few authors. A change beyond it fails with an error of the kind Full.
const MaxMemBytes = 128 << 20

// MemStore is a [Store] in memory. Create it with [NewMemStore].
type MemStore struct {
	mu     sync.RWMutex
	size   int64 // of all books in bytes, about
	books  map[string]*Book
	byISBN map[string]string // ISBN13 to id
}

// NewMemStore returns an empty store.
func NewMemStore() *MemStore {
	return &MemStore{books: map[string]*Book{}, byISBN: map[string]string{}}
}

// Create adds a book.
func (s *MemStore) Create(ctx context.Context, b *Book) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.books[b.ID]; taken {
		return DuplicateID(b.ID)
	}
	if err := s.makeRoom(size(b)); err != nil {
		return err
	}
	if err := s.claim(b); err != nil {
		return err
	}
	s.size += size(b)
	s.books[b.ID] = b.Clone()
	return nil
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
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.at(b.ID, version)
	if err != nil {
		return err
	}
	grows := size(b) - size(old)
	if err := s.makeRoom(grows); err != nil {
		return err
	}
	if err := s.claim(b); err != nil {
		return err
	}
	s.size += grows
	if old.ISBN13 != b.ISBN13 {
		delete(s.byISBN, old.ISBN13)
	}
	s.books[b.ID] = b.Clone()
	return nil
}

// Delete removes a version of a book.
func (s *MemStore) Delete(ctx context.Context, id string, version int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.at(id, version)
	if err != nil {
		return err
	}
	s.size -= size(old)
	delete(s.byISBN, old.ISBN13)
	delete(s.books, id)
	return nil
}

// List returns the books that match a query.
func (s *MemStore) List(ctx context.Context, q *Query) ([]Book, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	selected, total := q.choose(s.all())
	page := make([]Book, len(selected))
	for i, b := range selected {
		page[i] = *b.Clone()
	}
	return page, total, nil
}

// all returns all books. Stored books are replaced and never modified.
func (s *MemStore) all() []*Book {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.AppendSeq(make([]*Book, 0, len(s.books)), maps.Values(s.books))
}

// at returns a book if it has the version.
func (s *MemStore) at(id string, version int64) (*Book, error) {
	b, ok := s.books[id]
	switch {
	case !ok:
		return nil, ErrNotFound
	case b.Version != version:
		return nil, ErrStale
	}
	return b, nil
}

// claim reserves the ISBN for the book.
func (s *MemStore) claim(b *Book) error {
	if b.ISBN13 == "" {
		return nil
	}
	if owner, taken := s.byISBN[b.ISBN13]; taken && owner != b.ID {
		return DuplicateISBN(b.ISBN13)
	}
	s.byISBN[b.ISBN13] = b.ID
	return nil
}

// makeRoom returns an error if the store can't grow by so many bytes.
func (s *MemStore) makeRoom(grows int64) error {
	if grows > 0 && s.size+grows > MaxMemBytes {
		return &Error{Kind: Full, Message: "The catalog has no space left: delete books, or store them in a database"}
	}
	return nil
}

// size returns the memory in bytes, about, that a book takes.
func size(b *Book) int64 {
	text, _ := json.Marshal(b)
	return int64(1024 + len(text))
}
