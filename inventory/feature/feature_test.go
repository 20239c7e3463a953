package feature_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

type renaming struct {
	Suffix string `json:"suffix"`
}

var body = httpx.NewBody[renaming](nil)

// rename adds a suffix to the names of all devices.
func rename(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	devices := records.Of[inventory.Device](r.Inventory.Records().Schema())
	if err := r.Inventory.May(devices, records.RouteChangeMany); err != nil {
		return nil, err
	}
	sent, err := body.Read(r.HTTP)
	if err != nil {
		return nil, err
	}
	if sent.Suffix == "" {
		return nil, records.InvalidField("suffix", "must not be empty")
	}
	renamed := 0
	_, err = r.Inventory.Change(ctx, func(ctx context.Context, tx *feature.Transaction) error {
		page, err := tx.Records.List(ctx, &records.Query{Resource: devices})
		if err != nil {
			return err
		}
		var edits []records.Edit
		for _, rec := range page.Records {
			edits = append(edits, records.Edit{ID: rec.Meta().ID, Apply: func(rec records.Record) error {
				rec.(*inventory.Device).Hostname += sent.Suffix
				return nil
			}})
		}
		renamed = len(edits)
		_, err = tx.Update(ctx, tx.By, devices, edits...)
		return err
	})
	return &feature.Response{Status: http.StatusOK, Body: map[string]int{"renamed": renamed}}, err
}

// suffixes is a feature as a program adds it: an operation, and a page with its entry.
func suffixes() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"devices": &inventory.Device{}},
		Operations: []feature.Operation{{
			Operation: openapi.Operation{
				Method: "POST", Path: "/suffixes", ID: "addSuffix", Tag: "devices", Summary: "Add a suffix to all names",
				Parameters: []openapi.Parameter{openapi.DryRun()},
				Body:       openapi.Request("Suffix", openapi.Required("suffix", openapi.String(""))),
				Responses:  []openapi.Response{{Status: http.StatusOK, Schema: openapi.Object("Renamed", openapi.Required("renamed", openapi.Integer("", 0)))}},
			},
			Access: auth.Permission{Roles: []auth.Role{auth.Admin, auth.Editor}}, Scoped: true, Handle: rename,
		}},
		Pages: site.Pages{
			Files: fstest.MapFS{"templates/suffixes.html": {Data: []byte(`{{define "main"}}<h1>Suffixes of {{.Data}}</h1>{{end}}`)}},
			Routes: []site.Route{{Pattern: "GET /suffixes", Handle: func(q *site.Request) error {
				return q.Page("suffixes.html", "Suffixes", q.Sender.Username)
			}}},
			Links: []site.RecordLink{{
				Resource: "devices", Label: "Suffixes", Icon: "edit", Path: func(id string) string { return "/suffixes?device=" + id },
				Show: func(q *site.Request) bool { return q.May("devices", records.RouteChange) },
			}},
			Entries: []site.Entry{{Label: "Suffixes", Path: "/suffixes", Show: func(q *site.Request) bool { return q.May("devices", records.RouteChange) }}},
		},
	}
}

// TestFeature: an operation of a feature has the rights, the errors, the dry run and the description of others.
func TestFeature(t *testing.T) {
	t.Parallel()
	api := featuretest.New(t, nil, suffixes())
	api.Create("/devices", map[string]any{"hostname": "sw1"})
	sent := renaming{"-old"}
	api.As("").Send("POST", "/suffixes", sent).Want(http.StatusUnauthorized)
	api.As("viewer").Send("POST", "/suffixes", sent).Want(http.StatusForbidden)
	api.As("root").Send("POST", "/suffixes", `{"sufix":"x"}`).WantError(http.StatusBadRequest, "sufix suffix")
	api.As("root").Send("POST", "/suffixes", renaming{}).WantError(http.StatusBadRequest, "suffix")
	api.As("root").Send("POST", "/suffixes?dry-run=true", sent).WantError(http.StatusBadRequest, "dry_run")

	require.Contains(t, api.As("root").Send("POST", "/suffixes?dry_run=true", sent).Want(http.StatusOK).Body.String(), `"updated":1`)
	require.Equal(t, "sw1", api.List("/devices")[0]["hostname"])
	require.JSONEq(t, `{"renamed":1}`, api.As("root").Send("POST", "/suffixes", sent).Want(http.StatusOK).Body.String())
	require.Equal(t, "sw1-old", api.List("/devices")[0]["hostname"])
	require.Equal(t, "root", api.List("/audit-logs?action=update")[0]["actor"])

	document := api.As("").Send("GET", "/openapi.json", nil).Want(http.StatusOK).Body.String()
	require.Contains(t, document, `"operationId":"addSuffix"`)
	api.As("root").Send("GET", "/suffixes", nil).Want(http.StatusMethodNotAllowed)
}

