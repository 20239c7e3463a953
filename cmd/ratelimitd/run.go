package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use: "ratelimitd [flags]", Args: cli.Args(0, 0, "no arguments: environment variables configure it, see -settings"),
		Long: "ratelimitd serves the v3 rate limit service over gRPC and HTTP/JSON. Environment variables configure it; -settings lists them.",
		Example: `  ratelimitd -limits limits
    	serves the rules in the directory limits, with counters in memory
  REDIS_URL=localhost:6379 ratelimitd -limits limits
    	the same with counters in Redis
  REDIS_URL=localhost:6379 ratelimitd -print-settings
    	shows every setting and where its value comes from`,
	}
	limits := c.Flags().String("limits", "", "serve the limits in `directory` and follow its changes, whatever CONFIG_TYPE and RUNTIME_* say")
	list := c.Flags().Bool("settings", false, "list the environment variables and exit")
	effective := c.Flags().Bool("print-settings", false, "print the value of every setting and where it comes from, secrets masked, and exit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		fromFlag, err := limitsSettings(*limits)
		if err != nil {
			return err
		}
		environ := map[string]string{}
		maps.Copy(environ, env.Environ)
		maps.Copy(environ, fromFlag)
		env.Environ = environ
		if *list {
			return printTable(env.Stdout)
		}
		if *effective {
			return printEffective(c.Context(), env, fromFlag)
		}
		return logError(c.Context(), env, serve(c.Context(), env))
	}
	return env.Execute(ctx, c)
}

// limitsSettings returns the settings that serve the files in a directory and follow its changes.
func limitsSettings(dir string) (map[string]string, error) {
	if dir == "" {
		return nil, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("-limits %s: %w", dir, err)
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, cli.Usagef("-limits: %w", err)
	} else if !info.IsDir() {
		return nil, cli.Usagef("-limits: %s is a file: use its directory", dir)
	}
	return map[string]string{
		"CONFIG_TYPE": settings.File, "RUNTIME_ROOT": filepath.Dir(abs), "RUNTIME_SUBDIRECTORY": "",
		"RUNTIME_APPDIRECTORY": filepath.Base(abs), "RUNTIME_WATCH_ROOT": "false",
	}, nil
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
