package detail_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

type book struct {
	records.Base
	Title string `json:"title" field:"required,unique,max=100"`
	Shelf string `json:"shelf" field:"max=100"`
}

type chapter struct {
	records.Base
	BookID string `json:"book_id" field:"required,ref=books:cascade"`
	Number int64  `json:"number" field:"required,unique=book_id,min=1"`
}

// byHeader identifies senders by their role.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "x", Username: "x", Role: auth.Role(r.Header.Get("Authorization"))}, nil
}

// TestOwnResources: a program without devices has a home page, and pages of its records with those that refer to
// them, a history for those who may read it, and buttons for those who may change something.
func TestOwnResources(t *testing.T) {
	t.Parallel()
	schema, err := records.NewSchema(records.Define[book](records.Definition{Name: "books", Label: "Book"}), records.Define[chapter](records.Definition{Name: "chapters", Label: "Chapter"}))
	require.NoError(t, err)
	engine := records.New(records.NewMemStore(schema), nil)
	novel := &book{Title: `"Ash" & <oak>`}
	require.NoError(t, engine.Create(t.Context(), records.Caller{Name: "jane"}, novel))
	first := &chapter{BookID: novel.ID, Number: 7}
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, first))
	api, err := httpapi.New(engine, byHeader{}, &httpapi.Options{Features: standard.Features()})
	require.NoError(t, err)
	pages, err := console.New(api, nil)
	require.NoError(t, err)
	part := "" // the id of the element that asks for itself
	get := func(role, path string, status int) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Authorization", role)
		if part != "" {
			r.Header.Set("Hx-Request", "true")
			r.Header.Set("Hx-Target", part)
		}
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		body, err := io.ReadAll(w.Body)
		require.NoError(t, err)
		require.Equal(t, status, w.Code, "%s: %s", path, body)
		return string(body)
	}
	require.Contains(t, get("admin", "/", 200), "Newest changes")
	require.NotContains(t, get("viewer", "/", 200), "Newest changes")

	page := get("admin", "/r/books/"+novel.ID, 200)
	for _, want := range []string{
		"&#34;Ash&#34; &amp; &lt;oak&gt;", "by jane", "/r/books/" + novel.ID + "/edit", "/r/books/" + novel.ID + "/delete", "/r/chapters/" + first.ID, "/r/chapters/new?book_id=" + novel.ID, "Without a value: Shelf",
	} {
		require.Contains(t, page, want)
	}
	page = get("viewer", "/r/books/"+novel.ID, 200)
	require.Contains(t, page, "/r/chapters/"+first.ID)
	for _, not := range []string{"by jane", "/edit", "/delete", "/new?"} {
		require.NotContains(t, page, not)
	}
	require.Contains(t, get("viewer", "/r/chapters/"+first.ID, 200), `href="/r/books/`+novel.ID+`"`, "a chapter leads to its book")
	require.Contains(t, get("viewer", "/r/books/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", 404), "Book not found")
	require.Contains(t, get("viewer", "/r/books/"+novel.ID+"/history", 403), "permission")
	get("viewer", "/r/cars/"+novel.ID, 404)
	get("viewer", "/trace/books/"+novel.ID, 404)

	part = "record-values"
	page = get("viewer", "/r/books/"+novel.ID, 200)
	require.Regexp(t, `^<section [^>]*id="record-values"[^>]* data-follow="books">`, strings.TrimSpace(page), "a part is one element, which follows changes again")
	require.NotContains(t, page, "/r/chapters/"+first.ID)
	part = "record-history"
	get("viewer", "/r/books/"+novel.ID, 404)
}

type contract struct {
	records.Base
	DeviceID string `json:"device_id" field:"required,ref=devices:cascade"`
	Customer string `json:"customer" field:"required,max=100"`
}

// TestSectionOfProgram: the page of a device has the records of a program that refer to it, for those who may see them.
func TestSectionOfProgram(t *testing.T) {
	t.Parallel()
	clerks := records.Permission{Roles: []string{"clerk"}}
	schema, err := inventory.NewSchema(inventory.Roles("clerk"),
		records.Define[contract](records.Definition{Name: "contracts", Label: "Contract", Access: records.Access{Read: clerks, Create: clerks}}))
	require.NoError(t, err)
	engine := records.New(records.NewMemStore(schema), nil)
	device := &inventory.Device{Hostname: "core-1"}
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, device))
	signed := &contract{DeviceID: device.ID, Customer: "Globex"}
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, signed))
	api, err := httpapi.New(engine, byHeader{}, &httpapi.Options{Features: standard.Features()})
	require.NoError(t, err)
	pages, err := console.New(api, nil)
	require.NoError(t, err)
	for role, sees := range map[string]bool{"admin": true, "clerk": true, "viewer": false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/r/devices/"+device.ID, nil)
		r.Header.Set("Authorization", role)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		for _, part := range []string{`id="of-contracts-device_id"`, "Globex", "/r/contracts/new?device_id=" + device.ID} {
			require.Equal(t, sees, strings.Contains(w.Body.String(), part), "%s: %s", role, part)
		}
	}
}
