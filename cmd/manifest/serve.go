package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/catalog"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

// defineServe defines the command that serves files or a mirror as a read-only registry.
func defineServe(c *call) runner {
	addr := c.flags.String("addr", "127.0.0.1:8787", "`address` to listen on; port 0 picks a free one")
	allowed := c.flags.String("allowed-hosts", "", "comma-separated `names` in the Host header besides those of the machine; * allows all")
	from := c.flags.String("allowed-origins", strings.Join(httpx.LocalOrigins(), ","), "comma-separated web `origins` whose pages may use the API")
	return func(ctx context.Context) error {
		origins, err := httpx.NewOrigins(list(*from))
		if err != nil {
			return cli.Usagef("-allowed-origins: %w", err)
		}
		store, closeStore, err := c.openRegistry(ctx)
		if err != nil {
			return err
		}
		pages, err := catalog.New(store, &catalog.Options{Docs: true})
		if err != nil {
			return errors.Join(err, closeStore())
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
		if err != nil {
			return errors.Join(unreadable(fmt.Errorf("%w: choose another address with -addr, port 0 for any free one", err)), closeStore())
		}
		hosts, err := httpx.NewHosts(l.Addr(), &httpx.HostsOptions{Names: list(*allowed), Setting: "-allowed-hosts"})
		if err != nil {
			return errors.Join(cli.Usagef("-allowed-hosts: %w", err), l.Close(), closeStore())
		}
		log := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		handler := registry.NewHandler(store, &registry.Options{
			Chain: &httpx.StandardOptions{Log: log, Hosts: hosts, Origins: origins}, Docs: apidocs.New(&apidocs.Options{Title: "MCP registry"}), Pages: pages,
		})
		fmt.Fprintf(c.Stdout, "catalog  http://%[1]s/\nAPI      http://%[1]s/v0.1/servers\ndocs     http://%[1]s/docs/\n", l.Addr())
		return errors.Join(httpx.Serve(ctx, l, handler, &httpx.ServeOptions{Log: log}), closeStore())
	}
}

// list splits the value of a flag at commas.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return settings.Split(text)
}

// openRegistry returns a store with what the arguments name: a mirror, or any number of files.
func (c *call) openRegistry(ctx context.Context) (registry.Store, func() error, error) {
	if len(c.files) == 1 && isDatabase(c.files[0]) {
		store, err := sqlite.Open(ctx, c.files[0])
		if err != nil {
			return nil, nil, unreadable(err)
		}
		return store, store.Close, nil
	}
	if len(c.files) == 0 {
		return nil, nil, cli.Usagef("name files of manifests, directories, or one mirror")
	}
	store := registry.NewMemStore(nil)
	for _, arg := range c.files {
		if err := c.load(ctx, store, arg); err != nil {
			return nil, nil, err
		}
	}
	return store, func() error { return nil }, nil
}

// load reads the files that an argument names into a store.
func (c *call) load(ctx context.Context, store *registry.MemStore, arg string) error {
	paths, err := expandOne(arg)
	if err != nil {
		return err
	}
	total, left := 0, 0
	for _, path := range paths {
		entries, unreadable, err := readEntries(path)
		if err != nil {
			return err
		}
		if err := store.Mirrored(ctx, entries, nil); err != nil {
			return fmt.Errorf("%s: %w", cli.Printable(path), err)
		}
		total, left = total+len(entries), left+unreadable
	}
	fmt.Fprintf(c.Stderr, "%s: %s\n", cli.Printable(arg), cli.Count(total, "manifest"))
	if left > 0 {
		fmt.Fprintf(c.Stderr, "%s: %s without name or version left out\n", cli.Printable(arg), cli.Count(left, "document"))
	}
	return nil
}

// maxServed limits how much of a file is read, decompressed.
const maxServed = 2 << 30

// readEntries reads a file of manifests: one, one a line, or responses of a registry; compressed if its name ends in .gz.
// Manifests count as published when the file was changed.
func readEntries(path string) ([]registry.Entry, int, error) {
	if isDatabase(path) {
		return nil, 0, cli.Usagef("%s is a mirror: serve it alone", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, unreadable(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, unreadable(err)
	}
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, 0, unreadable(fmt.Errorf("%s: %w", path, err))
		}
	}
	entries, left, err := registry.ReadEntries(io.LimitReader(r, maxServed))
	if err != nil {
		return nil, 0, unreadable(fmt.Errorf("%s: %w", path, err))
	}
	for i := range entries {
		if s := &entries[i].State; s.PublishedAt.IsZero() {
			entries[i].Publish(info.ModTime())
		}
	}
	return entries, left, nil
}

// isDatabase reports whether a file begins like an SQLite database.
func isDatabase(path string) bool {
	const magic = "SQLite format 3\x00"
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeType != 0 {
		return false
	}
	head := make([]byte, len(magic))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == magic
}
