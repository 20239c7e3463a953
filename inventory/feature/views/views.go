// Package views is the feature of saved views: lists with a name, of one user or of everybody (REFERENCE.md, 2.19).
package views

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxViews is the maximum number of views of one user, and of those of everybody.
const maxViews = 200

// View is a list with a name. It is visible to its user only, through this package, or to everybody who may list the
// records.
type View struct {
	records.Base
	UserID   *string `json:"user_id" field:"ref=users:cascade"` // null: everybody's
	Resource string  `json:"resource" field:"required,max=100,index"`
	Name     string  `json:"name" field:"required,max=100"`
	Query    string  `json:"query" field:"max=4000"`                          // the parameters of the list
	Key      string  `json:"-" field:"hidden,column=view_key,unique,max=300"` // the user, the resource, and the name in lower case
}

// Normalize sets the key.
func (v *View) Normalize() {
	v.Name, v.Key = strings.TrimSpace(v.Name), v.owner()+" "+v.Resource+" "+records.FoldASCII(strings.TrimSpace(v.Name))
}

// owner returns the id of the user, empty for everybody.
func (v *View) owner() string {
	if v.UserID == nil {
		return ""
	}
	return *v.UserID
}

// ValidateIn bounds the views of the owner.
func (v *View) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	if was, ok := before.(*View); ok && was.owner() == v.owner() {
		return nil
	}
	n, err := records.Count(ctx, tx, ownedBy(v.UserID, &records.Query{Resource: records.Of[View](tx.Schema())}))
	if err == nil && n >= maxViews {
		err = records.Refuse("name", records.TooMany(maxViews, "views: delete one first"))
	}
	return err
}

// ownedBy adds the condition that views are of a user, nil for everybody, to a query.
func ownedBy(user *string, q *records.Query) *records.Query {
	if user == nil {
		return q.Where("user_id", records.Condition{Op: records.IsNull, Value: true})
	}
	return q.Where("user_id", *user)
}

// sent is the body of a request. What a change omits stays.
type sent struct {
	Resource  *string `json:"resource"`
	Name      *string `json:"name"`
	Query     *string `json:"query"`
	Everybody *bool   `json:"everybody"`
}

// entry is a view in a response.
type entry struct {
	ID        string `json:"id"`
	Resource  string `json:"resource"`
	Name      string `json:"name"`
	Query     string `json:"query"`
	Everybody bool   `json:"everybody"`
	Editable  bool   `json:"editable"`
}

// New returns the feature.
func New() *feature.Feature {
	query := openapi.String("The parameters of the list as in its address, such as last_seen__lt=-30d&fields=hostname,last_seen.")
	everybody := openapi.Boolean("Whether it is everybody's, and not that of its user alone. Needs the right to create records of the resource, at all locations.")
	view := openapi.Object("View", openapi.Required("id", openapi.ID("")), openapi.Required("resource", openapi.String("")), openapi.Required("name", openapi.String("")),
		openapi.Required("query", query), openapi.Required("everybody", everybody), openapi.Required("editable", openapi.Boolean("Whether the sender may change and delete it.")))
	saved := func(status int) []openapi.Response { return []openapi.Response{{Status: status, Schema: view}} }
	operation := func(method, path, id, summary string, body []openapi.Property, responses []openapi.Response, handle func(context.Context, *feature.Request) (*feature.Response, error)) feature.Operation {
		op := feature.Operation{
			Operation: openapi.Operation{Method: method, Path: path, ID: id, Tag: "views", Summary: summary, Responses: responses, Errors: []int{http.StatusNotFound, http.StatusConflict}},
			Access:    auth.Permission{Everyone: true}, Scoped: true, Login: method != http.MethodGet, Handle: handle,
		}
		if body != nil {
			op.Body = openapi.Request(strings.ToUpper(id[:1])+id[1:], body...)
		}
		return op
	}
	name := openapi.BoundedString(1, 100)
	list := operation(http.MethodGet, "/views", "listViews", "List your saved views of a resource, and everybody's", nil, []openapi.Response{{
		Status: http.StatusOK, Schema: openapi.Object("Views", openapi.Required("data", openapi.Array(view, 0, 2*maxViews)),
			openapi.Required("share", openapi.Boolean("Whether the sender may save views for everybody."))),
	}}, listViews)
	list.Parameters, list.Errors = []openapi.Parameter{{Name: "resource", Required: true, Schema: openapi.String(""), Description: "The name of a resource, such as devices."}}, nil
	return &feature.Feature{
		Needs: map[string]records.Record{"views": &View{}},
		Schema: []records.Part{records.Define[View](records.Definition{
			Name: "views", Label: "View", Internal: true, Unaudited: true, Messages: map[string]string{"view_key": "View with this name already exists"},
		})},
		Tags:  map[string]string{"views": "Lists with a name, of one user or of everybody."},
		State: func(store records.Store) any { return records.New(store, nil) },
		Operations: []feature.Operation{
			list,
			operation(http.MethodPost, "/views", "createView", "Save a view", []openapi.Property{
				openapi.Required("resource", openapi.String("")), openapi.Required("name", name), openapi.Required("query", query), openapi.Optional("everybody", everybody),
			}, saved(http.StatusCreated), feature.WithBody(create)),
			operation(http.MethodPatch, "/views/{id}", "changeView", "Change one view", []openapi.Property{
				openapi.Optional("name", name), openapi.Optional("query", query), openapi.Optional("everybody", everybody),
			}, saved(http.StatusOK), feature.WithBody(change)),
			operation(http.MethodDelete, "/views/{id}", "deleteView", "Delete one view", nil, []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("")}}, remove),
		},
	}
}

