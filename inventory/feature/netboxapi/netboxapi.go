// Package netboxapi is the feature that lets clients of NetBox read the inventory: pynetbox, the Ansible inventory
// netbox.netbox.nb_inventory and others get the lists of the REST API of NetBox 4 below [Path] (REFERENCE.md, 2.22).
//
// # Design notes
//
// A list reads records of one resource and writes each as NetBox would. What NetBox has as objects and the inventory as
// texts, such as roles, has an id made from its text. Locations are divided into regions, sites and locations by their
// kind; one without a site above it counts as a site. The addresses of interfaces and devices that have no record of
// their own are listed after those that have one, with the id of the interface or device.
package netboxapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// version is that of NetBox whose lists these are: clients decide by it what they ask for.
const version = "4.7"

// The sizes of pages (PAGINATE_COUNT and MAX_PAGE_SIZE of NetBox).
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// Path is where the lists are. Clients get the address of the inventory with /netbox.
const Path = "/netbox/api"

// New returns the feature.
func New() *feature.Feature {
	f := &feature.Feature{
		Needs: map[string]records.Record{
			"devices": &inventory.Device{}, "locations": &inventory.Location{}, "interfaces": &inventory.Interface{}, "addresses": &inventory.Address{},
		},
		State: func(store records.Store) any { return newCache(store) },
	}
	all := lists()
	add := func(op feature.Operation, path string) {
		for _, end := range []string{"", "/{$}"} {
			op.Method, op.Path = cmp.Or(op.Method, http.MethodGet), Path+path+end
			op.Foreign, op.AnyQuery = true, true
			op.ID, op.Tag, op.Responses = "netbox"+op.Method+op.Path, "discovery", []openapi.Response{{Status: http.StatusOK}}
			f.Operations = append(f.Operations, op)
		}
	}
	everyone := auth.Permission{Everyone: true}
	add(feature.Operation{Access: auth.Public(), Handle: root(all)}, "") // pynetbox asks without a token for the version
	add(feature.Operation{Access: everyone, Lists: []string{"devices"}, Handle: status}, "/status")
	add(feature.Operation{Access: auth.Public(), Handle: describe(all)}, "/schema")
	for _, l := range all {
		op := feature.Operation{Resource: cmp.Or(l.resource, "devices"), Lists: l.also}
		op.Does, op.Handle = records.RouteList, func(ctx context.Context, r *feature.Request) (*feature.Response, error) {
			return serve(ctx, r, l, "")
		}
		add(op, "/"+l.path)
		op.Does, op.Handle = records.RouteGet, feature.WithID(func(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
			return serve(ctx, r, l, id)
		})
		add(op, "/"+l.path+"/{id}")
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		for _, path := range []string{Path + "/{rest...}", "/netbox/graphql/{$}"} {
			f.Operations = append(f.Operations, feature.Operation{
				Operation: openapi.Operation{Method: method, Path: path, ID: "netbox" + method + path, Responses: []openapi.Response{{Status: http.StatusOK}}, AnyQuery: true},
				Access:    everyone, Scoped: true, Foreign: true, RawBody: true, Handle: refuse,
			})
		}
	}
	return f
}

// refuse responds to what is not served.
func refuse(_ context.Context, r *feature.Request) (*feature.Response, error) {
	switch {
	case strings.HasSuffix(r.HTTP.URL.Path, "/graphql/"):
		return nil, httpx.Errorf(http.StatusMethodNotAllowed, "GraphQL is not served: use the lists of the REST API of NetBox")
	case r.HTTP.Method == http.MethodGet:
		return nil, httpx.Errorf(http.StatusNotFound, "The inventory has no such list of NetBox: see docs/inventory.md for those that it has")
	}
	return nil, httpx.Errorf(http.StatusMethodNotAllowed, "This is the API of NetBox to read: change records by the API of the inventory, see /openapi.json")
}

// root lists the lists.
func root(all []*list) func(context.Context, *feature.Request) (*feature.Response, error) {
	return func(_ context.Context, r *feature.Request) (*feature.Response, error) {
		apps, base := map[string]string{}, base(r.HTTP)
		for _, l := range all {
			app, _, _ := strings.Cut(l.path, "/")
			apps[app] = base + "/" + app + "/"
		}
		apps["status"] = base + "/status/"
		return respond(apps), nil
	}
}

// status says which version of NetBox clients find.
func status(context.Context, *feature.Request) (*feature.Response, error) {
	return respond(map[string]any{
		"netbox-version": version + ".0", "netbox-full-version": version + ".0-ashlar", "django-version": "", "python-version": "", "installed_apps": map[string]string{}, "plugins": map[string]string{}, "rq-workers-running": 0,
	}), nil
}

