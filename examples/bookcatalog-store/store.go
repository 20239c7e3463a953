package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// fileStore is a MemStore that writes all books to a file after each change.
type fileStore struct {
	*bookcatalog.MemStore
	mu   sync.Mutex // serializes changes, so that the file contains every acknowledged change
	path string
}

// open reads the books from the file, if it exists.
func open(ctx context.Context, path string) (*fileStore, error) {
	s := &fileStore{MemStore: bookcatalog.NewMemStore(), path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var books []bookcatalog.Book
	if err := json.Unmarshal(data, &books); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range books {
		if err := s.MemStore.Create(ctx, &books[i]); err != nil {
			return nil, fmt.Errorf("%s: book %d: %w", path, i+1, err)
		}
	}
	return s, nil
}

func (s *fileStore) Create(ctx context.Context, b *bookcatalog.Book) error {
	return s.change(ctx, func() error { return s.MemStore.Create(ctx, b) })
}

func (s *fileStore) Replace(ctx context.Context, b *bookcatalog.Book, version int64) error {
	return s.change(ctx, func() error { return s.MemStore.Replace(ctx, b, version) })
}

func (s *fileStore) Delete(ctx context.Context, id string, version int64) error {
	return s.change(ctx, func() error { return s.MemStore.Delete(ctx, id, version) })
}

// change applies a change and replaces the file atomically. If writing fails, the change stays in
// memory, and the next change writes it.
func (s *fileStore) change(ctx context.Context, apply func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := apply(); err != nil {
		return err
	}
	books, _, err := s.List(context.WithoutCancel(ctx), &bookcatalog.Query{})
	data, _ := json.Marshal(books) // a slice of books can always be encoded
	if err = errors.Join(err, os.WriteFile(s.path+".new", data, 0o600)); err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path)
}