// may returns why the sender may not save or delete a view.
func may(r *feature.Request, v *View) error {
	of, err := listed(r, v.Resource)
	if err != nil || v.UserID != nil {
		return err
	}
	if !r.Inventory.SeesAll() {
		return records.PermissionDenied()
	}
	return r.Inventory.May(of, records.RouteCreate)
}

// listed returns a resource whose records the sender may list.
func listed(r *feature.Request, name string) (*records.Resource, error) {
	of, ok := r.Inventory.Records().Schema().Named(name)
	if !ok || of.Internal {
		return nil, records.Refuse("resource", records.Unknown("resource", "use one with a list, such as devices"))
	}
	return of, r.Inventory.May(of, records.RouteList)
}

// apply returns the change of a view to what was sent, and checks it.
func (s *sent) apply(r *feature.Request) func(records.Record) error {
	return func(rec records.Record) error {
		v := rec.(*View)
		for to, from := range map[*string]*string{&v.Resource: s.Resource, &v.Name: s.Name, &v.Query: s.Query} {
			if from != nil {
				*to = *from
			}
		}
		if user := r.Inventory.Sender().UserID; s.Everybody != nil && *s.Everybody {
			v.UserID = nil
		} else if s.Everybody != nil || v.ID == "" {
			v.UserID = &user
		}
		if err := may(r, v); err != nil {
			return err
		}
		of, _ := listed(r, v.Resource)
		values, err := url.ParseQuery(v.Query)
		if err != nil || values.Has("page") || values.Has("cursor") {
			return records.Refuse("query", records.BadFormat("the parameters of a list, without page and cursor"))
		}
		_, err = records.ParseQuery(of, values, "below")
		return err
	}
}

func listViews(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	of, err := listed(r, r.Query.Get("resource"))
	if err != nil {
		return nil, err
	}
	store, user := r.State.(*records.Engine).Store(), r.Inventory.Sender().UserID
	page := struct {
		Data  []entry `json:"data"`
		Share bool    `json:"share"`
	}{[]entry{}, may(r, &View{Resource: of.Name}) == nil}
	for _, owner := range []*string{&user, nil} {
		own := records.Of[View](store.Schema())
		q := ownedBy(owner, &records.Query{Resource: own, Sort: []records.SortKey{{Field: own.KeyField("view_key")}}})
		all, err := records.Select[View](ctx, store, q, "resource", of.Name)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			hidden, err := namesHidden(ctx, r, of, v)
			if err != nil {
				return nil, err
			}
			if !hidden {
				page.Data = append(page.Data, entryOf(r, v))
			}
		}
	}
	return feature.OK(page), nil
}

// namesHidden reports whether a view of others has the id of a record that the sender may not see, such as a location.
func namesHidden(ctx context.Context, r *feature.Request, of *records.Resource, v *View) (bool, error) {
	if r.Inventory.SeesAll() || v.UserID != nil {
		return false, nil
	}
	values, _ := url.ParseQuery(v.Query) // it was checked when it was saved
	for name, texts := range values {
		name, _, _ = strings.Cut(name, "__")
		to := of
		if f, ok := of.Field(name); ok && f.Ref != nil {
			to = f.Ref.Resource()
		} else if name == "below" {
			to, _ = r.Inventory.Records().Schema().Named("locations")
		}
		for id := range strings.SplitSeq(strings.Join(texts, ","), ",") {
			if !records.ValidID(id) {
				continue
			}
			page, err := r.Inventory.Records().List(ctx, (&records.Query{Resource: to, Limit: 1}).Where("id", strings.ToLower(id)))
			if err != nil || len(page.Records) == 0 {
				return true, err
			}
		}
	}
	return false, nil
}

func entryOf(r *feature.Request, v *View) entry {
	return entry{v.ID, v.Resource, v.Name, v.Query, v.UserID == nil, may(r, v) == nil}
}

func create(ctx context.Context, r *feature.Request, s sent) (*feature.Response, error) {
	v := &View{}
	if err := s.apply(r)(v); err != nil {
		return nil, err
	}
	if err := r.State.(*records.Engine).Create(ctx, r.Inventory.Sender(), v); err != nil {
		return nil, err
	}
	return &feature.Response{Status: http.StatusCreated, Body: entryOf(r, v)}, nil
}

// found returns the view of the path, if the sender may change it. That of another user is absent.
func found(ctx context.Context, r *feature.Request) (*View, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	store := r.State.(*records.Engine).Store()
	v, err := records.Get[View](ctx, records.Fresh(store), id)
	if err == nil && v.UserID != nil && *v.UserID != r.Inventory.Sender().UserID {
		err = records.Absent(records.Of[View](store.Schema()))
	}
	if err == nil {
		err = may(r, v)
	}
	return v, err
}

func change(ctx context.Context, r *feature.Request, s sent) (*feature.Response, error) {
	v, err := found(ctx, r)
	if err != nil {
		return nil, err
	}
	s.Resource = nil
	engine := r.State.(*records.Engine)
	changed, err := engine.Update(ctx, r.Inventory.Sender(), records.Of[View](engine.Store().Schema()), records.Edit{ID: v.ID, Version: v.Version, Apply: s.apply(r)})
	if err != nil {
		return nil, err
	}
	return feature.OK(entryOf(r, changed[0].(*View))), nil
}

func remove(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	v, err := found(ctx, r)
	if err != nil {
		return nil, err
	}
	engine := r.State.(*records.Engine)
	err = engine.Delete(ctx, r.Inventory.Sender(), records.Of[View](engine.Store().Schema()), records.Edit{ID: v.ID, Version: v.Version})
	return feature.OK(httpx.Confirm("View deleted successfully")), err
}
