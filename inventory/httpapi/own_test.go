package httpapi_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// book and page are resources of a program that has no network.
type book struct {
	records.Base
	Title string `json:"title" field:"required,unique,max=100"`
}

type page struct {
	records.Base
	BookID string `json:"book_id" field:"required,ref=books:cascade"`
	Number int64  `json:"number" field:"required,unique=book_id,min=1"`
}

// byHeader identifies senders by their role.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "x", Username: "x", Role: auth.Role(r.Header.Get("X-Role"))}, nil
}

// library serves a schema without users and devices.
func library(t *testing.T, change func(books *records.Definition)) *httpxtest.Client {
	t.Helper()
	books := records.Definition{Name: "books", Label: "Book"}
	if change != nil {
		change(&books)
	}
	schema, err := records.NewSchema(records.Define[book](books), records.Define[page](records.Definition{Name: "pages", Label: "Page"}))
	ok(t, err)
	api, err := httpapi.New(records.New(records.NewMemStore(schema), nil), byHeader{}, nil)
	ok(t, err)
	c := httpxtest.New(t, api)
	c.Header.Set("X-Role", "admin")
	return c
}

// TestDefinition: each word of a definition changes what the API of a program's own resource
// does.
func TestDefinition(t *testing.T) {
	t.Parallel()
	titles := func(c *httpxtest.Client) (all []string) {
		var list struct {
			Meta any                 `json:"meta"`
			Data []map[string]string `json:"data"`
		}
		c.Send("GET", "/books?fields=title", nil).Want(200).JSON(&list)
		for _, b := range list.Data {
			all = append(all, b["title"])
		}
		return all
	}
	send := func(c *httpxtest.Client) *httpxtest.Response {
		return c.Send("POST", "/books", `[{"title":"a"},{"title":"c"},{"title":"b"}]`)
	}
	same := func(t *testing.T, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%q; want %q", got, want)
		}
	}
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		c := library(t, nil)
		send(c).Want(201)
		same(t, titles(c), []string{"a", "c", "b"})
		c.Send("POST", "/books", `{"title":"a"}`).WantError(409, "Title already exists")
		c.Send("POST", "/books", `{"title":"d"}`, "X-Role", "editor").WantError(403, "Forbidden")
		c.Send("GET", "/audit-logs", nil).Want(200)
		c.Send("GET", "/openapi.json", nil).Want(200)
		c.Send("GET", "/devices", nil).WantError(404, "")
		c.Send("GET", "/users", nil).WantError(404, "")
		c.Send("GET", "/debug/count", nil).WantError(404, "")
		c.Send("GET", "/", nil).Want(200)
	})
	t.Run("order, limit and messages", func(t *testing.T) {
		t.Parallel()
		c := library(t, func(d *records.Definition) {
			d.Order, d.Limit, d.Messages = []string{"title:desc"}, 2, map[string]string{"title": "There is such a book"}
		})
		send(c).Want(201)
		same(t, titles(c), []string{"c", "b"})
		c.Send("POST", "/books", `{"title":"a"}`).WantError(409, "There is such a book")
	})
	t.Run("access", func(t *testing.T) {
		t.Parallel()
		c := library(t, func(d *records.Definition) {
			readers, editors := records.Permission{Roles: []string{"viewer", "admin"}}, records.Permission{Roles: []string{"editor"}}
			d.Access = records.Access{Read: readers, Create: editors}
		})
		send(c).Want(201) // roles that are named lock no admins out
		c.Send("POST", "/books", `{"title":"d"}`, "X-Role", "viewer").WantError(403, "Forbidden")
		made := c.Send("POST", "/books", `{"title":"e"}`, "X-Role", "editor").Want(201)
		at := made.Header().Get("Location")
		c.Send("GET", at, nil, "X-Role", "editor").WantError(403, "Forbidden")
		c.Send("GET", at, nil, "X-Role", "viewer").Want(200)
		c.Send("DELETE", at, nil, "X-Role", "editor").WantError(403, "Forbidden")
		c.Send("DELETE", at, nil).Want(200)
	})
	t.Run("routes", func(t *testing.T) {
		t.Parallel()
		c := library(t, func(d *records.Definition) { d.Routes = records.RoutesRead | records.RouteCreate })
		at := c.Send("POST", "/books", `{"title":"a"}`).Want(201).Header().Get("Location")
		c.Send("GET", at, nil).Want(200)
		c.Send("DELETE", at, nil).WantError(405, "")
		c.Send("PUT", at, `{"title":"b"}`).WantError(405, "")
		c.Send("PATCH", "/books", `[]`).WantError(405, "")
	})
	t.Run("children", func(t *testing.T) {
		t.Parallel()
		c := library(t, func(d *records.Definition) {
			d.Children = []records.Child{{Path: "pages", Count: "pagecount", From: "pages", Field: "book_id"}}
		})
		var made map[string]any
		c.Send("POST", "/books", `{"title":"a"}`).Want(201).JSON(&made)
		id := made["id"].(string)
		c.Send("POST", "/pages", `[{"book_id":"`+id+`","number":1},{"book_id":"`+id+`","number":2}]`).Want(201)
		var list struct {
			Meta any              `json:"meta"`
			Data []map[string]any `json:"data"`
		}
		c.Send("GET", "/books/"+id+"/pages?number__gt=1", nil).Want(200).JSON(&list)
		if len(list.Data) != 1 {
			t.Errorf("the pages are %v", list.Data)
		}
		var count map[string]any
		c.Send("GET", "/books/"+id+"/pagecount", nil).Want(200).JSON(&count)
		if count["count"] != 2.0 {
			t.Errorf("the count is %v", count)
		}
	})
	t.Run("unaudited", func(t *testing.T) {
		t.Parallel()
		c := library(t, func(d *records.Definition) { d.Unaudited = true })
		send(c).Want(201)
		var list struct {
			Meta any              `json:"meta"`
			Data []map[string]any `json:"data"`
		}
		c.Send("GET", "/audit-logs", nil).Want(200).JSON(&list)
		if len(list.Data) != 0 {
			t.Errorf("the audit log has %v", list.Data)
		}
	})
}

