package main

import (
	"bytes"
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/catalog"
)

// sampleServers are made-up manifests, one a line.
//
//go:embed sample/servers.ndjson
var sampleServers []byte

// registryPath is the path of the registry on the landing page's port.
const registryPath = "/registry"

// newRegistry returns a read-only registry of the sample, with its pages, for paths below registryPath. It logs
// nothing: the landing page logs each request, with the path as it was sent.
func newRegistry(ctx context.Context, hosts *httpx.Hosts) (http.Handler, error) {
	entries, _, err := registry.ReadEntries(bytes.NewReader(sampleServers))
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Publish(time.Now().Add(-time.Duration(i) * 24 * time.Hour))
	}
	store := registry.NewMemStore(nil)
	if err := store.Mirrored(ctx, entries, nil); err != nil {
		return nil, err
	}
	pages, err := catalog.New(store, &catalog.Options{Prefix: registryPath, Docs: true})
	if err != nil {
		return nil, err
	}
	return http.StripPrefix(registryPath, registry.NewHandler(store, &registry.Options{
		Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler), Hosts: hosts}, Docs: apidocs.New(&apidocs.Options{Title: "MCP registry"}), Pages: pages,
	})), nil
}
