package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/sqlitefile"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// app has the parts that the commands share.
type app struct {
	env cli.Env
	// settings returns the settings of the environment and the flags.
	settings func() (*server.Settings, error)
}

func run(ctx context.Context, env cli.Env) error {
	root := &cobra.Command{
		Use:  "inventoryd [flags] [COMMAND]",
		Long: "inventoryd serves a network inventory over HTTP: an API, and pages to work in. Flags and environment variables configure it; -settings lists them.",
		Example: `  inventoryd -demo -addr localhost:3000
    	serves inventory.db, filled with demo records, to this machine only
  DATABASE_URL=postgres://inventory@db/inventory inventoryd
    	keeps the records in PostgreSQL`,
	}
	flags := flag.NewFlagSet("inventoryd", flag.ContinueOnError)
	server.Flags(flags)
	given := cli.GoFlags(root.PersistentFlags(), flags)
	a := &app{env: env, settings: func() (*server.Settings, error) {
		s, err := server.Parse(env.Environ, given())
		if err != nil {
			return nil, cli.Usagef("settings:\n%w", err)
		}
		return s, nil
	}}
	fill := root.Flags().Bool("demo", false, "fill the inventory with demo records before serving, if it has no devices")
	devices := root.Flags().Int("devices", demo.DefaultDevices, "number of `devices` that -demo creates; the other records are in proportion")
	list := root.Flags().Bool("settings", false, "list the settings and exit")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *devices < 1 || *devices > demo.MaxDevices {
			return cli.Usagef("-devices is %d: use a number from 1 to %d", *devices, demo.MaxDevices)
		}
		if *list {
			return printSettings(env.Stdout)
		}
		if !*fill {
			*devices = 0
		}
		return a.with(func(s *server.Settings) error { return serve(c.Context(), env, s, *devices) })
	}
	root.AddCommand(a.adminCommand(), a.backupCommand(), a.importCommand(),
		a.keyCommand("rotate-key", "Add a new key that signs tokens"), a.keyCommand("revoke-keys", "Replace all such keys, which ends all sessions"), a.auditCommand())
	return env.Execute(ctx, root)
}

// with calls f with the settings. It says what to do about a damaged database.
func (a *app) with(f func(s *server.Settings) error) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	err = f(s)
	if cause := sqlitefile.Damage(err); cause != nil {
		return fmt.Errorf("the database %[1]s is damaged: stop all servers that use it, delete %[1]s-wal and %[1]s-shm, and replace it with a copy that inventoryd backup has made: %[2]w",
			s.Database(), cause)
	}
	return err
}

// serve serves the inventory, which it fills with demo records first if devices is not 0.
func serve(ctx context.Context, env cli.Env, s *server.Settings, devices int) (err error) {
	// The port comes first: without it, no database and no password of a first admin are made.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return fmt.Errorf("%w: choose another address with -addr, port 0 for any free one", err)
	}
	defer func() {
		if closed := listener.Close(); !errors.Is(closed, net.ErrClosed) { // by a server that stopped
			err = errors.Join(err, closed)
		}
	}()
	first := &noted{Writer: env.Stdout}
	srv, err := server.New(ctx, s, &server.Options{Log: server.NewLog(env.Stderr, s), Output: first})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	if devices > 0 {
		announceDemo(ctx, env.Stderr, srv.Store(), devices, s.Database())
		if err := fillDemo(ctx, env, srv.Store(), devices); err != nil {
			return fmt.Errorf("-demo: %w", err)
		}
	}
	fmt.Fprintf(env.Stderr, "inventoryd: %s, records in %s; Ctrl-C stops it\n", srv.URL(listener.Addr()), s.Database())
	if !first.used && s.DatabaseURL != ":memory:" {
		fmt.Fprintln(env.Stderr, "inventoryd: if no admin can log in any more: inventoryd admin -reset NAME, with the same settings")
	}
	return srv.Serve(ctx, listener)
}

// noted is a writer that notes whether it was used.
type noted struct {
	io.Writer
	used bool
}

func (n *noted) Write(p []byte) (int, error) {
	n.used = true
	return n.Writer.Write(p)
}

// announceDemo writes what fillDemo will do with an empty inventory.
func announceDemo(ctx context.Context, w io.Writer, store records.Store, devices int, database string) {
	resource := records.Of[inventory.Device](store.Schema())
	if page, err := store.List(ctx, &records.Query{Resource: resource, Limit: 1}); err != nil || len(page.Records) > 0 {
		return // fillDemo says why it adds nothing
	}
	const perSecond = 10_000                  // records, on a small machine
	total := 9*devices + 7*min(devices, 2000) // those of cables are for the first sites only
	fmt.Fprintf(w, "demo: adding %d devices, with about %d records in all, to %s; this takes about %d s\n", devices, total, database, 1+total/perSecond)
}

