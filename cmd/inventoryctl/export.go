package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func (a *app) exportCommand() *cobra.Command {
	var dir, format string
	c := &cobra.Command{
		Use: "export -d DIR [RESOURCE...]", Short: "Write the records of resources to files that apply reads",
		Long: "Write the records of resources, by default of all that can be imported, to files that apply reads. They have natural keys in place of ids, so that another inventory may apply them.",
		ValidArgsFunction: func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
			for _, r := range importable(a.schema) {
				names = append(names, r.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(command *cobra.Command, args []string) error {
			if !slices.Contains([]string{"yaml", "jsonl", "csv"}, format) {
				return cli.Usagef("--format is %q: use yaml, jsonl or csv", format)
			}
			return a.loads(func(c *client, args []string) error { return c.export(dir, format, args) })(command, args)
		},
	}
	c.Flags().StringVarP(&dir, "dir", "d", "", "the `directory` of the files")
	c.Flags().StringVar(&format, "format", "yaml", "the `format` of the files: yaml, jsonl or csv")
	_ = c.MarkFlagRequired("dir")
	_ = c.MarkFlagDirname("dir")
	return c
}

// importable returns the resources whose records apply can create.
func importable(schema *records.Schema) []*records.Resource {
	return slices.DeleteFunc(schema.Resources(), func(r *records.Resource) bool { return !importer.Importable(schema, r) })
}

// export writes a file for each resource that has records. Records that others refer to come first in the
// order of resources, not of files, which does not matter to apply.
func (c *client) export(dir, format string, names []string) error {
	known := importable(c.schema)
	var resources []*records.Resource
	for _, name := range names {
		r, err := c.resource(name)
		if err != nil {
			return err
		}
		if !slices.Contains(known, r) {
			return cli.Usagef("%s can't be imported again: use inventoryctl get %s -o %s", r.Name, r.Name, format)
		}
		resources = append(resources, r)
	}
	if len(names) == 0 {
		resources = known
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, r := range resources {
		any, err := c.column(r, url.Values{}, "id", 1)
		switch {
		case len(names) == 0 && denied(err):
			printf(c.env.Stderr, "%s: left out: %v", r.Name, err)
			continue
		case err != nil:
			return err
		case len(any) == 0:
			continue
		}
		if err := c.exportFile(filepath.Join(dir, r.Name+"."+format), r, format); err != nil {
			return err
		}
	}
	return nil
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// exportFile writes the records of a resource. A file is there only when it is complete.
func (c *client) exportFile(path string, r *records.Resource, format string) error {
	query := url.Values{"format": {format}, "keys": {"natural"}}
	body, err := c.api.Open(c.ctx, "/"+r.Name, query)
	if err != nil {
		return err
	}
	defer body.Close()
	p, n := cli.NewProgress(c.env, path), int64(0)
	err = cli.WriteFile(path, 0o600, io.TeeReader(body, writerFunc(func(b []byte) {
		n += int64(len(b))
		p.Show(func(elapsed time.Duration) string { return cli.DoneBytes(n, 0, elapsed) })
	})))
	p.End()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	printf(c.env.Stderr, "%s: %d bytes", path, n)
	return nil
}