// describe lists the parameters of the lists in the form of an OpenAPI document, which clients look up. Its paths are those
// with the prefix of this API and without.
func describe(all []*list) func(context.Context, *feature.Request) (*feature.Response, error) {
	type parameter struct {
		Name   string            `json:"name"`
		In     string            `json:"in"`
		Schema map[string]string `json:"schema"`
	}
	return func(_ context.Context, r *feature.Request) (*feature.Response, error) {
		paths := map[string]any{}
		for _, l := range all {
			var parameters []parameter
			for _, name := range l.parameters() {
				parameters = append(parameters, parameter{name, "query", map[string]string{"type": "string"}})
			}
			path := map[string]any{"get": map[string]any{"parameters": parameters, "responses": map[string]any{"200": map[string]string{"description": "The list"}}}}
			paths["/api/"+l.path+"/"] = path
			if u, err := url.Parse(base(r.HTTP)); err == nil {
				paths[u.Path+"/"+l.path+"/"] = path
			}
		}
		return respond(map[string]any{"openapi": "3.0.3", "info": map[string]string{"title": "NetBox REST API", "version": version}, "paths": paths}), nil
	}
}

// respond returns a response with the version, which clients look for.
func respond(body any) *feature.Response {
	return &feature.Response{Body: body, Header: http.Header{"Api-Version": {version}}}
}

// base returns the address of the API as the client has sent it, since clients follow the addresses in responses.
func base(r *http.Request) string {
	scheme, path := "http", strings.TrimSuffix(httpx.SentPath(r), strings.TrimPrefix(r.URL.Path, Path))
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host + path
}

// serve responds with a page of a list, or with the object that has an id.
func serve(ctx context.Context, r *feature.Request, l *list, id string) (res *feature.Response, err error) {
	p := &page{r: r, base: base(r.HTTP), list: l, limit: defaultLimit, one: id != "", known: map[string]records.Record{}, nested: map[string]raw{}, texts: map[[2]string]raw{}, wanted: map[string][]string{}}
	p.cache, _ = r.State.(*cache)
	if l.resource != "" {
		resource, _ := r.Inventory.Records().Schema().Named(l.resource)
		if resource == nil {
			l = &list{path: l.path, filters: l.filters}
		} else {
			p.query = &records.Query{Resource: resource, Count: true}
		}
	}
	query := r.Query
	if id != "" {
		query = url.Values{"id": {id}}
	}
	if err := p.parse(ctx, query); err != nil {
		return nil, err
	}
	read := func(ctx context.Context) error {
		p.ctx = ctx
		return p.read(l)
	}
	if l.read != nil || p.query != nil && p.query.Heavy() {
		err = r.Inventory.Read(ctx, read)
	} else {
		err = read(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case id != "" && len(p.found) == 0:
		return nil, &records.Error{Kind: records.NotFound, Message: "No object of " + l.path + " has this id"}
	}
	b := make([]byte, 0, 256+len(p.found)*3072)
	if err := httpx.Reserve(ctx, int64(cap(b))); err != nil {
		return nil, err
	}
	if id != "" {
		b = p.appendObject(b, p.found[0])
	} else {
		b = p.appendPage(b)
	}
	res = respond(nil)
	res.Append = func(to []byte) []byte { return append(to, b...) }
	return res, nil
}

// appendPage appends the page, with the addresses of the next and the previous one.
func (p *page) appendPage(b []byte) []byte {
	link := func(name string, value string) any {
		query := p.r.HTTP.URL.Query()
		query.Set("limit", strconv.Itoa(p.limit))
		query.Set(name, value)
		return p.base + "/" + p.list.path + "/?" + query.Encode()
	}
	var count, next, previous any = p.total, nil, nil
	switch {
	case p.cursor:
		count = nil
		if p.more {
			next = link("start", p.found[len(p.found)-1].Meta().ID)
		}
	default:
		if p.offset+len(p.found) < int(p.total) {
			next = link("offset", strconv.Itoa(p.offset+p.limit))
		}
		if p.offset > 0 {
			previous = link("offset", strconv.Itoa(max(p.offset-p.limit, 0)))
		}
	}
	b = append(p.members(append(b, '{'), "count", count, "next", next, "previous", previous), `,"results":[`...)
	for i, rec := range p.found {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.appendObject(b, rec)
	}
	return append(b, "]}"...)
}

// appendObject appends an object of the page.
func (p *page) appendObject(b []byte, rec records.Record) []byte {
	if p.only == nil && p.without == nil {
		return p.append(b, rec, !p.brief)
	}
	return append(b, p.chosen(p.append(nil, rec, !p.brief))...)
}
