package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/hosts"
	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/topology"
	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// importOptions are the flags that all imports have.
type importOptions struct {
	importer.Options
	rejected string // the directory for rejected rows; "" for none
}

// importKind is a command that imports from a kind of source.
type importKind struct {
	use, short string
	args       cobra.PositionalArgs
	// define defines further flags. It returns the function that imports what the arguments name.
	define func(c *cobra.Command, o *importOptions) func(s *server.Settings, args []string) error
}

// importCommand returns the command import, with those for further sources below it.
func (a *app) importCommand() *cobra.Command {
	one := func(what string) cobra.PositionalArgs { return cli.Args(1, 1, "one argument, "+what) }
	files := func(what string) cobra.PositionalArgs { return cli.Args(1, math.MaxInt, "files: "+what) }
	c := a.importFrom(&importKind{"import FILE...", "Create and change records by CSV, .xlsx, JSON lines and YAML files", files("name those to import, such as locations.csv devices.csv"), a.importFiles})
	c.AddCommand(
		a.importFrom(&importKind{"netbox URL|FILE|FOLDER", "The same from a NetBox, or from its library of device types", one("the URL of a NetBox, whose API token is NETBOX_TOKEN, a file of manage.py dumpdata, or YAML of device types: a file or a folder"), a.importNetBox}),
		a.importFrom(&importKind{"containerlab FILE", "The same from the topology of a lab", one("the file of a topology, such as lab.clab.yml"), a.importTopology(topology.ReadLab)}),
		a.importFrom(&importKind{"graphml FILE", "The same from a network in GraphML", one("the file of a graph, such as core.graphml"), a.importTopology(topology.ReadGraphML)}),
		a.importFrom(&importKind{"hosts FILE...", "The same from an inventory of Ansible", files("name those of one inventory of Ansible, such as inventory.ini"), a.importHosts}),
	)
	return c
}

func (a *app) importFrom(k *importKind) *cobra.Command {
	c := &cobra.Command{Use: k.use, Short: k.short, Args: k.args}
	o := &importOptions{}
	onError := c.Flags().String("on-error", "stop", fmt.Sprintf("what a rejected row does: stop changes nothing, with at most %d rows; skip applies the others", importer.DefaultMaxRows))
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "change nothing, and print what would change as JSON lines")
	c.Flags().StringVar(&o.rejected, "rejected", "", "`directory` for files with the rejected rows, to correct and import again")
	run := k.define(c, o)
	c.RunE = func(c *cobra.Command, args []string) error {
		switch *onError {
		case "stop":
		case "skip":
			o.OnError = importer.Skip
		default:
			return cli.Usagef("-on-error is %q: use stop or skip", *onError)
		}
		o.By = records.Caller{Name: "inventoryd import"}
		return a.with(func(s *server.Settings) error {
			if err := run(s, args); err != nil {
				return fmt.Errorf("import: %w", err)
			}
			return nil
		})
	}
	return c
}

// change calls f with the engine of the database.
func (a *app) change(c *cobra.Command, s *server.Settings, f func(engine *records.Engine) error) error {
	return server.Change(c.Context(), s, server.NewLog(a.env.Stderr, s), f)
}

// importFiles imports files (package importer).
func (a *app) importFiles(c *cobra.Command, o *importOptions) func(s *server.Settings, args []string) error {
	file := importer.FileOptions{}
	c.Flags().StringVar(&file.Format, "format", "", "`format` of the files, csv, xlsx, jsonl or yaml; default: that of their endings")
	c.Flags().StringVar(&file.Resource, "resource", "", "`resource` of the rows, such as devices; default: the names of the files")
	return func(s *server.Settings, args []string) error {
		return a.change(c, s, func(engine *records.Engine) error {
			p := newImportProgress(a.env)
			var sources []importer.Source
			for _, name := range args {
				f, err := os.Open(name)
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }() // it was read only
				if info, err := f.Stat(); err == nil {
					p.total += info.Size()
				}
				source, err := importer.Open(name, io.TeeReader(f, p), engine.Store().Schema(), &file)
				if err != nil {
					return err
				}
				sources = append(sources, source)
			}
			return runImport(c.Context(), a.env, engine, sources, o, p)
		})
	}
}