// contract is a record that a program adds to the inventory.
type contract struct {
	records.Base
	DeviceID string `json:"device_id" field:"required,ref=devices:cascade"`
	Customer string `json:"customer" field:"required,max=100,search"`
}

// contracts serves an inventory with contracts, which a role may change.
func contracts(role string, more ...records.Part) (*httpapi.API, error) {
	clerks := records.Permission{Roles: []string{role}}
	schema, err := inventory.NewSchema(append(more,
		records.Define[contract](records.Definition{Name: "contracts", Label: "Contract", Access: records.Access{Read: clerks, Create: clerks, Update: clerks, Delete: clerks}}),
		records.ExtendChildren("devices", records.Child{Path: "contracts", Count: "contractcount", From: "contracts", Field: "device_id"}))...)
	if err != nil {
		return nil, err
	}
	return httpapi.New(records.New(records.NewMemStore(schema), nil), byHeader{}, nil)
}

// TestRoleOfProgram: records whose Access names a role of the program are for it and for admins. A role that is not among
// those of the program is an error, unless it does not say which it has.
func TestRoleOfProgram(t *testing.T) {
	t.Parallel()
	api, err := contracts("finance", inventory.Roles("finance"))
	ok(t, err)
	c := httpxtest.New(t, api)
	c.Header.Set("X-Role", "admin")
	made := func(path string, body any) string {
		var rec object
		c.Send("POST", path, body).Want(201).JSON(&rec)
		return rec["id"].(string)
	}
	id := made("/devices", device("core-1"))
	signed := made("/contracts", object{"device_id": id, "customer": "Globex"})
	c.Send("PATCH", "/contracts/"+signed, object{"customer": "Initech"}, "X-Role", "finance").Want(200)
	c.Send("PATCH", "/contracts/"+signed, object{"customer": "Umbrella"}).Want(200)
	c.Send("PATCH", "/devices/"+id, object{"os": "x"}, "X-Role", "finance").WantError(403, "permission")
	for _, path := range []string{"/contracts", "/contracts/" + signed, "/devices/" + id + "/contracts", "/devices/" + id + "/contractcount"} {
		c.Send("GET", path, nil).Want(200)
		c.Send("GET", path, nil, "X-Role", "finance").Want(200)
		c.Send("GET", path, nil, "X-Role", "viewer").WantError(403, "permission")
	}
	if doc := c.Send("GET", "/openapi.json", nil).Body.String(); !strings.Contains(doc, "Role admin or finance.") || !strings.Contains(doc, `"/devices/{id}/contractcount"`) {
		t.Error("the document lacks the role or the path")
	}
	_, err = contracts("finanse", inventory.Roles("finance"))
	errtest.Want(t, err, `/contracts "finanse" admin, editor, viewer, finance inventory.Roles`)
	_, err = contracts("finanse")
	ok(t, err)
}

// cabinet is a record with a hook that a program adds, and that devices refer to.
type cabinet struct {
	records.Base
	Name  string `json:"name" field:"required,unique,max=50,search"`
	Units int64  `json:"units" field:"required,min=1,max=60,index"`
}

func (r *cabinet) Normalize() { r.Name = strings.ToUpper(r.Name) }

// cabinetList is a page.
type cabinetList struct {
	Meta map[string]any   `json:"meta"`
	Data []map[string]any `json:"data"`
}

