package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Free addresses and prefixes, and how much of a prefix is used (REFERENCE.md, 2.16).

// prefixRoutes returns the routes of prefixes beyond those of every resource.
func prefixRoutes(schema *records.Schema, prefixes *records.Resource) []route {
	addresses := records.Of[inventory.Address](schema)
	read := permission(prefixes.Access.Read.Or(records.Permission{Everyone: true}))
	return []route{
		{
			"POST", "/prefixes/{id}/next-address", ofAll(permission(addresses.Access.Create.Or(admins))),
			nextFree(addresses, "Create an address record for the lowest free address", (*call).nextAddress), addresses, records.RouteCreate, nil,
		},
		{
			"POST", "/prefixes/{id}/next-prefix", ofAll(permission(prefixes.Access.Create.Or(admins))),
			nextFree(prefixes, "Create a prefix in the lowest free space", (*call).nextPrefix, openapi.Parameter{
				Name: lengthParameter, Required: true, Schema: openapi.Integer("", 1),
				Description: "The prefix length of the new prefix: longer than that of the given one.",
			}), prefixes, records.RouteCreate, nil,
		},
		{"GET", "/prefixes/{id}/usage", read, usage(prefixes), prefixes, records.RouteGet, nil},
	}
}

const lengthParameter = "prefix_length"

// nextFree describes an operation that creates a record with a free value.
func nextFree(r *records.Resource, summary string, handle func(c *call, r *records.Resource) error, more ...openapi.Parameter) operation {
	return operation{openapi.Operation{
		ID: "next" + openapi.Name(r), Tag: "prefixes", Summary: summary,
		Parameters: append(more, openapi.DryRun(), openapi.IdempotencyKey()),
		Body:       openapi.Change(r), OptionalBody: true,
		Responses: []openapi.Response{{
			Status: http.StatusCreated, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag(), openapi.Location()},
		}},
		Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}, func(c *call) error { return handle(c, c.current(r)) }}
}

func (c *call) nextAddress(r *records.Resource) error {
	return c.createNext(r, "address", inventory.NextAddress)
}

func (c *call) nextPrefix(r *records.Resource) error {
	bits, err := strconv.Atoi(c.query.Get(lengthParameter))
	if err != nil {
		return badField(lengthParameter, "must be a number of bits such as 24")
	}
	return c.createNext(r, "prefix", inventory.NextPrefix(bits))
}

// createNext creates a record with a free value of a prefix in a field. The body has its other fields.
func (c *call) createNext(r *records.Resource, field string, next inventory.Space) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	if _, err := records.Get[inventory.Prefix](c.r.Context(), c.store, id); err != nil {
		return err
	}
	body, draft, err := c.readNext(field)
	if err != nil {
		return err
	}
	var rec records.Record
	respond := func() *created {
		path := c.location("")
		path = path[:strings.LastIndex(path, "/prefixes/")]
		return &created{location: path + "/" + r.Name + "/" + rec.Meta().ID, tag: tagOf(rec), body: c.encoders.of(r).append(nil, rec)}
	}
	return c.createOnce(body, func(v *records.Engine) error {
		return inventory.Allocate(c.r.Context(), v, id, next, func(_ context.Context, in *records.Engine, p *inventory.Prefix, value string) error {
			return c.resolving(in, r, []records.Patch{draft}, func(ctx context.Context, in *records.Engine, items []records.Patch) error {
				recs, err := c.decodeDrafts(r, items)
				if err != nil {
					return err
				}
				rec = recs[0]
				set(r, rec, field, value)
				set(r, rec, "vrf_id", p.VRFID)
				return in.Create(ctx, c.caller(), rec)
			})
		})
	}, respond)
}

// set sets a field of a record.
func set(r *records.Resource, rec records.Record, field string, value any) {
	f, _ := r.Field(field)
	if id, ok := value.(*string); ok {
		value = nil
		if id != nil {
			value = *id
		}
	}
	f.Set(rec, value)
}

// readNext reads the body of a request for a free value, which may be empty.
func (c *call) readNext(field string) (body []byte, draft records.Patch, err error) {
	if body, err = httpx.ReadBody(c.r, 0); err != nil {
		return nil, nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return body, records.Patch{}, nil
	}
	if draft, err = c.readOne(); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{field, "vrf_id", "vrf"} {
		if _, ok := draft[name]; ok {
			return nil, nil, badField(name, "follows from the prefix: omit it")
		}
	}
	return body, draft, nil
}

// usage serves how much of a prefix is used.
func usage(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "prefixUsage", Tag: r.Name, Summary: "Count the prefixes and addresses of a prefix",
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("PrefixUsage",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("prefixes", openapi.Integer("The prefixes of the VRF within it.", 0)),
			openapi.Required("addresses", openapi.Integer("The addresses of the VRF within it.", 0)),
			openapi.Required("hosts", openapi.String("The number of addresses that hosts may have, in decimal digits.")),
			openapi.Required("percent", &openapi.Schema{Type: "number", Minimum: new(0.0), Description: "Addresses of hosts; with anycast it may be over 100."}))}},
	}, (*call).usage}
}

func (c *call) usage() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	p, err := records.Get[inventory.Prefix](c.r.Context(), c.store, id)
	if err != nil {
		return err
	}
	u, err := inventory.UsageOf(c.r.Context(), c.store, p)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, func(b []byte) []byte {
		return fmt.Appendf(b, `{"status":"success","prefixes":%d,"addresses":%d,"hosts":"%s","percent":%s}`,
			u.Prefixes, u.Addresses, u.Hosts, strconv.FormatFloat(u.Percent, 'f', -1, 64))
	})
	return nil
}
