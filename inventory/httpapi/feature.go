package httpapi

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Features returns those of Options.Features that the schema has the resources for.
func (a *API) Features() (fit []*feature.Feature) {
	for _, f := range a.opts.Features {
		if f.Fits(a.store.Schema()) {
			fit = append(fit, f)
		}
	}
	return fit
}

// checkFeatures refuses operations that cannot be served.
func (a *API) checkFeatures() error {
	for _, f := range a.Features() {
		for _, op := range f.Operations {
			if op.Method == "" || !strings.HasPrefix(op.Path, "/") || op.ID == "" || op.Handle == nil || len(op.Responses) == 0 {
				return fmt.Errorf("httpapi: Options.Features: operation %q, %s %s: Method, Path, ID, Responses and Handle are required", op.ID, op.Method, op.Path)
			}
		}
	}
	return nil
}

// featureRoutes returns the routes of the operations of features.
func (a *API) featureRoutes() (routes []route) {
	for _, f := range a.Features() {
		var state any
		if f.State != nil {
			state = f.State(a.store)
		}
		for i := range f.Operations {
			op := &f.Operations[i]
			doc := op.Operation
			doc.Method, doc.Path = "", ""
			handle := func(c *call) error { return c.serveFeature(op, state) }
			routes = append(routes, route{op.Method, op.Path, op.Access, operation{doc, handle}, nil, 0, op})
		}
	}
	return routes
}

// serveFeature serves a request to an operation of a feature.
func (c *call) serveFeature(op *feature.Operation, state any) error {
	res, err := op.Handle(c.r.Context(), &feature.Request{HTTP: c.r, Query: c.query, DryRun: c.dryRun, Inventory: sender{c}, State: state})
	if err != nil {
		return err
	}
	if c.dryRun && !op.OwnPreview {
		return c.sendPreview("")
	}
	c.send(res.Status, func(b []byte) []byte { return appendJSON(b, reflect.ValueOf(res.Body)) })
	return nil
}

// sender is the inventory with the rights of the sender of a request.
type sender struct{ c *call }

func (s sender) Records() records.Reader { return s.c.store }

func (s sender) SeesAll() bool { return s.c.places == nil }

func (s sender) May(r *records.Resource, does records.Routes) error {
	err := s.c.mayUse(r, does)
	if err == nil && records.RoutesRead.Has(does) {
		err = s.c.checkReader(r)
	}
	return err
}

func (s sender) Read(ctx context.Context, query func(ctx context.Context) error) error {
	return s.c.heavy.run(ctx, s.c.heavyCaller(), query)
}

func (s sender) Change(ctx context.Context, inTransaction func(ctx context.Context, tx *feature.Transaction) error) (*feature.Preview, error) {
	c := s.c
	var from records.Reader
	v := c.inventory().BeforeChange(func(_ context.Context, tx records.Tx) error {
		places := c.places
		if c.accounts != nil {
			places = c.account.Places() // of the sender now
		}
		from = records.Limited(tx, places)
		return nil
	})
	err := v.Together(ctx, func(ctx context.Context, in *records.Engine) error {
		return inTransaction(ctx, &feature.Transaction{Engine: in, By: c.caller(), Records: from})
	})
	if err != nil {
		return nil, err
	}
	p := c.visiblePreview()
	return &feature.Preview{Message: p.Message(), Changes: previewChanges(p.Changes), Truncated: p.Truncated}, nil
}