// TestCabinets: cabinets, and the cabinet of a device, have all that other records and fields have.
func TestCabinets(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(
		records.Define[cabinet](records.Definition{Name: "cabinets", Label: "Cabinet", Order: []string{"name:asc"}}),
		records.Extend("devices", "cabinet_id", records.Text, "ref=cabinets:null"),
	)
	ok(t, err)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "inventory.db"), schema, nil) // with the table and the column
	ok(t, err)
	t.Cleanup(func() { ok(t, store.Close()) })
	api, err := httpapi.New(records.New(store, nil), byHeader{}, &httpapi.Options{
		Permit: func(_ *http.Request, who *auth.Identity, r *records.Resource, _ records.Routes, denied error) error {
			if r.Name == "cabinets" && who.Role == "facility" {
				return nil
			}
			return denied
		},
	})
	ok(t, err)
	c := httpxtest.New(t, api)
	c.Header.Set("X-Role", "admin")
	pages := func(target string) (names []any) {
		for cursor := "&cursor="; cursor != ""; {
			var page cabinetList
			c.Send("GET", target+cursor, nil).Want(200).JSON(&page)
			for _, rec := range page.Data {
				names = append(names, rec["name"])
			}
			cursor = ""
			if next, more := page.Meta["next_cursor"]; more {
				cursor = "&cursor=" + next.(string)
			}
		}
		return names
	}

	c.Send("POST", "/cabinets?dry_run=true", `{"name":"r1","units":42}`).WantHeader("Dry-Run", "true")
	c.Send("POST", "/cabinets", `{"name":"r0","units":99}`).WantError(400, "units 60")
	made := c.Send("POST", "/cabinets", `{"name":"r1","units":42}`, "Idempotency-Key", "k").Want(201)
	c.Send("POST", "/cabinets", `{"name":"r1","units":42}`, "Idempotency-Key", "k").Want(201).WantHeader("Idempotent-Replayed", "true")
	c.Send("POST", "/cabinets", `{"name":"R1","units":42}`).WantError(409, "Name already exists")
	var first map[string]any
	made.JSON(&first)
	require.Equal(t, "R1", first["name"], "the hook")
	c.Send("POST", "/cabinets", `[{"name":"r3","units":10},{"name":"r2","units":42}]`).Want(201)
	require.Equal(t, []any{"R1", "R2", "R3"}, pages("/cabinets?limit=2"), "the order of the definition")
	require.Equal(t, []any{"R2", "R1"}, pages("/cabinets?limit=1&units__gte=11&sortby=units:desc&sortby=name:desc"))
	c.Send("GET", "/cabinets?color=red", nil).WantError(400, "color is an unknown")

	at := "/cabinets/" + first["id"].(string)
	tag := c.Send("GET", at, nil).Want(200).Header().Get("Etag")
	c.Send("PATCH", at, `{"units":20}`, "If-Match", tag).Want(200)
	c.Send("PATCH", at, `{"units":21}`, "If-Match", tag).WantError(412, "")

	c.Send("POST", "/cabinets", `{"name":"r9","units":1}`, "X-Role", "guest").WantError(403, "Forbidden")
	c.Send("POST", "/cabinets", `{"name":"r9","units":1}`, "X-Role", "facility").Want(201)
	const device = `{"hostname":"h%d","ip":"192.0.2.1","model":"m","vendor":"v","os":"o","status":"active","cabinet_id":"%s"}`
	c.Send("POST", "/devices", fmt.Sprintf(device, 1, first["id"]), "X-Role", "facility").WantError(403, "Forbidden")

	c.Send("POST", "/devices", fmt.Sprintf(device, 1, "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")).WantError(400, "cabinet_id cabinets")
	c.Send("POST", "/devices", fmt.Sprintf(device, 1, first["id"])).Want(201)
	c.Send("POST", "/devices", strings.Replace(fmt.Sprintf(device, 2, ""), `"cabinet_id":""`, `"cabinet_id":null`, 1)).Want(201)
	var found cabinetList
	c.Send("GET", "/devices?sortby=cabinet_id:asc&fields=hostname,cabinet_id&cabinet_id="+first["id"].(string), nil).Want(200).JSON(&found)
	require.Equal(t, []map[string]any{{"hostname": "h1", "cabinet_id": first["id"]}}, found.Data)
	c.Send("DELETE", at, nil).Want(200)
	c.Send("GET", "/devices?cabinet_id__isnull=true&limit=1", nil).Want(200).JSON(&found)
	require.EqualValues(t, 2, found.Meta["total_count"])

	c.Send("GET", "/audit-logs?resource_type=cabinet&sortby=id:asc", nil).Want(200).JSON(&found)
	require.Equal(t, map[string]any{
		"name": map[string]any{"before": nil, "after": "R1"}, "units": map[string]any{"before": nil, "after": 42.0},
	}, found.Data[0]["changes"])
	c.Send("GET", "/audit-logs?resource_type=device&action=create", nil).Want(200).JSON(&found)
	require.Contains(t, fmt.Sprint(found.Data), "cabinet_id:map[after:"+first["id"].(string))
	doc := c.Send("GET", "/openapi.json", nil).Want(200).Body.String()
	for _, want := range []string{`"/cabinets/{id}"`, `"cabinet_id"`, `"cabinet_id__isnull"`, `"units__gte"`} {
		require.Contains(t, doc, want)
	}
}
