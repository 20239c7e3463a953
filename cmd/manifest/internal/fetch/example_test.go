package fetch_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/ashlar-go/ashlar/cmd/manifest/internal/fetch"
	"github.com/ashlar-go/ashlar/manifest"
)

// A file is installed only if it has the right SHA-256.
func ExampleDownload() {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a bundle"))
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "fetch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weather.mcpb")

	// By default connections to this machine are refused.
	file := manifest.File{URL: server.URL, SHA256: hex.EncodeToString(make([]byte, 32))}
	err = fetch.Download(context.Background(), file, path, nil)
	var refused *fetch.RefusedError
	fmt.Println("refused:", errors.As(err, &refused))

	opts := &fetch.Options{AllowPrivate: true, TLS: server.Client().Transport.(*http.Transport).TLSClientConfig}
	err = fetch.Download(context.Background(), file, path, opts)
	var wrong *fetch.SumError
	fmt.Println("another file:", errors.As(err, &wrong))

	sum := sha256.Sum256([]byte("a bundle"))
	file.SHA256 = hex.EncodeToString(sum[:])
	fmt.Println("error:", fetch.Download(context.Background(), file, path, opts))
	data, err := os.ReadFile(path)
	fmt.Println(string(data), err)
	// Output:
	// refused: true
	// another file: true
	// error: <nil>
	// a bundle <nil>
}
