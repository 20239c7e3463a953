// Command bookcatalog-store keeps the book catalog in one JSON file. A store is five methods,
// and bookcatalog/storetest says whether they are right.
//
//	go run ./examples/bookcatalog-store
//	curl localhost:8002/api/books -d '{"title":"Emma"}' -H 'Content-Type: application/json'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
)

// fileStore lets a MemStore do the work, and writes down what it has afterwards.
type fileStore struct {
	*bookcatalog.MemStore
	mu   sync.Mutex // one change at a time, so that the file is never older than an answer
	path string
}

func open(ctx context.Context, path string) (*fileStore, error) {
	s := &fileStore{MemStore: bookcatalog.NewMemStore(), path: path}
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return s, nil
	}
	var books []bookcatalog.Book
	if err == nil {
		err = json.Unmarshal(data, &books)
	}
	for i := 0; err == nil && i < len(books); i++ {
		err = s.MemStore.Create(ctx, &books[i])
	}
	return s, err
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

// change writes to another file first: the old one is whole until the new one is.
func (s *fileStore) change(ctx context.Context, apply func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := apply(); err != nil {
		return err
	}
	books, _, err := s.List(context.WithoutCancel(ctx), &bookcatalog.Query{})
	data, _ := json.Marshal(books) // texts, numbers and times
	if err = errors.Join(err, os.WriteFile(s.path+".new", data, 0o600)); err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path)
}

func main() {
	store, err := open(context.Background(), "books.json")
	if err != nil {
		log.Fatal(err)
	}
	server := http.Server{Addr: "localhost:8002", Handler: httpapi.NewHandler(store, nil), ReadHeaderTimeout: time.Minute}
	log.Fatal(server.ListenAndServe())
}
