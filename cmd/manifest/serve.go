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
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/internal/buildinfo"
	"github.com/ashlar-go/ashlar/internal/logformat"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/catalog"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

// serveCall is a call of serve with its flags.
type serveCall struct {
	*call
	addr, hosts, origins, tokens string
	publish, private             bool
	metrics, logFormat           string
	drain                        time.Duration
}

// defineServe defines the command that serves files, a mirror, or a registry that others publish to.
func defineServe(c *call) runner {
	q := &serveCall{call: c}
	f := c.flags
	f.StringVar(&q.addr, "addr", "127.0.0.1:8787", "`address` to listen on; port 0 picks a free one")
	f.StringVar(&q.hosts, "allowed-hosts", "", "comma-separated `names` in the Host header besides those of the machine; * allows all")
	f.StringVar(&q.origins, "allowed-origins", strings.Join(httpx.LocalOrigins(), ","), "comma-separated web `origins` whose pages may do more than read, as pages of all origins may; * adds none")
	f.BoolVar(&q.publish, "publish", false, "let holders of -tokens publish to the one FILE that is named, which is created if there is none")
	f.BoolVar(&q.private, "private", false, "require one of -tokens for reading too; there is no catalog then")
	f.StringVar(&q.tokens, "tokens", "", "the `file` of tokens: one a line, and after it the namespaces that it may publish to, such as com.example, com.example.* or *")
	f.StringVar(&q.metrics, "metrics-addr", "", "`address` of a page with metrics for Prometheus, /metrics, such as 127.0.0.1:9100; needs no token")
	f.StringVar(&q.logFormat, "log-format", "text", "`format` of the log: text or json")
	f.DurationVar(&q.drain, "drain-delay", 0, "how `long` to keep serving after SIGTERM while /readyz is 503, so that load balancers notice")
	return q.run
}

func (q *serveCall) run(ctx context.Context) error {
	if q.logFormat != "text" && q.logFormat != "json" {
		return cli.Usagef("-log-format is %q: use text or json", q.logFormat)
	}
	if q.drain < 0 {
		return cli.Usagef("-drain-delay is %v: use 0 or more", q.drain)
	}
	origins, err := httpx.NewOrigins(slices.DeleteFunc(list(q.origins), func(o string) bool { return o == "*" }))
	if err != nil {
		return cli.Usagef("-allowed-origins: %w", err)
	}
	opts := &registry.Options{Docs: apidocs.New(&apidocs.Options{Title: "MCP registry"}), Audit: logformat.New(q.Stderr, slog.LevelInfo, q.logFormat)}
	if err := q.authorize(opts); err != nil {
		return err
	}
	store, closeStore, err := q.openRegistry(ctx, q.publish)
	if err != nil {
		return err
	}
	if !q.private {
		if opts.Pages, err = catalog.New(store, &catalog.Options{Docs: true}); err != nil {
			return errors.Join(err, closeStore())
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", q.addr)
	if err != nil {
		return errors.Join(unreadable(fmt.Errorf("%w: choose another address with -addr, port 0 for any free one", err)), closeStore())
	}
	hosts, err := httpx.NewHosts(l.Addr(), &httpx.HostsOptions{Names: list(q.hosts), Setting: "-allowed-hosts"})
	if err != nil {
		return errors.Join(cli.Usagef("-allowed-hosts: %w", err), l.Close(), closeStore())
	}
	log := logformat.New(q.Stderr, slog.LevelWarn, q.logFormat)
	opts.Chain = &httpx.StandardOptions{Log: log, Hosts: hosts, Origins: origins}
	if !q.private {
		fmt.Fprintf(q.Stdout, "catalog  http://%s/\n", l.Addr())
	}
	fmt.Fprintf(q.Stdout, "API      http://%[1]s/v0.1/servers\ndocs     http://%[1]s/docs/\n", l.Addr())
	if q.publish {
		fmt.Fprintf(q.Stdout, "publish  mcp-publisher login github --token TOKEN --registry http://%s\n", l.Addr())
	}
	return errors.Join(q.serveAll(ctx, l, registry.NewHandler(store, opts), log), closeStore())
}

// serveAll serves the registry with its probes, and metrics if there is an address for them.
func (q *serveCall) serveAll(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	metrics := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "manifest_http_requests_total", Help: "requests by method and status"}, []string{"method", "code"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "manifest_http_request_duration_seconds", Help: "histogram of their duration"}, nil)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "manifest_build_info", Help: "always 1; the labels describe the program"}, []string{"version", "revision", "goversion"})
	build.With(buildinfo.Labels()).Set(1)
	metrics.MustRegister(requests, duration, build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counted := promhttp.InstrumentHandlerCounter(requests, promhttp.InstrumentHandlerDuration(duration, h))
	served := httpx.Probes(func(context.Context) error {
		if ctx.Err() != nil {
			return errors.New("the server is shutting down")
		}
		return nil
	})(counted)
	group, serving := errgroup.WithContext(context.WithoutCancel(ctx))
	serving, stop := context.WithCancel(serving) // metrics are served until the last request has ended
	if q.metrics != "" {
		other, err := new(net.ListenConfig).Listen(ctx, "tcp", q.metrics)
		if err != nil {
			stop()
			return errors.Join(unreadable(fmt.Errorf("-metrics-addr: %w", err)), l.Close())
		}
		fmt.Fprintf(q.Stdout, "metrics  http://%s/metrics\n", other.Addr())
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
		group.Go(func() error {
			return httpx.Serve(serving, other, mux, &httpx.ServeOptions{MaxConnections: 16, Log: log})
		})
	}
	group.Go(func() error {
		defer stop()
		return httpx.Serve(ctx, l, served, &httpx.ServeOptions{DrainDelay: q.drain, Log: log})
	})
	return group.Wait()
}

// authorize sets who may publish and read.
func (q *serveCall) authorize(opts *registry.Options) error {
	switch needed := q.publish || q.private; {
	case needed && q.tokens == "":
		return cli.Usagef("-publish and -private need -tokens: a file with a token and its namespaces in each line")
	case !needed && q.tokens != "":
		return cli.Usagef("-tokens has no effect alone: add -publish, -private or both")
	case !needed:
		return nil
	}
	text, err := os.ReadFile(q.tokens)
	if err != nil {
		return unreadable(err)
	}
	table := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.FieldsFunc(line, func(c rune) bool { return unicode.IsSpace(c) || c == ',' })
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		table[words[0]] = append(table[words[0]], words[1:]...)
	}
	if len(table) == 0 {
		return cli.Usagef("-tokens: %s has no tokens", cli.Printable(q.tokens))
	}
	known, err := registry.Tokens(table)
	if err != nil {
		return cli.Usagef("-tokens: %s: %w", cli.Printable(q.tokens), err)
	}
	if q.publish {
		opts.Authorize = known
	}
	if q.private {
		opts.AuthorizeRead = known
	}
	return nil
}

// list splits the value of a flag at commas.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return settings.Split(text)
}

// openRegistry returns a store with what the arguments name: a mirror or registry, which it creates on request, or any
// number of files.
func (c *call) openRegistry(ctx context.Context, create bool) (registry.Store, func() error, error) {
	if create && (len(c.files) != 1 || !isDatabase(c.files[0]) && !isNew(c.files[0])) {
		return nil, nil, cli.Usagef("-publish needs the file of a registry, such as registry.db: it is created if there is none")
	}
	if len(c.files) == 1 && (create || isDatabase(c.files[0])) {
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

// isNew reports whether there is no file at a path, or an empty one.
func isNew(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
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