func (a *app) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the database, even while it is in use", Args: cli.Args(1, 1, "one argument, the file to create, which must not exist"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(func(s *server.Settings) error { return backup(c.Context(), a.env, s, args[0]) })
		},
	}
}

func backup(ctx context.Context, env cli.Env, s *server.Settings, file string) error {
	total := size(s.DatabaseURL)
	stop := cli.NewProgress(env, "backup").Watch(func(elapsed time.Duration) string {
		return cli.DoneBytes(size(file+".part"), total, elapsed)
	})
	err := server.Backup(ctx, s, file)
	stop()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(env.Stdout, "copied %s to %s\n", s.Database(), file)
	return nil
}

// size returns the bytes of a file, or 0 if there is none.
func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (a *app) adminCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "admin -reset NAME", Short: "Make a user an active admin with a new password", Args: cli.Args(0, 0, "no arguments: use admin -reset NAME"),
		Long: "Makes a user an active admin with a new password, which is printed and must be changed first. It ends the user's sessions and API tokens, " +
			"and turns off the second factor. Servers may run meanwhile. Use the settings of the server, such as DATABASE_URL.",
	}
	name := c.Flags().String("reset", "", "`name` of the user")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.with(func(s *server.Settings) error {
			if *name == "" {
				return cli.Usagef("admin: use admin -reset NAME, with the name of a user")
			}
			if err := server.ResetAdmin(c.Context(), s, *name, a.env.Stdout, server.NewLog(a.env.Stderr, s)); err != nil {
				return fmt.Errorf("admin: %w", err)
			}
			return nil
		})
	}
	return c
}

// keyCommand returns the command rotate-key or revoke-keys.
func (a *app) keyCommand(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: cli.Args(0, 0, "no arguments"), RunE: func(c *cobra.Command, _ []string) error {
		return a.with(func(s *server.Settings) error { return rotateKey(c.Context(), a.env, s, name) })
	}}
}

func rotateKey(ctx context.Context, env cli.Env, s *server.Settings, command string) error {
	revoke := command == "revoke-keys"
	r, err := server.RotateKey(ctx, s, revoke, server.NewLog(env.Stderr, s))
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if revoke {
		fmt.Fprintln(env.Stdout, "replaced the key that signs tokens; running servers notice within 5 seconds, and all sessions end")
		return nil
	}
	fmt.Fprintf(env.Stdout, "added a key that signs tokens from %s; the old one verifies them until %s\n",
		r.SignsFrom.Format(time.RFC3339), r.VerifiesUntil.Format(time.RFC3339))
	return nil
}

func (a *app) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify-audit", Short: "Check that no entry of the audit log was changed or deleted", Args: cli.Args(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(func(s *server.Settings) error { return verifyAudit(c.Context(), a.env, s) })
		},
	}
}

func verifyAudit(ctx context.Context, env cli.Env, s *server.Settings) error {
	p := cli.NewProgress(env, "verify-audit")
	r, err := server.VerifyAudit(ctx, s, server.NewLog(env.Stderr, s), &records.VerifyOptions{Progress: func(done, total int64) {
		p.Show(func(elapsed time.Duration) string { return cli.Done(done, total, "entries", elapsed) })
	}})
	p.End()
	if err != nil {
		return fmt.Errorf("verify-audit: %w", err)
	}
	fmt.Fprintf(env.Stdout, "the audit log is intact: checked %d entries", r.Checked)
	if r.Unhashed > 0 {
		fmt.Fprintf(env.Stdout, ", and found %d older ones without hashes", r.Unhashed)
	}
	if r.Pruned > 0 {
		fmt.Fprintf(env.Stdout, "; entries up to position %d were pruned", r.Pruned)
	}
	fmt.Fprintf(env.Stdout, "\nlast position %d, hash %x\n", r.Head.Seq, r.Head.Hash)
	return nil
}

// printSettings lists all settings.
func printSettings(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range server.Table() {
		name := v.Env
		if v.Flag != "" {
			name += " -" + v.Flag
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, v.Default, v.Doc)
	}
	return t.Flush()
}

// fillDemo fills an empty inventory with demo records and shows its progress. It
// leaves an inventory that already has records unchanged.
func fillDemo(ctx context.Context, env cli.Env, store records.Store, devices int) error {
	w, begin, p := env.Stderr, time.Now(), cli.NewProgress(env, "demo")
	n, err := demo.Fill(ctx, store, &demo.Options{Devices: devices, Progress: func(done, total int) {
		p.Show(func(elapsed time.Duration) string { return cli.Done(int64(done), int64(total), "devices", elapsed) })
	}})
	p.End()
	if records.KindOf(err) == records.Conflict {
		fmt.Fprintln(w, "demo: the inventory already has records: nothing added")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "demo: %d locations, %d devices, %d interfaces, %d links, %d cables, %d metrics, %d events in %.1f s\n",
		n["locations"], n["devices"], n["interfaces"], n["links"], n["cables"], n["metrics"], n["events"], time.Since(begin).Seconds())
	return nil
}
