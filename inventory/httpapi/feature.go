package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
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

// addFeatures adds the routes of the operations of features, some of which replace a route. The error names an
// operation that cannot be served.
func (a *API) addFeatures(routes []route) ([]route, error) {
	for _, f := range a.Features() {
		state, made := a.states[f]
		if !made && f.State != nil {
			state = f.State(a.store)
			a.states[f] = state
		}
		for i := range f.Operations {
			op := &f.Operations[i]
			rt := route{method: op.Method, path: op.Path, access: op.Access, does: op.Does, feature: op}
			at := slices.IndexFunc(routes, func(old route) bool {
				return old.feature == nil && old.resource != nil && old.method == op.Method && old.path == op.Path
			})
			if at >= 0 {
				rt = routes[at]
				rt.feature = op
			}
			rt.doc = describe(rt.doc, op.Operation)
			if op.Describe != nil {
				op.Describe(a.store.Schema(), &rt.doc)
			}
			if op.Handle != nil {
				rt.handle = func(c *call) (*feature.Response, error) { return c.serveFeature(op, state) }
			}
			if op.Resource != "" && at < 0 {
				var ok bool
				if rt.resource, ok = a.store.Schema().Named(op.Resource); !ok || op.Does == 0 {
					return nil, fmt.Errorf("httpapi: Options.Features: operation %q: Resource is unknown, or Does is missing", op.ID)
				}
				if p := op.Access; !p.Anonymous && !p.Everyone && !p.Owner && p.Roles == nil {
					rt.access = accessTo(rt.resource, op.Does)
				}
				if !strings.HasPrefix(op.Path, "/"+op.Resource+"/{id}") {
					rt.access = ofAll(rt.access)
				}
			}
			if op.Method == "" || !strings.HasPrefix(op.Path, "/") || rt.doc.ID == "" || rt.handle == nil || len(rt.doc.Responses) == 0 {
				return nil, fmt.Errorf("httpapi: Options.Features: operation %q, %s %s: Method, Path, ID, Responses and Handle are required", op.ID, op.Method, op.Path)
			}
			if at >= 0 {
				routes[at] = rt
			} else {
				routes = append(routes, rt)
			}
		}
	}
	return routes, nil
}

// describe returns the description of an operation that takes the place of another one, which may be none.
func describe(of, with openapi.Operation) openapi.Operation {
	with.Method, with.Path = "", ""
	with.ID, with.Tag, with.Summary = cmp.Or(with.ID, of.ID), cmp.Or(with.Tag, of.Tag), cmp.Or(with.Summary, of.Summary)
	with.Parameters = append(slices.Clone(of.Parameters), with.Parameters...)
	with.List, with.Filters, with.Body = cmp.Or(with.List, of.List), cmp.Or(with.Filters, of.Filters), cmp.Or(with.Body, of.Body)
	with.OptionalBody = with.OptionalBody || of.OptionalBody
	if with.Responses == nil {
		with.Responses = slices.Clone(of.Responses)
	}
	if with.Errors == nil {
		with.Errors = of.Errors
	}
	return with
}

// serveFeature serves a request to an operation of a feature.
func (c *call) serveFeature(op *feature.Operation, state any) (*feature.Response, error) {
	for _, name := range op.Lists {
		if r, ok := c.schema.Named(name); ok {
			if err := (sender{c}).May(r, records.RouteList); err != nil {
				return nil, err
			}
		}
	}
	if op.Secret {
		name := op.Path[strings.LastIndexByte(op.Path, '{')+1:]
		secret, _ := c.r.Context().Value(secretKey{}).(string)
		c.r.SetPathValue(strings.TrimSuffix(name, "}"), secret)
	}
	sent := c.asFeature()
	sent.State = state
	res, err := op.Handle(c.r.Context(), sent)
	if err == nil && op.Resource != "" && records.RoutesRead.Has(op.Does) {
		err = c.noteRead(c.route.resource)
	}
	return res, err
}

// asFeature returns the request for functions of features.
func (c *call) asFeature() *feature.Request {
	return &feature.Request{HTTP: c.r, Query: c.query, DryRun: c.dryRun, Joined: c.within != nil, Inventory: sender{c}}
}

// sender is the inventory with the rights of the sender of a request.
type sender struct{ c *call }

func (s sender) Records() records.Reader { return s.c.store }

func (s sender) SeesAll() bool { return s.c.places == nil }

func (s sender) Sender() records.Caller { return s.c.caller() }

func (s sender) Engine() *records.Engine { return s.c.inventory() }

func (s sender) May(r *records.Resource, does records.Routes) error {
	err := s.c.mayUse(r, does)
	if err == nil && records.RoutesRead.Has(does) {
		err = s.c.checkReader(r)
	}
	return err
}

func (s sender) Read(ctx context.Context, query func(ctx context.Context) error) error {
	return s.c.api.heavy.run(ctx, s.c.heavyCaller(), query)
}

func (s sender) Unbounded(context.Context) context.Context {
	s.c.endless()
	return s.c.r.Context()
}

func (s sender) Key() []byte { return s.c.api.opts.Key }

func (s sender) PrivateTargets() bool { return s.c.api.opts.PrivateTargets }

func (s sender) Query(r *records.Resource) (*records.Query, error) {
	q, err := records.ParseQuery(r, s.c.query, s.c.route.params()...)
	if err == nil {
		err = s.c.below(q, s.c.query)
	}
	return q, err
}