// TestScopesOfFeatures: a sender with scopes may use an operation without a resource only if its handler applies the
// scopes, or if it shows lists only; the state of a feature is made once.
func TestScopesOfFeatures(t *testing.T) {
	t.Parallel()
	f, made := suffixes(), 0
	f.State = func(records.Store) any { made++; return made }
	f.Operations[0].Scoped, f.Operations[0].Lists = false, []string{"devices"}
	get := f.Operations[0]
	get.Method, get.ID, get.Parameters, get.Body, get.Access = "GET", "showSuffix", nil, nil, auth.Permission{Everyone: true}
	get.Handle = func(_ context.Context, r *feature.Request) (*feature.Response, error) {
		return feature.OK(map[string]any{"renamed": r.State}), nil
	}
	f.Operations = append(f.Operations, get)
	api := featuretest.New(t, nil, f)
	api.As("root").Send("POST", "/suffixes", renaming{"-old"}).Want(http.StatusOK)
	for scope, status := range map[string]int{"devices:read": http.StatusOK, "devices:*": http.StatusOK, "vlans:read": http.StatusForbidden} {
		api.WithScopes(scope).Send("POST", "/suffixes", renaming{"-old"}).Want(http.StatusForbidden)
		api.WithScopes(scope).Send("GET", "/suffixes", nil).Want(status)
	}
	api.As("").Send("GET", "/openapi.json", nil).Want(http.StatusOK)
	require.JSONEq(t, `{"renamed":1}`, api.As("viewer").Send("GET", "/suffixes", nil).Want(http.StatusOK).Body.String())
	require.Equal(t, 1, made)
}

// TestPages: a page of a feature is one of the console, and its entry is shown to whom it is for.
func TestPages(t *testing.T) {
	t.Parallel()
	api := featuretest.New(t, nil, suffixes())
	page := api.Page("root", "/suffixes")
	require.Contains(t, page, "<h1>Suffixes of root</h1>")
	require.Contains(t, page, `href="/suffixes"`)
	require.NotContains(t, api.Page("viewer", "/"), `href="/suffixes"`)

	id := api.Create("/devices", map[string]any{"hostname": "sw1"})["id"].(string)
	require.Contains(t, api.Page("root", "/r/devices/"+id), `href="/suffixes?device=`+id)
	require.NotContains(t, api.Page("viewer", "/r/devices/"+id), "/suffixes")
}

// TestWrongFeatures: what cannot be served is an error of the constructors.
func TestWrongFeatures(t *testing.T) {
	t.Parallel()
	for why, change := range map[string]func(f *feature.Feature){
		"a path of the API":      func(f *feature.Feature) { f.Operations[0].Method, f.Operations[0].Path = "GET", "/search" },
		"no handler":             func(f *feature.Feature) { f.Operations[0].Handle = nil },
		"no path":                func(f *feature.Feature) { f.Operations[0].Path = "" },
		"a page of the console":  func(f *feature.Feature) { f.Pages.Routes[0].Pattern = "GET /search" },
		"a page without handler": func(f *feature.Feature) { f.Pages.Routes[0].Handle = nil },
		"a link without Path":    func(f *feature.Feature) { f.Pages.Links[0].Path = nil },
		"a section without Load": func(f *feature.Feature) {
			f.Pages.Sections = []site.Section{{ID: "x", Title: "X", Template: "section-table"}}
		},
		"an entry without Show": func(f *feature.Feature) { f.Pages.Entries[0].Show = nil },
	} {
		f := suffixes()
		change(f)
		api, err := httpapi.New(records.New(records.NewMemStore(inventory.Schema()), nil), nobody{}, &httpapi.Options{Features: []*feature.Feature{f}})
		if err == nil {
			_, err = console.New(api, nil)
		}
		require.Error(t, err, why)
		require.True(t, strings.HasPrefix(err.Error(), "httpapi: ") || strings.HasPrefix(err.Error(), "console: "), err)
	}
}

type nobody struct{}

func (nobody) Authenticate(*http.Request) (*auth.Identity, error) {
	return nil, &auth.Error{Kind: auth.TokenMissing, Message: "no token"}
}

// TestNeeds: a feature without its resources is left out.
func TestNeeds(t *testing.T) {
	t.Parallel()
	schema, err := records.NewSchema()
	require.NoError(t, err)
	require.False(t, suffixes().Fits(schema))
	require.True(t, suffixes().Fits(inventory.Schema()))
}
