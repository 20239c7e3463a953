package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/importer/netbox"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// maxImportRows bounds the rows of an import that is one transaction, about 1 KiB of memory each.
const maxImportRows = 100_000

// importOptions are the flags of import.
type importOptions struct {
	importer.Options
	file     importer.FileOptions
	rejected string // the directory for rejected rows; "" for none
}

// importFlags returns the flags of import.
func importFlags(name string) (flags *flag.FlagSet, parse func() (*importOptions, error)) {
	flags = flag.NewFlagSet("inventoryd "+name, flag.ContinueOnError)
	o := &importOptions{}
	onError := flags.String("on-error", "stop", fmt.Sprintf("what a rejected row does: stop changes nothing, with at most %d rows; skip applies the others", maxImportRows))
	flags.BoolVar(&o.DryRun, "dry-run", false, "change nothing, and print what would change as JSON lines")
	flags.StringVar(&o.rejected, "rejected", "", "`directory` for files with the rejected rows, to correct and import again")
	return flags, func() (*importOptions, error) {
		switch *onError {
		case "stop":
		case "skip":
			o.OnError = importer.Skip
		default:
			return nil, cli.Usagef("-on-error is %q: use stop or skip", *onError)
		}
		o.MaxRows, o.By = maxImportRows, records.Caller{Name: "inventoryd import"}
		return o, nil
	}
}

// importFiles imports files (package importer).
func importFiles(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	if len(args) > 0 && args[0] == "netbox" {
		return importNetBox(ctx, env, s, args[1:])
	}
	if len(args) > 0 && args[0] == "containerlab" {
		return importContainerlab(ctx, env, s, args[1:])
	}
	if len(args) > 0 && args[0] == "hosts" {
		return importHosts(ctx, env, s, args[1:])
	}
	flags, parse := importFlags("import")
	format := flags.String("format", "", "`format` of the files, csv, jsonl or yaml; default: that of their endings")
	resource := flags.String("resource", "", "`resource` of the rows, such as devices; default: the names of the files")
	env.Args = args
	if err := env.Parse(flags); err != nil {
		return err
	}
	o, err := parse()
	if err != nil {
		return err
	}
	o.file = importer.FileOptions{Format: *format, Resource: *resource}
	if flags.NArg() == 0 {
		return cli.Usagef("import: name the files to import, such as locations.csv devices.csv")
	}
	return server.Change(ctx, s, server.NewLog(env.Stderr, s), func(engine *records.Engine) (err error) {
		p := newImportProgress(env)
		var sources []importer.Source
		for _, name := range flags.Args() {
			f, err := os.Open(name)
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
			defer func() { _ = f.Close() }() // it was read only
			if info, err := f.Stat(); err == nil {
				p.total += info.Size()
			}
			source, err := importer.Open(name, io.TeeReader(f, p), engine.Store().Schema(), &o.file)
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
			sources = append(sources, source)
		}
		return runImport(ctx, env, engine, sources, o, p)
	})
}

// importNetBox imports what a NetBox has (package netbox).
func importNetBox(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	flags, parse := importFlags("import netbox")
	keep := flags.Bool("keep-unknown", false, "keep the custom fields of NetBox, and texts that have no field here, in custom fields such as netbox_facility")
	env.Args = args
	if err := env.Parse(flags); err != nil {
		return err
	}
	o, err := parse()
	if err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return cli.Usagef("import netbox: takes one argument, the URL of a NetBox, whose API token is NETBOX_TOKEN, or a file of manage.py dumpdata")
	}
	export, err := readNetBox(ctx, env, flags.Arg(0))
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return server.Change(ctx, s, server.NewLog(env.Stderr, s), func(engine *records.Engine) error {
		p := newImportProgress(env)
		if *keep {
			unknown, err := export.KeepUnknown(ctx, engine, o.By, o.DryRun)
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
			printUnknown(env.Stderr, unknown)
		}
		if err := runImport(ctx, env, engine, []importer.Source{export.Source(engine.Store().Schema())}, o, p); err != nil {
			return err
		}
		printUnplaced(env.Stderr, export.Unplaced())
		return nil
	})
}

// maxUnknown is the number of attributes without a field that are listed.
const maxUnknown = 200

