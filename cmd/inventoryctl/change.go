package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	api "github.com/ashlar-go/ashlar/inventory/client"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func (a *app) createCommand() *cobra.Command {
	var files []string
	parent := &cobra.Command{Use: "create RESOURCE FIELD=VALUE... | create -f FILE", Short: "Create records"}
	a.each(parent, records.RouteCreate, func(r *records.Resource) *cobra.Command {
		return &cobra.Command{Use: "RESOURCE FIELD=VALUE...", Args: cli.Args(1, math.MaxInt, "values such as name=Vienna"), ValidArgsFunction: a.completeFields(r, 0), RunE: a.loads(func(c *client, args []string) error {
			of, _ := c.schema.Named(r.Name)
			body, err := values(of, args)
			if err != nil {
				return err
			}
			var made struct{ ID string }
			if err := c.send(http.MethodPost, "/"+r.Name, nil, body, &made); err != nil {
				return err
			}
			printf(a.env.Stdout, "%s", made.ID)
			return nil
		})}
	})
	parent.Flags().StringArrayVarP(&files, "file", "f", nil, "a `file` or directory with new records: CSV, .xlsx, JSON lines or YAML; may be repeated")
	args := parent.Args
	parent.Args = func(c *cobra.Command, names []string) error {
		if len(files) > 0 {
			return nil
		}
		return args(c, names)
	}
	parent.RunE = a.loads(func(c *client, _ []string) error {
		return c.applyFiles(files, &applyOptions{reject: true, yes: true})
	})
	return parent
}

func (a *app) setCommand() *cobra.Command {
	return a.each(&cobra.Command{Use: "set RESOURCE NAME FIELD=VALUE...", Short: "Change fields of a record"}, records.RouteChange, func(r *records.Resource) *cobra.Command {
		var dry bool
		c := &cobra.Command{Use: "RESOURCE NAME FIELD=VALUE...", Args: cli.Args(2, math.MaxInt, "the name of a record, and values such as status=active"), ValidArgsFunction: a.completeFields(r, 1), RunE: a.loads(func(c *client, args []string) error {
			of, _ := c.schema.Named(r.Name)
			id, err := c.find(of, args[0])
			if err != nil {
				return err
			}
			body, err := values(of, args[1:])
			if err != nil {
				return err
			}
			query := url.Values{"dry_run": {"true"}}
			var would struct{ Changes []api.Change }
			if err := c.send(http.MethodPatch, "/"+r.Name+"/"+id, query, body, &would); err != nil {
				return err
			}
			c.printChanges(would.Changes)
			if dry || len(would.Changes) == 0 {
				return nil
			}
			return c.send(http.MethodPatch, "/"+r.Name+"/"+id, nil, body, nil)
		})}
		c.Flags().BoolVar(&dry, "dry-run", false, "only show what would change")
		return c
	})
}

// deleteAtOnce is the number of records of one request, and transaction.
const deleteAtOnce = 500

func (a *app) deleteCommand() *cobra.Command {
	return a.each(&cobra.Command{Use: "delete RESOURCE NAME...", Short: "Delete records, by name or by filters"}, records.RouteDelete, func(r *records.Resource) *cobra.Command {
		var all, yes bool
		var f *filters
		c := &cobra.Command{Use: "RESOURCE NAME...", ValidArgsFunction: a.completeNames(r), RunE: a.runs(func(c *client, names []string) error {
			query, err := f.query(c, r)
			if err != nil {
				return err
			}
			switch {
			case len(names) == 0 && len(query) == 0 && !all:
				return cli.Usagef("delete: name the records, choose them by filters, or add --all")
			case all && len(names)+len(query) > 0:
				return cli.Usagef("delete: --all is for all records: leave out names and filters")
			}
			if err := c.only(r, names, query); err != nil {
				return err
			}
			return c.remove(r, query, yes)
		})}
		f = a.filterFlags(c, r)
		c.Flags().BoolVar(&all, "all", false, "delete all records of the resource")
		c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
		return c
	})
}

// remove deletes the records of a query.
func (c *client) remove(r *records.Resource, query url.Values, yes bool) error {
	var ids []string
	query.Set("fields", "id")
	for doc, err := range c.api.Pages(c.ctx, r.Name, query) {
		var rec struct{ ID string }
		if err == nil {
			err = json.Unmarshal(doc, &rec)
		}
		if err != nil {
			return err
		}
		ids = append(ids, rec.ID)
	}
	if len(ids) == 0 {
		printf(c.env.Stderr, "no %s found", r.Name)
		return nil
	}
	if !yes {
		if err := c.confirm(fmt.Sprintf("Delete %s, and what belongs to them?", cli.Count(len(ids), r.Noun()))); err != nil {
			return err
		}
	}
	done := 0
	for chunk := range slices.Chunk(ids, deleteAtOnce) {
		if err := c.send(http.MethodDelete, "/"+r.Name, nil, chunk, nil); err != nil {
			if done > 0 {
				printf(c.env.Stderr, "%d of %d were deleted before", done, len(ids))
			}
			return err
		}
		done += len(chunk)
	}
	printf(c.env.Stdout, "deleted %s", cli.Count(done, r.Noun()))
	return nil
}

// printChanges prints what would change, a line for each record and field.
func (c *client) printChanges(changes []api.Change) {
	signs := map[string]string{"create": "+", "update": "~", "delete": "-"}
	for _, ch := range changes {
		because := ""
		if ch.Cause != "" {
			because = " (because of " + ch.Cause + ")"
		}
		printf(c.env.Stdout, "%s %s %s%s", cmp.Or(signs[ch.Action], ch.Action), ch.ResourceType, cli.Printable(c.nameOf(ch)), because)
		if ch.Action == "delete" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(ch.Changes)) {
			f := ch.Changes[name]
			switch {
			case ch.Action == "create" && (label(f.After) == "" || name == "id" || name == "version" || strings.HasSuffix(name, "_at")):
			case ch.Action == "create":
				printf(c.env.Stdout, "    %s: %s", name, cli.Printable(label(f.After)))
			default:
				printf(c.env.Stdout, "    %s: %s → %s", name, shown(f.Before), shown(f.After))
			}
		}
	}
}

func shown(v any) string {
	if text := label(v); text != "" {
		return cli.Printable(text)
	}
	return `""`
}

// nameOf returns the name of a changed record: what the change has of it, or what the server has.
func (c *client) nameOf(ch api.Change) string {
	for _, r := range c.schema.Resources() {
		if r.Kind() != ch.ResourceType {
			continue
		}
		for _, f := range r.ShortKeys() {
			if v, ok := ch.Changes[f.Name]; ok {
				if text := cmp.Or(label(v.Before), label(v.After)); text != "" {
					return text
				}
			}
		}
		if ch.ResourceID == "" {
			return ""
		}
		var rec map[string]json.RawMessage
		if c.get("/"+r.Name+"/"+ch.ResourceID, nil, &rec) == nil {
			for _, f := range r.ShortKeys() {
				if text := cell(rec[f.Name]); text != "" {
					return text
				}
			}
		}
	}
	return ch.ResourceID
}
