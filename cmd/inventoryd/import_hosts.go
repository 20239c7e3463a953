package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/importer/containerlab"
	"github.com/ashlar-go/ashlar/inventory/importer/hosts"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// importContainerlab imports a topology (package containerlab).
func importContainerlab(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	flags, parse := importFlags("import containerlab")
	env.Args = args
	if err := env.Parse(flags); err != nil {
		return err
	}
	o, err := parse()
	if err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return cli.Usagef("import containerlab: takes one argument, the file of a topology, such as lab.clab.yml")
	}
	f, err := os.Open(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read only
	lab, err := containerlab.Read(flags.Arg(0), f)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return importSource(ctx, env, s, o, lab.Unplaced(), func(engine *records.Engine) (importer.Source, error) {
		return lab.Source(engine.Store().Schema())
	})
}

// importHosts imports inventories of Ansible (package hosts).
func importHosts(ctx context.Context, env cli.Env, s *server.Settings, args []string) error {
	flags, parse := importFlags("import hosts")
	format := flags.String("format", "", "`format` of the files; ansible is the only one")
	env.Args = args
	if err := env.Parse(flags); err != nil {
		return err
	}
	o, err := parse()
	switch {
	case err != nil:
		return err
	case *format != "" && *format != "ansible":
		return cli.Usagef("-format is %q: use ansible, or import a CSV file", *format)
	case flags.NArg() == 0:
		return cli.Usagef("import hosts: name the files of one inventory: inventory.ini or inventory.yaml of Ansible")
	}
	var files []hosts.File
	for _, name := range flags.Args() {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer func() { _ = f.Close() }() // it was read only
		files = append(files, hosts.File{Name: name, Reader: f})
	}
	found, err := hosts.Read(files...)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return importSource(ctx, env, s, o, found.Unplaced(), func(engine *records.Engine) (importer.Source, error) {
		return found.Source(ctx, engine)
	})
}

// importSource imports the rows of a source and lists what has no place.
func importSource(ctx context.Context, env cli.Env, s *server.Settings, o *importOptions, unplaced []importer.Count,
	open func(engine *records.Engine) (importer.Source, error),
) error {
	return server.Change(ctx, s, server.NewLog(env.Stderr, s), func(engine *records.Engine) error {
		source, err := open(engine)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		p := newImportProgress(env)
		err = runImport(ctx, env, engine, []importer.Source{source}, o, p)
		printUnplaced(env.Stderr, unplaced)
		return err
	})
}

// printUnplaced lists what has no place in the inventory.
func printUnplaced(w io.Writer, all []importer.Count) {
	for i, c := range all {
		if i == 0 {
			fmt.Fprintln(w, "not imported, because the inventory has no place for them:")
		}
		fmt.Fprintf(w, "%7d %s\n", c.Objects, c.Kind)
	}
}
