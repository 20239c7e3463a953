// Package ipam is the feature of prefixes and addresses: the next free ones, and how much of a prefix is used
// (REFERENCE.md, 2.16).
package ipam

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"prefixes": &inventory.Prefix{}, "addresses": &inventory.Address{}},
		Pages: pages(),
		Operations: []feature.Operation{
			nextFree(openapi.Operation{
				Path: "/prefixes/{id}/next-address", ID: "nextAddress", Summary: "Create an address record for the lowest free address",
			}, "addresses", func(ctx context.Context, r *feature.Request) (*feature.Response, error) {
				return createNext(ctx, r, "addresses", "address", inventory.NextAddress)
			}),
			nextFree(openapi.Operation{
				Path: "/prefixes/{id}/next-prefix", ID: "nextPrefix", Summary: "Create a prefix in the lowest free space",
				Parameters: []openapi.Parameter{{
					Name: lengthParameter, Required: true, Schema: openapi.Integer("", 1),
					Description: "The prefix length of the new prefix: longer than that of the given one.",
				}},
			}, "prefixes", nextPrefix),
			usage(),
		},
	}
}

const lengthParameter = "prefix_length"

// nextFree completes an operation that creates a record with a free value.
func nextFree(doc openapi.Operation, resource string, handle func(context.Context, *feature.Request) (*feature.Response, error)) feature.Operation {
	doc.Method, doc.Tag, doc.OptionalBody = http.MethodPost, "prefixes", true
	doc.Parameters = append(doc.Parameters, openapi.DryRun(), openapi.IdempotencyKey())
	doc.Errors = []int{http.StatusConflict, http.StatusUnprocessableEntity}
	return feature.Operation{
		Operation: doc, Resource: resource, Does: records.RouteCreate, Handle: handle,
		Describe: func(schema *records.Schema, op *openapi.Operation) {
			r, _ := schema.Named(resource)
			op.Body = openapi.Change(r)
			op.Responses = []openapi.Response{{
				Status: http.StatusCreated, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag(), openapi.Location()},
			}}
		},
	}
}

func nextPrefix(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	bits, err := strconv.Atoi(r.Query.Get(lengthParameter))
	if err != nil {
		return nil, records.Refuse(lengthParameter, records.WrongType("a number of bits such as 24"))
	}
	return createNext(ctx, r, "prefixes", "prefix", inventory.NextPrefix(bits))
}

// createNext creates a record with a free value of a prefix in a field. The body has its other fields.
func createNext(ctx context.Context, request *feature.Request, resource, field string, next inventory.Space) (*feature.Response, error) {
	id, err := request.ID()
	if err != nil {
		return nil, err
	}
	from := request.Inventory.Records()
	if _, err := records.Get[inventory.Prefix](ctx, from, id); err != nil {
		return nil, err
	}
	body, draft, err := readNext(request.HTTP, field)
	if err != nil {
		return nil, err
	}
	r, _ := from.Schema().Named(resource)
	return request.Inventory.Create(ctx, body, func(v *records.Engine) (rec records.Record, err error) {
		err = inventory.Allocate(ctx, v, id, next, func(ctx context.Context, in *records.Engine, p *inventory.Prefix, value string) (err error) {
			sent := maps.Clone(draft)
			sent[field], _ = json.Marshal(value) // texts can be encoded
			sent["vrf_id"], _ = json.Marshal(p.VRFID)
			if rec, err = request.Inventory.Draft(ctx, in, r, sent); err != nil {
				return err
			}
			return in.Create(ctx, request.Inventory.Sender(), rec)
		})
		return rec, err
	})
}

// other reads the other fields.
var other = httpx.NewBody[records.Patch](nil)

// readNext reads the body of a request for a free value, which may be empty.
func readNext(r *http.Request, field string) (body []byte, draft records.Patch, err error) {
	if body, err = httpx.ReadBody(r, 0); err != nil { // other reads it again
		return nil, nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return body, records.Patch{}, nil
	}
	if draft, err = other.Read(r); err == nil && draft == nil {
		err = records.Refuse("body", records.WrongType("an object, not null"))
	}
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{field, "vrf_id", "vrf"} {
		if _, ok := draft[name]; ok {
			return nil, nil, records.Refuse(name, records.NotAllowed("since it follows from the prefix"))
		}
	}
	return body, draft, nil
}

// usage serves how much of a prefix is used.
func usage() feature.Operation {
	return feature.Operation{
		Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/prefixes/{id}/usage",
			ID: "prefixUsage", Tag: "prefixes", Summary: "Count the prefixes and addresses of a prefix",
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("PrefixUsage",
				openapi.Required("status", openapi.Const("success")),
				openapi.Required("prefixes", openapi.Integer("The prefixes of the VRF within it.", 0)),
				openapi.Required("addresses", openapi.Integer("The addresses of the VRF within it.", 0)),
				openapi.Required("hosts", openapi.String("The number of addresses that hosts may have, in decimal digits.")),
				openapi.Required("percent", &openapi.Schema{Type: "number", Minimum: new(0.0), Description: "Addresses of hosts; with anycast it may be over 100."}))}},
		},
		Resource: "prefixes", Does: records.RouteGet, Lists: []string{"addresses"}, Handle: serveUsage,
	}
}

// usageAnswer is the response.
type usageAnswer struct {
	Status    string      `json:"status"`
	Prefixes  int64       `json:"prefixes"`
	Addresses int64       `json:"addresses"`
	Hosts     string      `json:"hosts"`
	Percent   json.Number `json:"percent"`
}

func serveUsage(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	p, err := records.Get[inventory.Prefix](ctx, r.Inventory.Records(), id)
	if err != nil {
		return nil, err
	}
	u, err := inventory.UsageOf(ctx, r.Inventory.Records(), p)
	if err != nil {
		return nil, err
	}
	percent := json.Number(strconv.FormatFloat(u.Percent, 'f', -1, 64))
	return feature.OK(usageAnswer{"success", u.Prefixes, u.Addresses, u.Hosts.String(), percent}), nil
}
