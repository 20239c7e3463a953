package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

// sample is what the limits are without -limits. It is built in, so that the
// program runs from anywhere; `go run` builds it in anew.
//
//go:embed sample/demo.yaml
var sample []byte

const samplePath = "cmd/ashlar/sample/demo.yaml"

func run(ctx context.Context, env cli.Env) error {
	set := settings.Default()
	flags := flag.NewFlagSet("ashlar", flag.ContinueOnError)
	flags.StringVar(&set.Host, "host", "127.0.0.1", "`address` to listen on")
	flags.IntVar(&set.Port, "http-port", set.Port, "`port` of the rate limit service over HTTP; 0 picks a free one")
	flags.IntVar(&set.GRPCPort, "grpc-port", set.GRPCPort, "`port` of the rate limit service over gRPC; 0 picks a free one")
	limits := flags.String("limits", "", "`directory` of rate limit configuration to use in place of the sample")
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: see -help", flags.Arg(0))
	}
	set.GRPCHost = set.Host
	opts := &server.Options{Log: server.NewLogTo(env.Stderr, set)}
	from, err := source(*limits, set, opts)
	if err != nil {
		return err
	}
	opts.Listening = func(a server.Addresses) { fmt.Fprint(env.Stdout, welcome(a, from)) }
	return explain(server.Run(ctx, set, opts))
}

// source settles where the limits come from, and says so.
func source(dir string, set *settings.Settings, opts *server.Options) (string, error) {
	if dir == "" {
		opts.Files = []config.File{{Name: samplePath, Data: sample}}
		return samplePath + " (edit it and start again)", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("-limits %s: %w", dir, err)
	}
	if info, err := os.Stat(abs); err != nil {
		return "", cli.Usagef("-limits: %w", err)
	} else if !info.IsDir() {
		return "", cli.Usagef("-limits: %s is a file: name the directory that holds it", dir)
	}
	set.RuntimeRoot, set.RuntimeSubdirectory, set.RuntimeAppDirectory = filepath.Dir(abs), "", filepath.Base(abs)
	return "all files in " + dir, nil
}

// explain names the flag, where the server knows only the setting.
func explain(err error) error {
	flags := map[string]string{"PORT": "-http-port", "GRPC_PORT": "-grpc-port"}
	if e, ok := errors.AsType[*server.ListenError](err); ok {
		return fmt.Errorf("%w: choose another port with %s, 0 for any free one", e.Err, flags[e.Setting])
	}
	return err
}

// welcome says where everything is and what to try.
func welcome(a server.Addresses, limits string) string {
	return fmt.Sprintf(`ashlar is running; Ctrl-C stops it.

  rate limits over gRPC   %[1]s
  rate limits over HTTP   http://%[2]s/json
  health                  http://%[2]s/healthcheck
  limits                  %[3]s

Try in another terminal, a few times in a row:

  go run ./cmd/ratelimit-client -dial_string %[1]s -domain demo -descriptors client=bob
  curl -i http://%[2]s/json -d '{"domain":"demo","descriptors":[{"entries":[{"key":"client","value":"bob"}]}]}'

`, a.GRPC, a.HTTP, limits)
}
