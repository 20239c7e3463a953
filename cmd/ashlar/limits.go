package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// sample is the first configuration, in limitsDir of the data directory.
//
//go:embed sample/demo.yaml
var sample []byte

const (
	limitsDir  = "limits"
	sampleFile = "demo.yaml"
)

// limits is the rate limit service.
type limits struct {
	ports    struct{ http, grpc, debug *port }
	settings *settings.Settings
	opts     server.Options
	dir      string // -limits
	from     string // origin of the configuration, for messages
	server   *server.Server
}

func newLimits(flags *pflag.FlagSet) *limits {
	l := &limits{settings: settings.Default()}
	l.settings.DisableStats = true // nothing to push to; the debug port has them
	l.settings.RuntimeWatchRoot = false
	l.settings.RuntimeIgnoreDotFiles = true // those of editors
	l.ports.http = newPort(flags, "http-port", l.settings.Port, "the rate limit service over HTTP")
	l.ports.grpc = newPort(flags, "grpc-port", l.settings.GRPCPort, "the rate limit service over gRPC")
	l.ports.debug = newPort(flags, "debug-port", l.settings.DebugPort, "the rate limit console")
	flags.StringVar(&l.dir, "limits", "", "`directory` of your rate limits, in place of limits in the directory of -data; changes take effect at once")
	return l
}

// load configures the service, and reads the directory of -limits.
func (l *limits) load(host string, names []string, log *slog.Logger) error {
	l.settings.AllowedHosts = names
	l.settings.Host, l.settings.GRPCHost, l.settings.DebugHost = host, host, host
	l.opts.Log, l.opts.AccessLog = log, true
	if l.dir == "" {
		return nil // useSample follows
	}
	if info, err := os.Stat(l.dir); err != nil {
		return cli.Usagef("-limits: %w", err)
	} else if !info.IsDir() {
		return cli.Usagef("-limits: %s is a file: use its directory", l.dir)
	}
	return l.follow(l.dir, "all files in "+l.dir)
}

// useSample uses limitsDir of the data directory, unless there is another directory. It writes the sample there if
// there are no limits, or if it is forced to.
func (l *limits) useSample(data string, force bool) error {
	if l.dir != "" {
		return nil
	}
	dir := filepath.Join(data, limitsDir)
	if err := os.Mkdir(dir, 0o700); err == nil {
		err = os.Chmod(dir, 0o700) // #nosec G302 -- a directory; a umask may have removed the owner's permissions
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	configured := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() || slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name()))
	})
	from := filepath.Join(dir, sampleFile)
	if force || !configured {
		if err := writeSecret(from, string(sample)); err != nil {
			return err
		}
	} else if _, err := os.Stat(from); err != nil {
		from = "all files in " + dir
	}
	return l.follow(dir, from)
}

// follow makes the service use the files in a directory and their changes.
func (l *limits) follow(dir, from string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := config.Load(os.DirFS(abs), &config.Options{IgnoreDotFiles: l.settings.RuntimeIgnoreDotFiles}); err != nil {
		return fmt.Errorf("invalid rate limits in %s:\n%w", dir, err) // later errors are logged
	}
	l.settings.RuntimeRoot, l.settings.RuntimeSubdirectory, l.settings.RuntimeAppDirectory = filepath.Dir(abs), "", filepath.Base(abs)
	l.from = from + " (changes take effect at once)"
	return nil
}

// open creates the server, which opens the ports again by itself.
func (l *limits) open(ctx context.Context, listening func(server.Addresses)) (err error) {
	for port, number := range map[*port]*int{l.ports.http: &l.settings.Port, l.ports.grpc: &l.settings.GRPCPort, l.ports.debug: &l.settings.DebugPort} {
		if *number, err = port.release(); err != nil {
			return err
		}
	}
	l.opts.Listening = listening
	l.server, err = server.New(ctx, l.settings, &l.opts)
	return err
}

func (l *limits) serve(ctx context.Context) error {
	err := l.server.Run(ctx)
	if e, ok := errors.AsType[*server.ListenError](err); ok {
		flags := map[string]string{"PORT": "-http-port", "GRPC_PORT": "-grpc-port", "DEBUG_PORT": "-debug-port"}
		return portTaken(e.Err, flags[e.Setting])
	}
	return err
}

// decided returns how many limits were decided since the start, and how many of them refused.
func (l *limits) decided() (all, refused uint64) {
	var c decisions
	l.server.Statistics().Read(&c)
	return c.within + c.over, c.over
}

// decisions adds up the statistics of all limits. It is a stats.Reader.
type decisions struct{ within, over uint64 }

func (d *decisions) Counter(name string, total uint64) {
	switch {
	case strings.HasSuffix(name, ".within_limit"):
		d.within += total
	case strings.HasSuffix(name, ".over_limit"):
		d.over += total
	}
}

func (d *decisions) Gauge(string, uint64) {}

func (l *limits) close() error {
	err := errors.Join(l.ports.http.close(), l.ports.grpc.close(), l.ports.debug.close())
	if l.server != nil {
		err = errors.Join(err, l.server.Close())
	}
	return err
}
