package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory"
	api "github.com/ashlar-go/ashlar/inventory/client"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// client sends requests to the server of a context.
type client struct {
	*app
	api    *api.Client
	ctx    context.Context
	schema *records.Schema // with the custom fields of the server, see load
}

// connect returns the client of a server, which sends a request up to so many times; 0 is the default of the client.
func (a *app) connect(ctx context.Context, p *profile, attempts int) (*client, error) {
	c, err := api.New(p.Server, &api.Options{Token: p.Token, Attempts: attempts, Schema: a.schema, Retry: func(wait time.Duration, reason error) {
		if refused, ok := errors.AsType[*api.Error](reason); ok && refused.Status == http.StatusTooManyRequests {
			printf(a.env.Stderr, "the server has too many requests: waiting for %.0f s", wait.Seconds())
			return
		}
		printf(a.env.Stderr, "%s: trying again in %v", cli.Printable(reason.Error()), wait.Round(time.Millisecond))
	}})
	if err != nil {
		return nil, cli.Usagef("the token, of the login or INVENTORY_TOKEN, or the URL: %w", err)
	}
	return &client{app: a, api: c, ctx: ctx, schema: a.schema}, nil
}

// action is what a command does.
type action = func(c *client, args []string) error

// runs returns the function of a command, with the client of its context.
func (a *app) runs(do action) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		p, err := a.profile()
		if err != nil {
			return err
		}
		c, err := a.connect(command.Context(), p, 0)
		if err == nil {
			err = do(c, args)
		}
		if failed, ok := errors.AsType[*api.Error](err); ok && failed.Status == http.StatusUnauthorized {
			err = fmt.Errorf("%w\n  run inventoryctl login", err)
		}
		return err
	}
}

// loads is runs with the custom fields of the server.
func (a *app) loads(do action) func(*cobra.Command, []string) error {
	return a.runs(func(c *client, args []string) error {
		if err := c.load(); err != nil {
			return err
		}
		return do(c, args)
	})
}

// maxFields is the maximum number of custom fields of a server.
const maxFields = 10_000

// load adds the custom fields of the server to the schema, if the user may read them.
func (c *client) load() error {
	var fields []records.Record
	for f, err := range api.List[inventory.CustomField](c.ctx, c.api, nil) {
		switch {
		case denied(err):
			return nil
		case err == nil && len(fields) == maxFields:
			err = fmt.Errorf("the server has more than %d custom fields", maxFields)
		}
		if err != nil {
			return err
		}
		fields = append(fields, f)
	}
	schema, err := c.schema.Declared(fields)
	if err == nil {
		c.schema = schema
	}
	return err
}

// denied reports whether a server refuses access, or does not have what was asked for.
func denied(err error) bool {
	failed, ok := errors.AsType[*api.Error](err)
	return ok && (failed.Status == http.StatusForbidden || failed.Status == http.StatusNotFound)
}

// send sends JSON and reads JSON. in and out may be nil.
func (c *client) send(method, path string, query url.Values, in, out any) error {
	return c.api.Do(c.ctx, method, path, query, in, out)
}

func (c *client) get(path string, query url.Values, out any) error {
	return c.send(http.MethodGet, path, query, nil, out)
}

// column returns the values of a field of the first records of a list.
func (c *client) column(r *records.Resource, query url.Values, field string, limit int) (values []string, err error) {
	query = maps.Clone(query)
	query.Set("fields", field)
	query.Set("limit", strconv.Itoa(limit))
	query.Set("count", "none")
	var page struct{ Data []map[string]any }
	err = c.get("/"+r.Name, query, &page)
	for _, rec := range page.Data {
		values = append(values, label(rec[field]))
	}
	return values, err
}

// resource returns a resource by its name: devices, or device.
func (c *client) resource(name string) (*records.Resource, error) {
	var names []string
	for _, r := range c.schema.Resources() {
		if names = append(names, r.Name); r.Name == name || singular(r) == name {
			return r, nil
		}
	}
	meant := ""
	if close := suggest.Closest(name, names, max(2, len(name)/2)); close != "" {
		meant = fmt.Sprintf("did you mean %s? ", close)
	}
	return nil, cli.Usagef("there is no resource %q: %suse one of %s", name, meant, strings.Join(names, ", "))
}

// singular returns the name of one record: device.
func singular(r *records.Resource) string { return strings.ReplaceAll(r.Kind(), "_", "-") }
