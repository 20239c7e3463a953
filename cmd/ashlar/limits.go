package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
}

func newLimits(flags *flag.FlagSet) *limits {
	l := &limits{settings: settings.Default()}
	l.settings.DisableStats = true // nothing to push to; the debug port has them
	l.settings.RuntimeWatchRoot = false
	flags.IntVar(&l.settings.Port, "http-port", l.settings.Port, "`port` of the rate limit service over HTTP; 0 picks a free one")
	flags.IntVar(&l.settings.GRPCPort, "grpc-port", l.settings.GRPCPort, "`port` of the rate limit service over gRPC; 0 picks a free one")
	flags.IntVar(&l.settings.DebugPort, "debug-port", l.settings.DebugPort, "`port` of the rate limit service's debug pages; 0 picks a free one")
	flags.StringVar(&l.dir, "limits", "", "`directory` of rate limit configuration to use in place of the sample; changes are followed")
	return l
}

// load sets the origin of the configuration.
func (l *limits) load(host string, names []string, log io.Writer) error {
	l.settings.AllowedHosts = names
	l.settings.Host, l.settings.GRPCHost, l.settings.DebugHost = host, host, host
	l.opts.Log = server.NewLogTo(log, l.settings)
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

func (l *limits) serve(ctx context.Context, listening func(server.Addresses)) error {
	l.opts.Listening = listening
	err := server.Run(ctx, l.settings, &l.opts)
	if e, ok := errors.AsType[*server.ListenError](err); ok {
		flags := map[string]string{"PORT": "-http-port", "GRPC_PORT": "-grpc-port", "DEBUG_PORT": "-debug-port"}
		return portTaken(e.Err, flags[e.Setting])
	}
	return err
}

// portTaken adds the flag of a listener to its error.
func portTaken(err error, flag string) error {
	return fmt.Errorf("%w: choose another port with %s, or 0 for any free port", err, flag)
}
