package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// filters are the flags that choose records.
type filters struct {
	flags  *pflag.FlagSet
	fields map[string]*string // by parameter
	more   []string           // name=value
	text   string
	sort   []string
	below  string
}

// filterFlags adds flags for the filters of a resource: --vendor for each field, and --location for the
// natural key of location_id.
func (a *app) filterFlags(c *cobra.Command, r *records.Resource) *filters {
	flags := c.Flags()
	f := &filters{flags: flags, fields: map[string]*string{}}
	flags.StringArrayVar(&f.more, "filter", nil, "`name=value`: a filter as in the API, such as hostname__startswith=sw; may be repeated")
	flags.StringVarP(&f.text, "search", "q", "", "only records with this `text` in a searched field")
	flags.StringArrayVar(&f.sort, "sort", nil, "`field`, or field:desc; may be repeated")
	flags.StringVar(&f.below, "below", "", "only what is at this `location`, or at one within it")
	for _, p := range r.Parameters() {
		name := p.Field.Name
		if p.Op != records.Eq || flags.Lookup(name) != nil || name == "output" || name == "limit" {
			continue
		}
		if p.Field.Member != "" && flags.Lookup(p.Field.Member) == nil {
			name = p.Field.Member
		}
		f.fields[p.Field.Name] = flags.String(name, "", filterHelp(p.Field))
		_ = c.RegisterFlagCompletionFunc(name, a.completeValues(r, p.Field))
	}
	return f
}

func filterHelp(f *records.Field) string {
	switch {
	case len(f.Enum) > 0:
		return "one of " + strings.Join(f.Enum, ", ")
	case f.Member != "":
		return "the name of one of " + f.Ref.Resource().Name
	}
	return "equal to the `value`"
}

// query returns the filters as parameters.
func (f *filters) query(c *client, r *records.Resource) (url.Values, error) {
	query := url.Values{}
	for name, value := range f.fields {
		field, _ := r.Field(name)
		flag := name
		if field.Member != "" && f.flags.Lookup(field.Member) != nil {
			flag = field.Member
		}
		if !f.flags.Changed(flag) {
			continue
		}
		text := *value
		switch {
		case text == "":
			name, text = name+"__isnull", "true"
		case field.Member != "":
			id, err := c.find(field.Ref.Resource(), text)
			if err != nil {
				return nil, err
			}
			text = id
		}
		query.Set(name, text)
	}
	for _, more := range f.more {
		name, text, ok := strings.Cut(more, "=")
		if !ok {
			return nil, cli.Usagef("--filter %q: use name=value", more)
		}
		query.Add(name, text)
	}
	for _, sort := range f.sort {
		if !strings.Contains(sort, ":") {
			sort += ":asc"
		}
		query.Add("sortby", sort)
	}
	if f.text != "" {
		query.Set("q", f.text)
	}
	if f.below != "" {
		id, err := c.find(records.Of[inventory.Location](c.schema), f.below)
		if err != nil {
			return nil, err
		}
		query.Set("below", id)
	}
	return query, nil
}

// each adds a command for each resource that has an operation.
func (a *app) each(parent *cobra.Command, does records.Routes, add func(r *records.Resource) *cobra.Command) *cobra.Command {
	for _, r := range a.schema.Resources() {
		if !r.Routes.Has(does) {
			continue
		}
		c := add(r)
		c.Use = r.Name + strings.TrimPrefix(c.Use, "RESOURCE")
		if one := singular(r); one != r.Name {
			c.Aliases = []string{one}
		}
		c.Short = r.Describe()
		parent.AddCommand(c)
	}
	parent.FParseErrWhitelist.UnknownFlags = true // of a resource that does not exist
	parent.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cli.Usagef("%s needs a resource, such as devices", c.Name())
		}
		_, err := (&client{app: a, schema: a.schema}).resource(args[0])
		return err
	}
	parent.RunE = func(c *cobra.Command, args []string) error { return parent.Args(c, args) }
	return parent
}

