package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/hosts"
	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/topology"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

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
