// Package retention is the feature that deletes the oldest records of a log, on request and regularly (REFERENCE.md, 2.11).
package retention

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of one request that prunes records.
const (
	pruneLimit  = 100_000
	pruneBound  = 10 * time.Second
	minPruneAge = time.Minute // younger records may still be in use, such as by the change feed
)

// retention is the body of a request that prunes records.
type retention struct {
	Resource   string  `json:"resource"`
	MaxAge     *string `json:"max_age"`
	MaxRecords *int64  `json:"max_records"`
}

// pruned is the response.
type pruned struct {
	Status string `json:"status"`
	Pruned int64  `json:"pruned"`
	More   bool   `json:"more"`
}

// body reads the body of a request.
var body = httpx.NewBody[retention](nil)

// New returns the feature.
func New() *feature.Feature {
	dryRun := openapi.DryRun()
	dryRun.Description = "true: count what repeated calls would delete, but delete nothing."
	description := openapi.Operation{
		Method: http.MethodPost, Path: "/retention",
		ID: "prune", Tag: "system", Summary: "Delete the oldest records of a log, by age or number",
		Parameters: []openapi.Parameter{dryRun},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Pruned",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("pruned", openapi.Integer("The number of records that were deleted.", 0)),
			openapi.Required("more", openapi.Boolean("Whether to call again, because there may be more to delete.")))}},
	}
	admins := auth.Permission{Roles: []auth.Role{auth.Admin}}
	return &feature.Feature{
		Operations: []feature.Operation{{Operation: description, Access: admins, Scoped: true, Handle: prune, Describe: describe}},
		Jobs:       []feature.Job{keep},
	}
}

// describe describes the body, with the resources that may be pruned.
func describe(schema *records.Schema, op *openapi.Operation) {
	resource := openapi.String("The resource.")
	for _, name := range prunable(schema) {
		resource.Enum = append(resource.Enum, name)
	}
	age := openapi.String("Keep records that were created within this time, such as 720h; at least 1m.")
	most := openapi.Integer("Keep this many of the newest records.", 1)
	age.Type, most.Type = []string{"string", "null"}, []string{"integer", "null"}
	op.Body = openapi.Request("Retention",
		openapi.Required("resource", resource),
		openapi.Optional("max_age", age),
		openapi.Optional("max_records", most))
}

// prunable returns the names of the resources that may be pruned.
func prunable(schema *records.Schema) (names []string) {
	for _, r := range schema.Resources() {
		if r.Prunable {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// prune deletes the oldest records of a resource.
func prune(ctx context.Context, request *feature.Request) (*feature.Response, error) {
	in := request.Inventory
	sent, err := body.Read(request.HTTP)
	if err != nil {
		return nil, err
	}
	schema := in.Records().Schema()
	r, ok := schema.Named(sent.Resource)
	if !ok || !r.Prunable || r.Internal {
		return nil, records.Refuse("resource", records.NotOneOf("", prunable(schema)...))
	}
	if err := in.May(r, records.RouteDeleteMany); err != nil {
		return nil, err
	}
	if !in.SeesAll() {
		return nil, auth.Denied()
	}
	keep, err := readRetention(sent)
	if err != nil {
		return nil, err
	}
	var done *records.Pruned
	prune := func(ctx context.Context) error {
		done, err = in.Engine().Prune(ctx, in.Sender(), r, keep)
		return err
	}
	if request.DryRun { // which counts
		return &feature.Response{}, in.Read(ctx, prune)
	}
	if err := prune(ctx); err != nil {
		return nil, err
	}
	return feature.OK(pruned{"success", done.Deleted, done.More}), nil
}

// readRetention returns what a request keeps.
func readRetention(sent retention) (records.Retention, error) {
	keep := records.Retention{Limit: pruneLimit, Within: pruneBound}
	if sent.MaxAge != nil {
		age, err := time.ParseDuration(*sent.MaxAge)
		if err != nil || age < minPruneAge {
			return keep, records.Refuse("max_age", records.BadFormat("a duration of at least 1m, such as 720h"))
		}
		keep.MaxAge = age
	}
	switch {
	case sent.MaxRecords != nil && *sent.MaxRecords < 1:
		return keep, records.Refuse("max_records", records.OutOfRange(1, nil, ""))
	case sent.MaxRecords != nil:
		keep.MaxRecords = *sent.MaxRecords
	case sent.MaxAge == nil:
		return keep, records.Refuse("max_age", records.Missing("send max_age, max_records or both"))
	}
	return keep, nil
}
