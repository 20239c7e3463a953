package main

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/records"
)

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
