package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

// sample is the default configuration. It is embedded, so that the program runs in any directory.
//
//go:embed sample/demo.yaml
var sample []byte

const samplePath = "cmd/ashlar/sample/demo.yaml"

// limits is the rate limit service.
type limits struct {
	settings *settings.Settings
	opts     server.Options
	dir      string // -limits
	from     string // origin of the configuration, for messages
	server   *server.Server
}

func newLimits(flags *flag.FlagSet) *limits {
	l := &limits{settings: settings.Default()}
	l.settings.DisableStats = true // nothing to push to; the debug port has them
	l.settings.RuntimeWatchRoot = false
	l.settings.ConsoleRecentRequests = 10_000 // for the comparison of a changed configuration
	flags.IntVar(&l.settings.Port, "http-port", l.settings.Port, "`port` of the rate limit service over HTTP; 0 picks a free one")
	flags.IntVar(&l.settings.GRPCPort, "grpc-port", l.settings.GRPCPort, "`port` of the rate limit service over gRPC; 0 picks a free one")
	flags.IntVar(&l.settings.DebugPort, "debug-port", l.settings.DebugPort, "`port` of the rate limit service's debug pages; 0 picks a free one")
	flags.StringVar(&l.dir, "limits", "", "`directory` of rate limit configuration to use in place of the sample; changes are followed")
	return l
}

// load sets the origin of the configuration.
func (l *limits) load(host string, names []string, log *slog.Logger) error {
	l.settings.AllowedHosts = names
	l.settings.Host, l.settings.GRPCHost, l.settings.DebugHost = host, host, host
	l.opts.Log, l.opts.AccessLog = log, true
	if l.dir == "" {
		l.opts.Files = []config.File{{Name: samplePath, Data: sample}}
		l.from = samplePath + " (edit it and restart)"
		return nil
	}
	abs, err := filepath.Abs(l.dir)
	if err != nil {
		return fmt.Errorf("-limits %s: %w", l.dir, err)
	}
	if info, err := os.Stat(abs); err != nil {
		return cli.Usagef("-limits: %w", err)
	} else if !info.IsDir() {
		return cli.Usagef("-limits: %s is a file: use its directory", l.dir)
	}
	if _, err := config.Load(os.DirFS(abs), nil); err != nil {
		return fmt.Errorf("invalid configuration:\n%w", err) // later errors are logged
	}
	l.settings.RuntimeRoot, l.settings.RuntimeSubdirectory, l.settings.RuntimeAppDirectory = filepath.Dir(abs), "", filepath.Base(abs)
	l.from = "all files in " + l.dir + ", followed as they change"
	return nil
}

// choose finds ports for the listeners.
func (l *limits) choose(ctx context.Context, p *ports) error {
	for _, listener := range []struct {
		port       *int
		flag, what string
	}{
		{&l.settings.Port, "http-port", "the rate limit service over HTTP"},
		{&l.settings.GRPCPort, "grpc-port", "the rate limit service over gRPC"},
		{&l.settings.DebugPort, "debug-port", "the rate limit console"},
	} {
		port, err := p.free(ctx, *listener.port, listener.flag, listener.what)
		if err != nil {
			return err
		}
		*listener.port = port
	}
	return nil
}

// open creates the server.
func (l *limits) open(ctx context.Context, listening func(server.Addresses)) (err error) {
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
	if l.server == nil {
		return nil
	}
	return l.server.Close()
}
