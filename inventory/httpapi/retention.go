package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth"
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

// prune deletes the oldest records of a resource (REFERENCE.md, 2.11).
func prune(schema *records.Schema) operation {
	resource := openapi.String("The resource.")
	for _, name := range prunable(schema) {
		resource.Enum = append(resource.Enum, name)
	}
	return operation{openapi.Operation{
		ID: "prune", Tag: "system", Summary: "Delete the oldest records of a log, by age or number",
		Parameters: []openapi.Parameter{dryRun("true: count what repeated calls would delete, but delete nothing.")},
		Body: openapi.Request("Retention",
			openapi.Required("resource", resource),
			openapi.Optional("max_age", openapi.String("Keep records that were created within this time, such as 720h; at least 1m.")),
			openapi.Optional("max_records", openapi.Integer("Keep this many of the newest records.", 1))),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Pruned",
			openapi.Required("status", openapi.Const("success")),
			openapi.Required("pruned", openapi.Integer("The number of records that were deleted.", 0)),
			openapi.Required("more", openapi.Boolean("Whether to call again, because there may be more to delete.")))}},
	}, withBody((*call).prune)}
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

func (c *call) prune(sent retention) error {
	r, ok := c.schema.Named(sent.Resource)
	if !ok || !r.Prunable || r.Internal {
		return records.InvalidField("resource", "must be one of "+strings.Join(prunable(c.schema), ", "))
	}
	if err := c.allows(permission(admins), "", r, records.RouteDeleteMany); err != nil {
		return err
	}
	if !c.identityIncludes(r, records.RouteDeleteMany) || c.places != nil {
		return auth.Denied()
	}
	keep := records.Retention{Limit: pruneLimit, Within: pruneBound}
	if sent.MaxAge != nil {
		age, err := time.ParseDuration(*sent.MaxAge)
		if err != nil || age < minPruneAge {
			return records.InvalidField("max_age", "must be a duration of at least 1m, such as 720h")
		}
		keep.MaxAge = age
	}
	switch {
	case sent.MaxRecords != nil && *sent.MaxRecords < 1:
		return records.InvalidField("max_records", "must be at least 1")
	case sent.MaxRecords != nil:
		keep.MaxRecords = *sent.MaxRecords
	case sent.MaxAge == nil:
		return records.InvalidField("max_age", "is missing: send max_age, max_records or both")
	}
	if c.dryRun { // which counts
		_, err := c.read(nil, true, func(ctx context.Context, _ *records.Query) (*records.Page, error) {
			_, err := c.inventory().Prune(ctx, c.caller(), r, keep)
			return nil, err
		})
		if err != nil {
			return err
		}
		return c.sendPreview("")
	}
	done, err := c.inventory().Prune(c.r.Context(), c.caller(), r, keep)
	if err != nil {
		return err
	}
	c.send(http.StatusOK, func(b []byte) []byte {
		b = strconv.AppendInt(append(b, `{"status":"success","pruned":`...), done.Deleted, 10)
		b = strconv.AppendBool(append(b, `,"more":`...), done.More)
		return append(b, '}')
	})
	return nil
}
