// Package change has the pages of the console that change records: forms to create and edit them, deletions,
// and changes of many at once. The forms follow the schema.
//
// A form has all of its state: the values that it was made from are hidden fields beside those that the user
// types. So only what the user has changed is sent to the API, and a form of an old version can show what has
// been changed meanwhile. Names of parameters that are no fields contain an underscore at the start or a dot,
// which names of fields do not.
package change

import (
	"embed"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// Pages returns the pages.
func Pages() site.Pages {
	return site.Pages{Files: files, Style: "style-change.css", Routes: []site.Route{
		{Pattern: "GET /r/{resource}/new", Handle: showNew},
		{Pattern: "POST /r/{resource}", Handle: create},
		{Pattern: "GET /r/{resource}/{id}/edit", Handle: showEdit},
		{Pattern: "POST /r/{resource}/{id}", Handle: save},
		{Pattern: "GET /r/{resource}/{id}/delete", Handle: showDelete},
		{Pattern: "POST /r/{resource}/{id}/delete", Handle: remove},
		{Pattern: "POST /r/{resource}/bulk", Handle: bulk},
		{Pattern: "GET /pick", Handle: pick},
	}}
}

// target returns the resource of the path, if the sender may perform an operation on its records. verb says
// it in words.
func target(q *site.Request, does records.Routes, verb string) (*records.Resource, error) {
	if isOwn(q) && does == records.RouteChange {
		users := q.API.Users()
		return users, nil
	}
	r, err := q.Resource()
	if err == nil && !q.May(r.Name, does) {
		err = httpx.Errorf(http.StatusForbidden, "Your role may not %s %s", verb, site.Plural(r))
	}
	return r, err
}

// isOwn reports whether the record of the path is the user of the sender, who may always change it.
func isOwn(q *site.Request) bool { return q.IsOwn(q.R.PathValue("resource"), q.R.PathValue("id")) }

// pathOf returns the path of a record, of the API or, below /r, of the console.
func pathOf(r *records.Resource, id string) string { return "/" + r.Name + "/" + url.PathEscape(id) }
