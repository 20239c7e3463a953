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

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/sqlitefile"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

func run(ctx context.Context, env cli.Env) (err error) {
	flags := flag.NewFlagSet("inventoryd", flag.ContinueOnError)
	given := server.Flags(flags)
	fill := flags.Bool("demo", false, "fill the inventory with demo records before serving, if it has no devices")
	devices := flags.Int("devices", demo.DefaultDevices, "number of `devices` that -demo creates; the other records are in proportion")
	list := flags.Bool("settings", false, "list the settings and exit")
	env.Commands = help().Define(flags)
	if err := env.Parse(flags); err != nil {
		return err
	}
	if *devices < 1 || *devices > demo.MaxDevices {
		return cli.Usagef("-devices is %d: use a number from 1 to %d", *devices, demo.MaxDevices)
	}
	if *list {
		return printSettings(env.Stdout)
	}
	s, err := server.Parse(env.Environ, given())
	if err != nil {
		return cli.Usagef("settings:\n%w", err)
	}
	defer func() { err = explain(err, s) }()
	if flags.NArg() > 0 {
		return command(ctx, env, s, flags.Args())
	}
	// The port comes first: without it, no database and no password of a first admin are made.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return fmt.Errorf("%w: choose another address with -addr, port 0 for any free one", err)
	}
	defer func() { err = errors.Join(err, closeListener(listener)) }()
	first := &noted{Writer: env.Stdout}
	srv, err := server.New(ctx, s, &server.Options{Log: server.NewLog(env.Stderr, s), Output: first})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	if *fill {
		announceDemo(ctx, env.Stderr, srv.Store(), *devices, s.Database())
		if err := fillDemo(ctx, env, srv.Store(), *devices); err != nil {
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

// explain says what to do about a damaged database.
func explain(err error, s *server.Settings) error {
	if cause := sqlitefile.Damage(err); cause != nil {
		return fmt.Errorf("the database %[1]s is damaged: stop all servers that use it, delete %[1]s-wal and %[1]s-shm, and replace it with a copy that inventoryd backup has made: %[2]w",
			s.Database(), cause)
	}
	return err
}

// closeListener closes a listener that a server may have closed before.
func closeListener(l net.Listener) error {
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func help() *cli.Help {
	return &cli.Help{
		About: "inventoryd serves a network inventory over HTTP: an API, and pages to work in. Flags and environment variables configure it; -settings lists them.",
		Usage: []string{"inventoryd [flags]", "inventoryd [flags] COMMAND"},
		Commands: [][2]string{
			{"admin -reset NAME", "make a user an active admin with a new password"},
			{"backup FILE", "copy a SQLite database, even while it is in use"},
			{"import FILE...", "create and change records by CSV, JSON lines and YAML files"},
			{"import netbox URL|FILE", "the same from a NetBox; containerlab and hosts are further sources"},
			{"rotate-key", "add a new key that signs tokens"},
			{"revoke-keys", "replace all such keys, which ends all sessions"},
			{"verify-audit", "check that no entry of the audit log was changed or deleted"},
		},
		Examples: [][2]string{
			{"inventoryd -demo -addr localhost:3000", "serves inventory.db, filled with demo records, to this machine only"},
			{"DATABASE_URL=postgres://inventory@db/inventory inventoryd", "keeps the records in PostgreSQL"},
		},
	}
}

// command runs the command that args names.
func command(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	switch args[0] {
	case "backup":
		return backup(ctx, env, s, args[1:])
	case "rotate-key", "revoke-keys":
		return rotateKey(ctx, env, s, args)
	case "admin":
		return resetAdmin(ctx, env, s, args[1:])
	case "verify-audit":
		return verifyAudit(ctx, env, s, args)
	case "import":
		return importFiles(ctx, env, s, args[1:])
	}
	return cli.UnknownCommand(args[0], env.Commands, " Use admin -reset NAME, backup FILE, import FILE..., rotate-key, revoke-keys or verify-audit; run inventoryd -settings for the flags and environment variables")
}

func backup(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("backup: takes one argument, the file to create, which must not exist")
	}
	total := size(s.DatabaseURL)
	stop := cli.NewProgress(env, "backup").Watch(func(elapsed time.Duration) string {
		return cli.DoneBytes(size(args[0]+".part"), total, elapsed)
	})
	err := server.Backup(ctx, s, args[0])
	stop()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	fmt.Fprintf(env.Stdout, "copied %s to %s\n", s.Database(), args[0])
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

func resetAdmin(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	flags := flag.NewFlagSet("inventoryd admin", flag.ContinueOnError)
	name := flags.String("reset", "", "`name` of the user")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "Usage: inventoryd [flags] admin -reset NAME\n\nMakes a user an active admin with a new password, which is printed and must be changed first. It ends the user's\nsessions and API tokens, and turns off the second factor. Servers may run meanwhile. Use the settings of the server,\nsuch as DATABASE_URL.\n\nFlags:\n")
		flags.PrintDefaults()
	}
	env.Args = args
	if err := env.Parse(flags); err != nil {
		return err
	}
	if *name == "" || flags.NArg() > 0 {
		return cli.Usagef("admin: use admin -reset NAME, with the name of a user")
	}
	if err := server.ResetAdmin(ctx, s, *name, env.Stdout, server.NewLog(env.Stderr, s)); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return nil
}

func rotateKey(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("%s: takes no arguments", args[0])
	}
	revoke := args[0] == "revoke-keys"
	r, err := server.RotateKey(ctx, s, revoke, server.NewLog(env.Stderr, s))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if revoke {
		fmt.Fprintln(env.Stdout, "replaced the key that signs tokens; running servers notice within 5 seconds, and all sessions end")
		return nil
	}
	fmt.Fprintf(env.Stdout, "added a key that signs tokens from %s; the old one verifies them until %s\n",
		r.SignsFrom.Format(time.RFC3339), r.VerifiesUntil.Format(time.RFC3339))
	return nil
}

func verifyAudit(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	if len(args) > 1 {
		return cli.Usagef("%s: takes no arguments", args[0])
	}
	p := cli.NewProgress(env, "verify-audit")
	r, err := server.VerifyAudit(ctx, s, server.NewLog(env.Stderr, s), &records.VerifyOptions{Progress: func(done, total int64) {
		p.Show(func(elapsed time.Duration) string { return cli.Done(done, total, "entries", elapsed) })
	}})
	p.End()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
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