// importNetBox imports what a NetBox has (package netbox).
func (a *app) importNetBox(c *cobra.Command, o *importOptions) func(s *server.Settings, args []string) error {
	keep := c.Flags().Bool("keep-unknown", false, "keep the custom fields of NetBox, and texts that have no field here, in custom fields such as netbox_facility")
	return func(s *server.Settings, args []string) error {
		export, err := readNetBox(c.Context(), a.env, args[0])
		if err != nil {
			return err
		}
		return a.importSource(c, s, o, export.Unplaced, func(engine *records.Engine) (importer.Source, error) {
			if *keep {
				kept, err := export.KeepUnknown(c.Context(), engine, o.By, o.DryRun)
				if err != nil {
					return nil, err
				}
				printCounts(a.env.Stderr, "kept in custom fields:", kept)
			}
			return export.Source(engine.Store().Schema()), nil
		})
	}
}

// readNetBox reads the NetBox at a URL, its fixtures, or device types.
func readNetBox(ctx context.Context, env cli.Env, from string) (*netbox.Export, error) {
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		return netbox.Fetch(ctx, from, env.Environ["NETBOX_TOKEN"], nil)
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err == nil && info.IsDir() || netbox.IsTypes(from) {
		return netbox.ReadTypes(from)
	}
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
		return err
	case report.Rejected == 0:
		return nil
	case o.OnError == importer.Stop:
		return fmt.Errorf("nothing was changed, because %d of %d rows are rejected: correct them, or use -on-error skip", report.Rejected, report.Rows)
	case o.rejected == "":
		return fmt.Errorf("%d of %d rows are rejected: -rejected DIRECTORY writes them to files", report.Rejected, report.Rows)
	}
	return fmt.Errorf("%d of %d rows are rejected: correct them in %s, and import them again", report.Rejected, report.Rows, o.rejected)
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

func (p *importProgress) rows(read, applied, rejected int64) {
	p.Show(func(elapsed time.Duration) string {
		done, total := p.done, p.total
		if done >= total { // all is read
			done, total = applied, read
		}
		text := fmt.Sprintf("%d of %d rows applied, %d rejected, %.0f rows/s", applied, read, rejected, float64(applied)/elapsed.Seconds())
		return cli.Part(done, total, text, text, elapsed)
	})
}

// importTopology returns the function that imports a topology (package topology) in the form that read reads.
func (a *app) importTopology(read func(name string, r io.Reader) (*topology.Topology, error)) func(*cobra.Command, *importOptions) func(*server.Settings, []string) error {
	return func(c *cobra.Command, o *importOptions) func(s *server.Settings, args []string) error {
		return func(s *server.Settings, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }() // it was read only
			network, err := read(args[0], f)
			if err != nil {
				return err
			}
			return a.importSource(c, s, o, network.Unplaced, func(engine *records.Engine) (importer.Source, error) {
				return network.Source(engine.Store().Schema()), nil
			})
		}
	}
}

// importHosts imports inventories of Ansible (package hosts).
func (a *app) importHosts(c *cobra.Command, o *importOptions) func(s *server.Settings, args []string) error {
	format := c.Flags().String("format", "", "`format` of the files; ansible is the only one")
	return func(s *server.Settings, args []string) error {
		if *format != "" && *format != "ansible" {
			return cli.Usagef("-format is %q: use ansible, or import a CSV file", *format)
		}
		var files []hosts.File
		for _, name := range args {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }() // it was read only
			files = append(files, hosts.File{Name: name, Reader: f})
		}
		found, err := hosts.Read(files...)
		if err != nil {
			return err
		}
		return a.importSource(c, s, o, found.Unplaced, func(engine *records.Engine) (importer.Source, error) {
			return found.Source(c.Context(), engine)
		})
	}
}

// importSource imports the rows of a source and lists what has no counterpart in the inventory.
func (a *app) importSource(c *cobra.Command, s *server.Settings, o *importOptions, unplaced func() []importer.Count,
	open func(engine *records.Engine) (importer.Source, error),
) error {
	return a.change(c, s, func(engine *records.Engine) error {
		source, err := open(engine)
		if err != nil {
			return err
		}
		err = runImport(c.Context(), a.env, engine, []importer.Source{source}, o, newImportProgress(a.env))
		printCounts(a.env.Stderr, "not imported, because the inventory has no counterpart for them:", unplaced())
		return err
	})
}

// printCounts lists the kinds that most objects have, below a title.
func printCounts(w io.Writer, title string, all []importer.Count) {
	const most = 200
	for i, c := range all[:min(len(all), most)] {
		if i == 0 {
			fmt.Fprintln(w, title)
		}
		fmt.Fprintf(w, "%7d %s\n", c.Objects, c.Kind)
	}
	if len(all) > most {
		fmt.Fprintf(w, "and %d more\n", len(all)-most)
	}
}
