package main

import (
	"context"
	"flag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

func run(ctx context.Context, env cli.Env) error {
	flags := flag.NewFlagSet("ratelimitd", flag.ContinueOnError)
	list := flags.Bool("settings", false, "list the environment variables and exit")
	effective := flags.Bool("print-settings", false, "print the value of every setting and where it comes from, secrets masked, and exit")
	help := &cli.Help{
		About: "ratelimitd serves the v3 rate limit service over gRPC and HTTP/JSON. Environment variables configure it; -settings lists them.",
		Usage: []string{"ratelimitd [flags]"},
		Examples: [][2]string{
			{"RUNTIME_ROOT=limits BACKEND_TYPE=memory ratelimitd", "serves the rules in limits/config with counters in memory"},
			{"REDIS_URL=localhost:6379 ratelimitd -print-settings", "shows every setting and where its value comes from"},
		},
	}
	help.Define(flags)
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: ratelimitd is configured by environment variables, see -settings", flags.Arg(0))
	}
	if *list {
		return printTable(env.Stdout)
	}
	if *effective {
		return printEffective(env)
	}
	return logError(ctx, env, serve(ctx, env))
}

func serve(ctx context.Context, env cli.Env) error {
	s, err := settings.Parse(env.Environ)
	if err != nil {
		printWarnings(env) // a misspelled name may be why
		return cli.Usagef("settings:\n%w", err)
	}
	tuneGC(env.Environ)
	log := server.NewLogTo(env.Stderr, s)
	for _, w := range settings.Warnings(env.Environ) {
		log.Warn("settings", "warning", w)
	}
	return server.Run(ctx, s, &server.Options{
		Log:       log,
		Output:    env.Stdout,
		Listening: func(a server.Addresses) { announce(env, s, a) },
	})
}
