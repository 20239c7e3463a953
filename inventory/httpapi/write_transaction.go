package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	transactionPath = "/transaction"
	maxParts        = 10 // of a transaction
)

// part is a bulk request that is a part of a transaction.
type part struct {
	Method   string          `json:"method"`
	Resource string          `json:"resource"`
	Items    json.RawMessage `json:"items"`
}

// manyRoutes are the bulk requests by method.
var manyRoutes = map[string]records.Routes{http.MethodPost: records.RouteCreate, http.MethodPatch: records.RouteChangeMany, http.MethodDelete: records.RouteDeleteMany}

// transaction serves bulk requests that are applied together (REFERENCE.md, 2.4).
func transaction() operation {
	request := openapi.Object("TransactionPart",
		openapi.Required("method", &openapi.Schema{Type: "string", Enum: []any{http.MethodPost, http.MethodPatch, http.MethodDelete}}),
		openapi.Required("resource", openapi.String("Such as interfaces.")),
		openapi.Required("items", items(&openapi.Schema{Description: "As in the bulk request of the resource."})))
	return operation{openapi.Operation{
		ID: "transact", Tag: "system", Summary: "Apply bulk requests of several resources in one transaction, in their order",
		Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IdempotencyKey()},
		Body:       openapi.Array(request, 1, maxParts),
		Responses: []openapi.Response{{Status: http.StatusCreated, Schema: openapi.Confirmation("Transaction",
			openapi.Required("results", openapi.Array(&openapi.Schema{Type: "object", Description: "The response to a bulk request."}, 1, maxParts)))}},
		Errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity},
	}, (*call).transact}
}

func (c *call) transact() (*feature.Response, error) {
	body, err := httpx.ReadBody(c.r, 0)
	if err != nil {
		return nil, err
	}
	parts, err := c.api.bodies.parts.Read(c.r)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 || len(parts) > maxParts {
		return nil, badField("body", records.OutOfRange(1, maxParts, "send that many parts"))
	}
	routes := make([]*route, len(parts))
	for i, p := range parts {
		if routes[i], err = c.routeOf(p); err != nil {
			return nil, err
		}
	}
	var results []byte
	return c.createOnce(body, func(v *records.Engine) error {
		return v.Together(c.r.Context(), func(ctx context.Context, in *records.Engine) error {
			results = []byte(`{"status":"success","message":"All changes are applied","results":[`)
			for i, p := range parts {
				own := *c
				own.within, own.route, own.query = in, routes[i], nil
				own.r = c.r.Clone(ctx)
				own.r.Body, own.r.ContentLength = io.NopCloser(bytes.NewReader(p.Items)), int64(len(p.Items))
				own.r.Header.Del("Idempotency-Key")
				own.r.Header.Del("Content-Encoding")
				res, err := routes[i].handle(&own)
				if err != nil {
					return err
				}
				if i > 0 {
					results = append(results, ',')
				}
				if res.Append != nil { // not in a dry run, which has a preview
					results = res.Append(results)
				}
			}
			results = append(results, "]}"...)
			return nil
		})
	}, func() *created { return &created{body: results} })
}

// routeOf returns the route of a part, if the sender may use it. Operations of features, and those with rules, do something
// before their transaction.
func (c *call) routeOf(p part) (*route, error) {
	i := slices.IndexFunc(c.api.routes, func(rt route) bool {
		return rt.resource != nil && rt.path == "/"+p.Resource && rt.method == p.Method && rt.does == manyRoutes[p.Method] && rt.feature == nil && c.api.rules[p.Resource] == nil
	})
	switch {
	case i < 0:
		return nil, badField("resource", fmt.Errorf("%s of %q is no bulk request that may be a part: use POST, PATCH or DELETE of a resource; users need a request of their own", shorten(p.Method), shorten(p.Resource)))
	case !strings.HasPrefix(string(bytes.TrimSpace(p.Items)), "["):
		return nil, badField("items", records.WrongType("an array"))
	}
	return &c.api.routes[i], c.mayUse(c.current(c.api.routes[i].resource), c.api.routes[i].does)
}