// printUnknown lists the attributes that -keep-unknown keeps, and those that it does not.
func printUnknown(w io.Writer, unknown *netbox.Unknown) {
	list := func(title string, all []netbox.Value, of func(v netbox.Value) string) {
		for i, v := range all {
			if i == 0 {
				fmt.Fprintln(w, title)
			}
			if i == maxUnknown {
				fmt.Fprintf(w, "and %d more\n", len(all)-i)
				break
			}
			fmt.Fprintf(w, "%7d %s %s: %s\n", v.Objects, v.Kind, v.Name, of(v))
		}
	}
	list("kept in custom fields:", unknown.Kept, func(v netbox.Value) string { return v.Field })
	list("not kept in custom fields:", unknown.Lost, func(v netbox.Value) string { return v.Reason })
}

// readNetBox reads the NetBox at a URL, or a file.
func readNetBox(ctx context.Context, env cli.Env, from string) (*netbox.Export, error) {
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		return netbox.Fetch(ctx, from, env.Environ["NETBOX_TOKEN"], nil)
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	return netbox.Read(f)
}

// runImport imports the rows of sources and prints the report.
func runImport(ctx context.Context, env cli.Env, engine *records.Engine, sources []importer.Source, o *importOptions, p *importProgress) error {
	rejects := &rejectedFiles{dir: o.rejected, files: map[string]*os.File{}}
	o.Progress, o.Rejected = p.rows, rejects.add
	report, err := importer.Run(ctx, engine, sources, &o.Options)
	p.End()
	err = errors.Join(err, rejects.close())
	lines := json.NewEncoder(env.Stdout)
	for _, c := range report.Changes {
		change := map[string]any{"action": c.Action, "resource_type": c.ResourceType, "changes": c.Changes}
		if c.Action != "create" {
			change["resource_id"] = c.ResourceID
		}
		if err := lines.Encode(change); err != nil {
			return err
		}
	}
	for _, problem := range report.Problems {
		fmt.Fprintln(env.Stderr, problem)
	}
	if report.Truncated {
		fmt.Fprintf(env.Stderr, "and more: the first %d are shown\n", importer.MaxProblems)
	}
	would := ""
	if o.DryRun {
		would = "would be "
	}
	fmt.Fprintf(env.Stderr, "import: %d rows in %.1f s: %d %screated, %d %supdated, %d unchanged, %d rejected\n",
		report.Rows, time.Since(p.begin).Seconds(), report.Created, would, report.Updated, would, report.Unchanged, report.Rejected)
	switch {
	case err != nil:
		return fmt.Errorf("import: %w", err)
	case report.Rejected == 0:
		return nil
	case o.OnError == importer.Stop:
		return fmt.Errorf("import: nothing was changed, because %d of %d rows are rejected: correct them, or use -on-error skip", report.Rejected, report.Rows)
	case o.rejected == "":
		return fmt.Errorf("import: %d of %d rows are rejected: -rejected DIRECTORY writes them to files", report.Rejected, report.Rows)
	}
	return fmt.Errorf("import: %d of %d rows are rejected: correct them in %s, and import them again", report.Rejected, report.Rows, o.rejected)
}

// rejectedFiles are files with the rejected rows, one for each file that was read.
type rejectedFiles struct {
	dir   string
	files map[string]*os.File
	head  string // that was written last
}

func (r *rejectedFiles) add(row *importer.Row) error {
	if r.dir == "" || len(row.Text) == 0 {
		return nil
	}
	f := r.files[row.File]
	if f == nil {
		if err := os.MkdirAll(r.dir, 0o750); err != nil {
			return err
		}
		var err error
		if f, err = os.OpenFile(filepath.Join(r.dir, row.File), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("%w: choose another directory for rejected rows", err)
		}
		r.files[row.File], r.head = f, ""
	}
	if head := row.File + string(row.Head); head != r.head {
		r.head = head
		if _, err := f.Write(row.Head); err != nil {
			return err
		}
	}
	_, err := f.Write(row.Text)
	return err
}

func (r *rejectedFiles) close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// importProgress shows how far an import is. It counts the bytes that are written to it.
type importProgress struct {
	*cli.Progress
	begin       time.Time
	total, done int64 // bytes
}

func newImportProgress(env cli.Env) *importProgress {
	return &importProgress{Progress: cli.NewProgress(env, "import"), begin: time.Now()}
}

func (p *importProgress) Write(b []byte) (int, error) {
	p.done += int64(len(b))
	return len(b), nil
}

func (p *importProgress) rows(rows, rejected int64) {
	p.Show(func(elapsed time.Duration) string {
		text := fmt.Sprintf("%d rows, %d rejected, %.0f rows/s", rows, rejected, float64(rows)/elapsed.Seconds())
		return cli.Part(p.done, p.total, text, text, elapsed)
	})
}
