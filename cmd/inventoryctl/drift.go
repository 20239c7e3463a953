package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory"
	api "github.com/ashlar-go/ashlar/inventory/client"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxTable bounds a file with a table in bytes: what a server accepts.
const maxTable = 1 << 20

// driftTable is a table that a device has reported.
type driftTable struct {
	Device json.RawMessage `json:"device,omitempty"`
	ID     string          `json:"device_id,omitempty"`
	Kind   string          `json:"kind,omitempty"`
	Rows   json.RawMessage `json:"rows,omitempty"`
	Text   string          `json:"text,omitempty"`

	file string
}

// driftReport is the response of a comparison.
type driftReport struct {
	Message     string
	Differences []struct {
		ID, Type, Resource, Hostname, Interface, Reason string

		Fields             []string
		Expected, Observed map[string]any
		Change             *struct{ Action string }
	}
	Problems []struct {
		Table  int
		Reason string
	}
	Changes []api.Change
}

func (a *app) driftCommand() *cobra.Command {
	var device, kind string
	var choose []string
	var yes, dry bool
	c := &cobra.Command{
		Use: "drift FILE...", Short: "Compare what devices report with the inventory, and apply differences",
		Long: "Compare what devices report with the inventory. A file is a table of neighbours (LLDP, CDP) or interfaces of the device that the file is named after: what ntc-templates or NAPALM have parsed as JSON or YAML, the text of show lldp neighbors detail, or the output of inventory-collect, which has the tables of several devices. The exit code is 1 if there are differences that were not applied.",
		Args: cli.Args(1, math.MaxInt, "files with tables"),
		RunE: a.runs(func(c *client, files []string) error {
			tables, err := c.driftTables(files, device, kind)
			if err != nil {
				return err
			}
			return c.drift(tables, choose, dry, yes)
		}),
	}
	c.Flags().StringVar(&device, "device", "", "the `name` of the device, instead of that of the file")
	_ = c.RegisterFlagCompletionFunc("device", a.completeNames(records.Of[inventory.Device](a.schema)))
	c.Flags().StringVar(&kind, "kind", "", "neighbors or interfaces; default: what the table looks like")
	c.Flags().StringArrayVar(&choose, "apply", nil, "apply differences: all, missing, unexpected, different, or the `id` of one; may be repeated")
	_ = c.RegisterFlagCompletionFunc("apply", cobra.FixedCompletions([]string{"all", "missing", "unexpected", "different"}, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVar(&dry, "dry-run", false, "only show what --apply would change")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// driftTables reads the tables of files.
func (c *client) driftTables(files []string, device, kind string) (tables []driftTable, err error) {
	for _, path := range files {
		info, err := os.Stat(path)
		if err == nil && info.Size() > maxTable {
			err = fmt.Errorf("%s has more than %d MiB: compare parts of it", path, maxTable>>20)
		}
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path) // #nosec G304 -- the user names the file
		if err != nil {
			return nil, err
		}
		var collected struct{ Tables []driftTable }
		if json.Unmarshal(text, &collected) == nil && len(collected.Tables) > 0 {
			for _, t := range collected.Tables {
				t.file = path
				tables = append(tables, t)
			}
			continue
		}
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		id, err := c.find(records.Of[inventory.Device](c.schema), cmp.Or(device, name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w: name the file after its device, or add --device", path, err)
		}
		t := driftTable{ID: id, Kind: kind, file: path}
		if t.Rows = rowsOf(text); t.Rows == nil {
			t.Text = string(text)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// rowsOf returns the rows of a table in JSON or YAML, nil for a text.
func rowsOf(text []byte) json.RawMessage {
	if json.Valid(text) {
		return text
	}
	root, err := yamltree.Parse(text)
	var v any
	if err != nil || root.Decode(&v) != nil {
		return nil
	}
	if all, ok := v.(map[string]any); ok && all["parsed_sample"] != nil { // of the tests of ntc-templates
		v = all["parsed_sample"]
	}
	switch v.(type) {
	case []any, map[string]any:
	default:
		return nil
	}
	rows, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return rows
}

// drift compares tables, prints the differences, and applies chosen ones.
func (c *client) drift(tables []driftTable, choose []string, dry, yes bool) error {
	compare := func(query url.Values, choose []string) (*driftReport, error) {
		report := &driftReport{}
		return report, c.send(http.MethodPost, "/drift", query, map[string]any{"tables": tables, "apply": choose}, report)
	}
	report, err := compare(nil, []string{})
	if err != nil {
		return err
	}
	t := newTable(c.env.Stdout, "ID", "TYPE", "INTERFACE", "EXPECTED", "OBSERVED", "CHANGE")
	for _, d := range report.Differences {
		does := d.Reason
		if d.Change != nil {
			does = d.Change.Action
		}
		t.row(d.ID, d.Type, d.Hostname+":"+d.Interface, part(d.Expected, d.Fields), part(d.Observed, d.Fields), does)
	}
	if len(report.Differences) > 0 {
		t.flush()
	}
	for _, p := range report.Problems {
		if p.Table >= 0 && p.Table < len(tables) {
			printf(c.env.Stderr, "%s: not compared: %s", tables[p.Table].file, cli.Printable(p.Reason))
		}
	}
	if len(report.Differences) == 0 {
		printf(c.env.Stdout, "no differences")
		return nil
	}
	if len(choose) == 0 {
		return errors.New("the devices and the inventory differ")
	}
	plan, err := compare(url.Values{"dry_run": {"true"}}, choose)
	if err != nil {
		return err
	}
	c.printChanges(plan.Changes)
	if dry || len(plan.Changes) == 0 {
		return nil
	}
	if !yes {
		if err := c.confirm(plan.Message + ". Go on?"); err != nil {
			return err
		}
	}
	done, err := compare(nil, choose)
	if err == nil {
		printf(c.env.Stdout, "%s", done.Message)
	}
	return err
}

// part returns the different fields of what was expected or observed, or all.
func part(values map[string]any, fields []string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if text := label(values[name]); text != "" && (len(fields) == 0 || slices.Contains(fields, name)) {
			parts = append(parts, name+"="+text)
		}
	}
	return strings.Join(parts, " ")
}

func (a *app) searchCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "search TEXT", Short: "Find records by names, addresses, MAC addresses, serial numbers and other texts", Args: cli.Args(1, 1, "what to look for"),
		RunE: a.runs(func(c *client, args []string) error {
			var results struct {
				Complete bool
				Data     []struct {
					Resource, ID, Label, Field, Match string

					Record map[string]any
				}
			}
			if err := c.get("/search", url.Values{"q": args, "limit": {fmt.Sprint(limit)}}, &results); err != nil {
				return err
			}
			t := newTable(a.env.Stdout, "RESOURCE", "NAME", "MATCH", "FIELD", "VALUE", "ID")
			for _, r := range results.Data {
				t.row(r.Resource, r.Label, r.Match, r.Field, label(r.Record[r.Field]), r.ID)
			}
			if len(results.Data) > 0 {
				t.flush()
			} else {
				printf(a.env.Stderr, "nothing found")
			}
			if !results.Complete {
				printf(a.env.Stderr, "the search took too long and may lack results: use a longer text")
			}
			return nil
		}),
	}
	c.Flags().IntVar(&limit, "limit", 20, "at most so `many` results, up to 100")
	return c
}
