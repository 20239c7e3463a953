package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A request with the parameter propose is stored instead of being made (REFERENCE.md, 2.21): a feature tries it, and has it
// repeated later with the rights of the user who approves it.

// maxProposed is the maximum size of the body of a proposal in bytes.
const maxProposed = 1 << 20

// proposing adds the parameter propose to a route whose requests can be a part of a transaction.
func (a *API) proposing(rt *route) {
	joins := rt.path == transactionPath || rt.resource != nil && a.rules[rt.resource.Name] == nil
	if rt.feature != nil {
		joins = rt.feature.Joins
	}
	if a.proposals == nil || !joins || !slices.Contains(rt.params(), "dry_run") {
		return
	}
	rt.doc.Parameters = append(slices.Clone(rt.doc.Parameters), openapi.Parameter{
		Name: "propose", Schema: openapi.BoundedString(1, 500), Description: "Change nothing, and store the request with this comment as a proposal, which another user may apply. Bodies have up to 1 MiB then.",
	})
	rt.doc.Responses = append(slices.Clone(rt.doc.Responses), openapi.Response{Status: http.StatusAccepted, Schema: a.proposals.Schema})
}

// setReview reads Proposals.Review. The error names what is unknown.
func (a *API) setReview() error {
	if a.proposals == nil {
		return nil
	}
	a.review = map[string]bool{}
	resources, roles := []string{"*"}, []string{"*"}
	for i := range a.routes {
		if rt := &a.routes[i]; rt.resource != nil && rt.method != http.MethodGet && slices.Contains(rt.params(), "propose") {
			resources = append(resources, rt.resource.Name)
		}
	}
	if users, ok := a.store.Schema().Named("users"); ok {
		role, _ := users.Field("role")
		roles = append(roles, role.Enum...)
	}
	for _, pair := range a.proposals.Review {
		resource, role, _ := strings.Cut(pair, ":")
		for name, known := range map[string][]string{resource: resources, role: roles} {
			if !slices.Contains(known, name) {
				return fmt.Errorf("httpapi: Proposals.Review (REVIEW): %q: %q is unknown, or nothing to propose: use a resource and a role such as devices:editor; %s", pair, name, records.Hint(name, known))
			}
		}
		a.review[pair] = true
	}
	return nil
}

// checkReview refuses changes that have to be proposed, unless the request is to try, to propose or to approve them.
func (c *call) checkReview(r *records.Resource, does records.Routes) error {
	if len(c.api.review) == 0 || records.RoutesRead.Has(does) || c.r.Method == http.MethodGet || c.author != "" || c.route.feature != nil && c.route.feature.Approves {
		return nil
	}
	params, query, role := c.route.params(), c.r.URL.Query(), string(c.identity.Role)
	tries := slices.Contains(params, "dry_run") && query.Get("dry_run") == "true" || slices.Contains(params, "propose") && query.Has("propose")
	changes := c.route.resource != nil || slices.Contains(params, "dry_run") // else it asks for something else
	for _, pair := range []string{r.Name + ":" + role, r.Name + ":*", "*:" + role, "*:*"} {
		if c.api.review[pair] && changes && !tries {
			return &auth.Error{Kind: auth.Forbidden, Message: fmt.Sprintf("Another user has to approve changes of %s by the role %s: propose them, with the parameter propose and a comment", r.Name, role)}
		}
	}
	return nil
}

// propose stores the request.
func (c *call) propose() (*feature.Response, error) {
	body, err := httpx.ReadBody(c.r, maxProposed)
	if err != nil {
		return nil, err
	}
	query := maps.Clone(c.query)
	query.Del("propose")
	sent := &feature.Sent{Method: c.r.Method, Path: c.route.path, ID: c.r.PathValue("id"), Query: query.Encode(), Type: c.r.Header.Get("Content-Type"), Body: body}
	return c.api.proposals.Propose(c.r.Context(), c.asFeature(), sent)
}

// errRefused rolls back the transaction of a request that was refused.
var errRefused = errors.New("refused")

func (s sender) Repeat(ctx context.Context, sent *feature.Sent, author string, commit bool, last func(ctx context.Context, in *records.Engine, p *records.Preview) error) (res *feature.Response, err error) {
	outer := *s.c
	outer.dryRun, outer.author = !commit, author
	i := slices.IndexFunc(outer.api.routes, func(rt route) bool { return rt.method == sent.Method && rt.path == sent.Path })
	if i < 0 || !slices.Contains(outer.api.routes[i].params(), "propose") {
		return nil, &httpx.Error{Status: http.StatusConflict, Message: fmt.Sprintf("%s %s cannot be requested any more: what it changes does not exist", sent.Method, sent.Path)}
	}
	rt := &outer.api.routes[i]
	if rt.resource != nil {
		err = outer.mayUse(rt.resource, rt.does)
	} else {
		err = outer.allows(rt.access, "", nil, 0)
	}
	if err != nil {
		return nil, err
	}
	var from records.Reader
	err = outer.begin(&from).Together(ctx, func(ctx context.Context, in *records.Engine) error {
		own, p := outer, &records.Preview{}
		own.dryRun, own.route, own.store, own.within = false, rt, from, in.DryRun(p)
		own.query, _ = url.ParseQuery(sent.Query) // which was one
		own.r = outer.r.Clone(ctx)
		own.r.Method, own.r.Body, own.r.ContentLength = sent.Method, io.NopCloser(bytes.NewReader(sent.Body)), int64(len(sent.Body))
		own.r.Header.Del("Idempotency-Key")
		own.r.Header.Set("Content-Type", sent.Type)
		own.r.SetPathValue("id", sent.ID)
		var err error
		if res, err = rt.handle(&own); err == nil && res.Status >= http.StatusBadRequest {
			err = errRefused
		}
		if err != nil {
			return err
		}
		res = nil
		return last(ctx, in.LimitTo(nil), p)
	})
	if errors.Is(err, errRefused) {
		return res, nil
	}
	return nil, err
}

func (s sender) Seen(ctx context.Context, entries []*records.AuditLog) (seen []*records.AuditLog, err error) {
	sees := map[string]bool{}
	for _, r := range s.c.schema.Resources() {
		if slices.ContainsFunc(entries, func(e *records.AuditLog) bool { return e.ResourceType == r.Kind() }) {
			sees[r.Kind()] = s.May(r, records.RouteList) == nil
		}
	}
	for _, e := range entries {
		if of := s.c.places.Seen(e); of != nil && sees[e.ResourceType] {
			seen = append(seen, records.Clone(of))
		}
	}
	return seen, records.MaskChanges(ctx, s.c.store, seen...)
}