func (a *app) getCommand() *cobra.Command {
	return a.each(&cobra.Command{Use: "get RESOURCE [NAME...]", Short: "List records as a table, JSON or CSV"}, records.RouteList, func(r *records.Resource) *cobra.Command {
		var output, columns string
		var limit int
		var f *filters
		c := &cobra.Command{Use: "RESOURCE [NAME...]", ValidArgsFunction: a.completeNames(r), RunE: a.runs(func(c *client, names []string) error {
			query, err := f.query(c, r)
			if err != nil {
				return err
			}
			if err := c.only(r, names, query); err != nil {
				return err
			}
			return c.print(r, query, output, columns, limit)
		})}
		c.Flags().StringVarP(&output, "output", "o", "table", "the `format`: table, wide, json, jsonl, csv or yaml")
		_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "wide", "json", "jsonl", "csv", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
		c.Flags().StringVar(&columns, "columns", "", "the `fields` of the table, separated by commas")
		c.Flags().IntVar(&limit, "limit", 0, "at most so `many` records; 0 for all")
		f = a.filterFlags(c, r)
		return c
	})
}

// only adds a filter for records by their names.
func (c *client) only(r *records.Resource, names []string, query url.Values) error {
	if len(names) == 0 {
		return nil
	}
	ids := make([]string, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = c.find(r, name); err != nil {
			return err
		}
	}
	query.Set("id__in", strings.Join(ids, ","))
	return nil
}

// print prints the records of a query.
func (c *client) print(r *records.Resource, query url.Values, output, columns string, limit int) error {
	switch output {
	case "table", "wide":
		names := columnsOf(r, output == "wide")
		if columns != "" {
			names = strings.Split(columns, ",")
		}
		return c.printTable(r, query, names, limit)
	case "json":
		return c.printJSON(r, query, limit)
	case "jsonl", "csv", "yaml":
		query.Set("format", output)
		if limit > 0 {
			if limit > 100 {
				return fmt.Errorf("--limit is %d: with this format it is at most 100", limit)
			}
			query.Set("limit", strconv.Itoa(limit))
		}
		body, err := c.api.Open(c.ctx, "/"+r.Name, query)
		if err != nil {
			return err
		}
		defer body.Close()
		_, err = io.Copy(c.env.Stdout, body)
		return err
	}
	return fmt.Errorf("--output is %q: use table, wide, json, jsonl, csv or yaml", output)
}

// rows calls f with each record of a query, with natural keys in place of references if the user may read what
// these refer to.
func (c *client) rows(r *records.Resource, query url.Values, limit int, f func(row map[string]json.RawMessage) error) error {
	query = maps.Clone(query)
	query.Set("format", "jsonl")
	if limit > 0 && limit <= 100 { // else the rest of the response is not read
		query.Set("limit", strconv.Itoa(limit))
	}
	if slices.ContainsFunc(r.Fields(), func(f *records.Field) bool { return f.Member != "" }) {
		query.Set("keys", "natural")
	}
	body, err := c.api.Open(c.ctx, "/"+r.Name, query)
	if denied(err) && query.Has("keys") {
		query.Del("keys") // a token may lack the right to read what the records refer to
		body, err = c.api.Open(c.ctx, "/"+r.Name, query)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxRow)
	for n := 1; lines.Scan(); n++ {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("GET /%s: the response ended early, or is none of an inventory: %w", r.Name, err)
		}
		if err := f(row); err != nil || n == limit {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("GET /%s: the response ended early, or is none of an inventory: %w", r.Name, err)
	}
	return nil
}

// maxRow is the maximum size of a record of a response in bytes.
const maxRow = 16 << 20

// printTable prints records as a table.
func (c *client) printTable(r *records.Resource, query url.Values, columns []string, limit int) error {
	head := make([]string, len(columns))
	for i, name := range columns {
		head[i] = strings.ToUpper(strings.ReplaceAll(name, "_", " "))
	}
	t := newTable(c.env.Stdout, head...)
	n := 0
	err := c.rows(r, query, limit, func(row map[string]json.RawMessage) error {
		cells := make([]string, len(columns))
		for i, name := range columns {
			doc, ok := row[name]
			if f, member := r.ByMember(name); member && !ok {
				doc, ok = row[f.Name]
			}
			if !ok {
				return fmt.Errorf("--columns: %s have no field %q: use some of %s", r.Name, name, strings.Join(settable(r), ", "))
			}
			cells[i] = cell(doc)
		}
		t.row(cells...)
		n++
		return nil
	})
	if err != nil {
		return err
	}
	t.flush()
	if n == 0 {
		printf(c.env.Stderr, "no %s found", r.Name)
	}
	return nil
}

