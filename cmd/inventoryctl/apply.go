package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	api "github.com/ashlar-go/ashlar/inventory/client"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// applyOptions say how files are applied.
type applyOptions struct {
	reject  bool   // records that exist
	propose string // a comment
	prune   bool   // delete the records that no row is for
	yes     bool   // do not ask
	dry     bool
	differ  bool // an error if there are differences
}

// errDiffer ends diff if there are differences.
var errDiffer = errors.New("the files and the inventory differ")

func (a *app) applyCommand() *cobra.Command {
	o := &applyOptions{}
	c := a.importing(o, "also delete the records of the resources in the files that no row is for", &cobra.Command{
		Use: "apply -f FILE|DIR", Short: "Make the inventory what files say, in one transaction",
		Long: "Make the inventory what files say: print what would change, ask, and change it in one transaction. A row creates a record, or changes the one with its natural key. With --prune the records of the resources in the files that no row is for are deleted.",
	})
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only print what would change")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	c.Flags().StringVar(&o.propose, "propose", "", "propose the changes to another user, with a `comment`, instead of making them")
	return c
}

func (a *app) diffCommand() *cobra.Command {
	return a.importing(&applyOptions{dry: true, differ: true}, "also show the records that apply --prune would delete", &cobra.Command{
		Use: "diff -f FILE|DIR", Short: "Show what apply would change; the exit code is 1 if there is something",
	})
}

// importing makes c a command that applies files.
func (a *app) importing(o *applyOptions, pruneHelp string, c *cobra.Command) *cobra.Command {
	var files []string
	c.Args = cli.Args(0, 0, "no arguments beside -f")
	c.RunE = a.loads(func(c *client, _ []string) error {
		return c.applyFiles(files, o)
	})
	c.Flags().StringArrayVarP(&files, "file", "f", nil, "a `file` with records in CSV, .xlsx, JSON lines or YAML, or a directory of such files; may be repeated")
	_ = c.MarkFlagRequired("file")
	c.Flags().BoolVar(&o.prune, "prune", false, pruneHelp)
	return c
}

// applyFiles prints what files would change, asks, and applies them.
func (c *client) applyFiles(files []string, o *applyOptions) error {
	body, lines, err := c.readRows(files)
	if err != nil {
		return err
	}
	apply := func(dry bool, propose string) (*api.Report, error) {
		defer c.waiting("apply", len(body))()
		report, err := c.api.Import(c.ctx, body, &api.Import{Format: importer.JSONL, Reject: o.reject, Prune: o.prune, DryRun: dry, Propose: propose})
		if failed, ok := errors.AsType[*api.Error](err); ok {
			for _, p := range failed.Problems {
				err = fmt.Errorf("%w\n  %s", err, cli.Printable(lines.problem(p)))
			}
		}
		return report, err
	}
	plan, err := apply(true, "")
	if err != nil {
		return err
	}
	changes := plan.Created + plan.Updated + plan.Deleted
	if o.dry || !o.yes {
		c.printChanges(plan.Changes)
		if plan.Truncated {
			printf(c.env.Stdout, "and more: the first %d are shown", len(plan.Changes))
		}
	}
	summary := fmt.Sprintf("%d to create, %d to change, %d to delete, %d unchanged", plan.Created, plan.Updated, plan.Deleted, plan.Unchanged)
	switch {
	case changes == 0:
		printf(c.env.Stdout, "nothing to change: %s", cli.Count(plan.Unchanged, "record"))
		return nil
	case o.dry:
		printf(c.env.Stdout, "%s", summary)
		if o.differ {
			return errDiffer
		}
		return nil
	case !o.yes:
		if err := c.confirm(summary + ". Go on?"); err != nil {
			return err
		}
	}
	done, err := apply(false, o.propose)
	if err != nil {
		return err
	}
	if o.propose != "" {
		printf(c.env.Stdout, "proposed: %s", done.ID)
		return nil
	}
	printf(c.env.Stdout, "%d created, %d changed, %d deleted, %d unchanged", done.Created, done.Updated, done.Deleted, done.Unchanged)
	return nil
}

// waiting shows that the server works on a body until stop is called.
func (a *app) waiting(name string, size int) (stop func()) {
	return cli.NewProgress(a.env, name).Watch(func(elapsed time.Duration) string {
		return fmt.Sprintf("the server works on %d KB, for %s so far", size/1000, elapsed.Round(time.Second))
	})
}

// positions holds the file and line of each row.
type positions []string

// problem returns what is wrong with a row, with its file and line.
func (p positions) problem(of api.Problem) string {
	at := ""
	if of.Line > 0 && of.Line <= len(p) {
		at = p[of.Line-1] + ": "
	}
	text := at + of.Column
	if of.Value != "" {
		text += fmt.Sprintf(" %q", of.Value)
	}
	return strings.TrimSuffix(text, ": ") + " " + of.Reason
}

// readRows reads files into JSON lines, whose order does not matter.
func (c *client) readRows(names []string) (body []byte, at positions, err error) {
	paths, err := filesOf(names)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		if err := c.readFile(path, &body, &at); err != nil {
			return nil, nil, err
		}
	}
	if len(at) == 0 {
		return nil, nil, cli.Usagef("%s: no rows", strings.Join(names, ", "))
	}
	return body, at, nil
}

// readFile adds the rows of a file.
func (c *client) readFile(path string, body *[]byte, at *positions) error {
	f, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return err
	}
	defer f.Close()
	source, err := importer.Open(path, f, c.schema, nil)
	var wrong []string
	for err == nil {
		var row *importer.Row
		if row, err = source.Next(); err != nil {
			break
		}
		for _, p := range row.Problems {
			p.File = path
			wrong = append(wrong, p.String())
		}
		row.Patch["_resource"], _ = json.Marshal(row.Resource.Name)
		doc, err := json.Marshal(row.Patch)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, row.Line, err)
		}
		*body = append(append(*body, doc...), '\n')
		*at = append(*at, fmt.Sprintf("%s:%d", path, row.Line))
		if len(*body) > importer.MaxBytes || len(*at) > importer.DefaultMaxRows {
			return fmt.Errorf("%s:%d: the files have more than %d rows, or %d MiB as JSON lines, which one transaction applies: apply parts of them, or use inventoryd import", path, row.Line, importer.DefaultMaxRows, importer.MaxBytes>>20)
		}
	}
	switch {
	case len(wrong) > 0:
		return errors.New(strings.Join(wrong, "\n"))
	case errors.Is(err, io.EOF):
		return nil
	}
	if bad, ok := errors.AsType[*importer.FileError](err); ok { // which has the name without the directory
		return fmt.Errorf("%s%s", strings.TrimSuffix(path, filepath.Base(path)), bad.Error())
	}
	return fmt.Errorf("%s: %w", path, err)
}

// filesOf returns the files with rows, those of directories sorted.
func filesOf(names []string) (paths []string, err error) {
	endings := []string{".csv", ".xlsx", ".jsonl", ".ndjson", ".yaml", ".yml"}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			paths = append(paths, name)
			continue
		}
		before := len(paths)
		err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && slices.Contains(endings, strings.ToLower(filepath.Ext(path))) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(paths) == before {
			return nil, cli.Usagef("%s has no files that end in %s", name, strings.Join(endings, ", "))
		}
	}
	return paths, nil
}

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
