// Command bookcatalogd serves the book catalog over HTTP.
//
//	go run ./cmd/bookcatalogd -seed
//	curl localhost:8000/api/books
//
// http://localhost:8000/docs/ describes the API.
//
// Books are stored in memory, or in a SQLite file:
//
//	go run ./cmd/bookcatalogd -db books.db -p 9000
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("bookcatalogd", run) }