// printJSON prints records as a JSON array, as the server has them.
func (c *client) printJSON(r *records.Resource, query url.Values, limit int) error {
	out := bufio.NewWriter(c.env.Stdout)
	n := 0
	for doc, err := range c.api.Pages(c.ctx, r.Name, query) {
		if err != nil {
			return err
		}
		separator := ",\n"
		if n == 0 {
			separator = "[\n"
		}
		if _, err := out.WriteString(separator + string(doc)); err != nil {
			return err
		}
		if n++; n == limit {
			break
		}
	}
	end := "\n]\n"
	if n == 0 {
		end = "[]\n"
	}
	_, err := out.WriteString(end)
	return errors.Join(err, out.Flush())
}

// related is the number of records that refer to the described one, of each resource, that are shown.
const related = 20

func (a *app) describeCommand() *cobra.Command {
	return a.each(&cobra.Command{Use: "describe RESOURCE NAME", Short: "Show a record, and what refers to it"}, records.RouteGet, func(r *records.Resource) *cobra.Command {
		return &cobra.Command{Use: "RESOURCE NAME", Args: cli.Args(1, 1, "the name of a record"), ValidArgsFunction: a.completeNames(r), RunE: a.runs(func(c *client, args []string) error {
			id, err := c.find(r, args[0])
			if err != nil {
				return err
			}
			return c.describe(r, id)
		})}
	})
}

// describe prints a record and those that refer to it.
func (c *client) describe(r *records.Resource, id string) error {
	var rec map[string]json.RawMessage
	if err := c.get("/"+r.Name+"/"+id, nil, &rec); err != nil {
		return err
	}
	named := rec
	if r.Routes.Has(records.RouteList) {
		err := c.rows(r, url.Values{"id": {id}}, 1, func(row map[string]json.RawMessage) error {
			named = row
			return nil
		})
		if err != nil {
			return err
		}
	}
	t := newTable(c.env.Stdout, strings.ToUpper(r.Noun()), id)
	for _, f := range r.Fields() {
		if f.Name == "" || f.Name == "id" {
			continue
		}
		text := cell(rec[f.Name])
		if f.Member != "" && text != "" {
			text = cell(named[f.Member])
		}
		if text != "" {
			t.row(f.Name, text)
		}
	}
	for name, doc := range rec { // fields that only the server has
		if _, ok := r.Field(name); !ok && cell(doc) != "" {
			t.row(name, cell(doc))
		}
	}
	t.flush()
	for _, of := range c.schema.Resources() {
		for _, f := range of.Fields() {
			if f.Ref == nil || f.Ref.Resource() != r || f.Name == "" || !of.Routes.Has(records.RouteList) || len(of.Keys) == 0 {
				continue
			}
			if err := c.describeRelated(of, f, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeRelated prints the first records that refer to one.
func (c *client) describeRelated(of *records.Resource, f *records.Field, id string) error {
	var page struct {
		Meta struct {
			Total int `json:"total_count"`
		}
	}
	query := url.Values{f.Name: {id}, "limit": {"1"}, "fields": {"id"}}
	err := c.get("/"+of.Name, query, &page)
	if denied(err) {
		return nil
	}
	if err != nil || page.Meta.Total == 0 {
		return err
	}
	title := "\n" + strings.ToUpper(of.Name[:1]) + strings.ReplaceAll(of.Name[1:], "-", " ") + " (" + strconv.Itoa(page.Meta.Total)
	if page.Meta.Total > related {
		title += ", the first " + strconv.Itoa(related)
	}
	printf(c.env.Stdout, "%s, by %s)", title, f.Name)
	query = url.Values{f.Name: {id}, "limit": {strconv.Itoa(related)}}
	columns := []string{}
	for _, name := range columnsOf(of, false) {
		if name != f.Member && name != f.Name {
			columns = append(columns, name)
		}
	}
	return c.printTable(of, query, columns, related)
}
