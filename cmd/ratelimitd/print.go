package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// printTable lists all settings.
func printTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range settings.Table() {
		doc := v.Doc
		if len(v.Aliases) > 0 {
			doc += " (also " + strings.Join(v.Aliases, ", ") + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Name, v.Default, doc)
	}
	return t.Flush()
}

// printEffective prints what the environment comes to; fromFlag has the settings of -limits. It is of most use when
// something is wrong, so errors follow the list instead of replacing it, those of files that the settings name included.
func printEffective(ctx context.Context, env cli.Env, fromFlag map[string]string) error {
	t := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, e := range settings.Effective(env.Environ) {
		if _, ok := fromFlag[e.Name]; ok {
			e.Origin = "-limits"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", e.Name, e.Value, e.Origin)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	printWarnings(env)
	s, err := settings.Parse(env.Environ)
	if err != nil {
		return cli.Usagef("settings:\n%w", err)
	}
	srv, err := server.New(ctx, s, &server.Options{Log: server.NewLogTo(env.Stderr, s), Output: io.Discard})
	if err != nil {
		return err
	}
	return srv.Close()
}

func printWarnings(env cli.Env) {
	for _, w := range settings.Warnings(env.Environ) {
		if logsJSON(env.Environ) {
			newLog(env.Stderr, env.Environ).Warn("settings", "warning", w.String())
			continue
		}
		fmt.Fprintf(env.Stderr, "warning: %s\n", w)
	}
}