func (s sender) Export(ctx context.Context, q *records.Query, part func(ctx context.Context, recs []records.Record) (size int, err error)) error {
	leave, err := s.c.api.heavy.exports.enter(s.c.heavyCaller())
	if err != nil {
		return err
	}
	defer leave()
	if err := httpx.Reserve(ctx, exportMemory); err != nil {
		return err
	}
	x := s.c.exportOf(q, s.c.store.List)
	page, err := x.next()
	if err != nil {
		return err
	}
	return x.each(page, func(recs []records.Record) (int, error) { return part(ctx, recs) })
}

func (s sender) List(ctx context.Context, l *feature.List) (*feature.Response, error) {
	c := s.c
	q, f, err := c.parseList(l.Resource, l.Query)
	if err != nil {
		return nil, err
	}
	if f.rows != nil {
		if l.ExportSort != nil && !pageOf(c.query) {
			q.Sort = l.ExportSort
		}
		return c.export(q, f, l.Read), nil
	}
	page, err := c.read(q, l.Heavy(q), l.Read)
	if err != nil {
		return nil, err
	}
	e := c.api.encoders.Of(q.Resource).Only(q.Fields)
	if l.Also != nil {
		m, err := l.Also(ctx, page.Records)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(e.Members, func(of encode.Member) bool { return of.Field.Name == m.After }) {
			e = e.After(m.After, m.Name, func(b []byte, id string) []byte { return encode.String(b, m.Values[id]) })
		}
	}
	return encoded(q, page, e), nil
}

// begin returns the engine for a transaction of the request, and sets what the sender sees in it.
func (c *call) begin(from *records.Reader) *records.Engine {
	return c.inventory().BeforeChange(func(_ context.Context, tx records.Tx) error {
		places := c.places
		if c.api.accounts != nil {
			places = c.account.Places() // of the sender now
		}
		*from = records.Limited(tx, places)
		return nil
	})
}

func (s sender) Change(ctx context.Context, inTransaction func(ctx context.Context, tx *feature.Transaction) error) (*feature.Preview, error) {
	c := s.c
	var from records.Reader
	v := c.begin(&from)
	err := v.Together(ctx, func(ctx context.Context, in *records.Engine) error {
		return inTransaction(ctx, &feature.Transaction{Engine: in, By: c.caller(), Records: from})
	})
	if err != nil {
		return nil, err
	}
	p, err := c.visiblePreview()
	if err != nil {
		return nil, err
	}
	return &feature.Preview{Message: p.Message(), Changes: feature.Changes(p.Changes), Truncated: p.Truncated}, nil
}

func (s sender) Create(_ context.Context, body []byte, create func(v *records.Engine) (records.Record, error)) (*feature.Response, error) {
	c := s.c
	var rec records.Record
	respond := func() *created {
		r := c.current(c.route.resource)
		path, first := httpx.SentPath(c.r), c.route.path[:strings.IndexByte(c.route.path[1:], '/')+2] // "/prefixes/"
		return &created{location: path[:strings.LastIndex(path, first)] + "/" + r.Name + "/" + rec.Meta().ID, tag: tagOf(rec), body: c.api.encoders.Of(r).Append(nil, rec)}
	}
	return c.createOnce(body, func(v *records.Engine) (err error) {
		rec, err = create(v)
		return err
	}, respond)
}

func (s sender) Draft(ctx context.Context, in *records.Engine, r *records.Resource, sent records.Patch) (rec records.Record, err error) {
	err = s.c.resolving(in, r, []records.Patch{sent}, func(_ context.Context, _ *records.Engine, items []records.Patch) error {
		rec, err = r.Draft(maps.Clone(items[0]))
		return err
	})
	return rec, err
}

func (s sender) Edit(_ context.Context, r *records.Resource, plan func(sent records.Patch) (func(records.Record) error, error)) (*feature.Response, error) {
	planned := func(_ *records.Resource, _ string, p records.Patch) (editFunc, error) { return plan(p) }
	if s.c.r.PathValue("id") != "" {
		return s.c.edit(r, planned)
	}
	items, err := s.c.readMany()
	if err != nil {
		return nil, err
	}
	return s.c.editMany(r, items, planned)
}

func (s sender) Delete(_ context.Context, r *records.Resource, check func(records.Record) error) (*feature.Response, error) {
	if err := s.c.remove(r, check); err != nil {
		return nil, err
	}
	return feature.OK(httpx.Confirm(r.Label + " deleted successfully")), nil
}

func (s sender) Account() *accounts.Request {
	if s.c.api.accounts == nil {
		return nil
	}
	return s.c.request()
}

func (s sender) Authenticate() (*auth.Identity, error) { return s.c.authenticate() }

func (s sender) Forget(userID string) { s.c.api.forget(userID) }

func (s sender) Refusal(err error) error { return translate(err) }

func (s sender) Check(doc []byte) (refused *httpx.Error) {
	r := s.c.r.Clone(context.Background())
	r.Header = http.Header{"Content-Type": {"application/json"}}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(doc)), int64(len(doc))
	render := httpx.RenderErrors(func(_ http.ResponseWriter, _ *http.Request, e *httpx.Error) { refused = e })
	render(s.c.api.check(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))).ServeHTTP(headerOnly{}, r)
	return refused
}

// uncheckedBody applies the check of requests to all but the body.
func (a *API) uncheckedBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bare := r.WithContext(r.Context())
		bare.Body, bare.ContentLength = http.NoBody, 0
		a.check(http.HandlerFunc(func(w http.ResponseWriter, checked *http.Request) {
			whole := checked.WithContext(checked.Context())
			whole.Body, whole.ContentLength = r.Body, r.ContentLength
			next.ServeHTTP(w, whole)
		})).ServeHTTP(w, bare)
	})
}
