package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// BenchmarkNew measures creating an API, including its document.
func BenchmarkNew(b *testing.B) {
	g := newHarness(b, nil)
	for b.Loop() {
		_, err := httpapi.New(records.New(g.store, nil), authenticatorOf("viewer"), nil)
		ok(b, err)
	}
}

// BenchmarkRead compares the whole chain with a baseline that only runs the same query and
// encodes the result with encoding/json.
func BenchmarkRead(b *testing.B) {
	b.Run("memory", func(b *testing.B) { reads(b, records.NewMemStore(builtIn)) })
	b.Run("sqlite", func(b *testing.B) {
		store, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "bench.db"), builtIn, nil)
		ok(b, err)
		defer func() { ok(b, store.Close()) }()
		reads(b, store)
	})
}

func reads(b *testing.B, store records.Store) {
	g := newHarness(b, &choices{store: store, options: func(o *httpapi.Options) { o.Chain = nil }})
	fill(b, g.store, 100)
	devices := records.Of[inventory.Device](builtIn)
	page, err := g.store.List(context.Background(), &records.Query{Resource: devices, Limit: 1})
	ok(b, err)
	first := page.Records[0].Meta().ID
	for _, row := range []struct {
		name, target string
		baseline     http.HandlerFunc
	}{
		{"one", "/devices/" + first, func(w http.ResponseWriter, r *http.Request) {
			rec, err := g.store.Get(r.Context(), devices, first)
			ok(b, err)
			plain(w, rec)
		}},
		{"list20", "/devices?limit=20&sortby=hostname:asc&status=active", floorList(b, g.store, "limit=20&sortby=hostname:asc&status=active")},
		{"list100", "/devices?limit=100", floorList(b, g.store, "limit=100")},
	} {
		b.Run(row.name+"/baseline", func(b *testing.B) { serve(b, row.baseline, row.target, "") })
		b.Run(row.name+"/api", func(b *testing.B) { serve(b, g.api, row.target, g.token("viewer")) })
	}
}

// BenchmarkBulk changes a thousand devices with their entries in the audit log.
func BenchmarkBulk(b *testing.B) {
	store, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "bench.db"), builtIn, nil)
	ok(b, err)
	defer func() { ok(b, store.Close()) }()
	g := newHarness(b, &choices{store: store, options: func(o *httpapi.Options) { o.Chain = nil }})
	fill(b, g.store, records.MaxItems)
	page, err := store.List(context.Background(), &records.Query{Resource: records.Of[inventory.Device](builtIn)})
	ok(b, err)
	token := "Bearer " + g.token("root")
	for i := 0; b.Loop(); i++ {
		var items []object
		for _, rec := range page.Records {
			items = append(items, object{"id": rec.Meta().ID, "status": "maintenance", "role": fmt.Sprint("role-", i)})
		}
		body, err := json.Marshal(items)
		ok(b, err)
		r := httptest.NewRequestWithContext(b.Context(), "PATCH", "/devices", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		g.api.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)*100/float64(len(page.Records)), "ms/100")
}

func floorList(b *testing.B, store records.Store, query string) http.HandlerFunc {
	values, err := url.ParseQuery(query)
	ok(b, err)
	q, err := records.ParseQuery(records.Of[inventory.Device](builtIn), values)
	ok(b, err)
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := store.List(r.Context(), q)
		ok(b, err)
		plain(w, httpx.Page[records.Record]{Meta: httpx.Meta{CurrentPage: 1, Limit: 20, TotalCount: page.Total}, Data: page.Records})
	}
}

func plain(w http.ResponseWriter, v any) {
	var body bytes.Buffer
	_ = json.NewEncoder(&body).Encode(v)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body.Bytes())
}

func serve(b *testing.B, h http.Handler, target, token string) {
	r := httptest.NewRequestWithContext(b.Context(), "GET", target, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		b.Fatal(w.Code, w.Body)
	}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.Header())
		w.Body.Reset()
		h.ServeHTTP(w, r)
	}
}

// fill adds devices.
func fill(t testing.TB, store records.Store, n int) {
	t.Helper()
	var recs []records.Record
	for i := range n {
		rec := described()
		rec.Hostname, rec.SerialNumber = fmt.Sprintf("core-%04d", i), ""
		recs = append(recs, rec)
	}
	ok(t, records.New(store, nil).Create(context.Background(), records.Caller{Name: "test"}, recs...))
}

// described returns a device with a value in most fields.
func described() *inventory.Device {
	return &inventory.Device{
		Hostname: "core-1", IP: "192.0.2.1", Model: "QFX5120-48Y", Vendor: "Juniper", OS: "Junos", OSVersion: "23.4R2",
		Status: inventory.DeviceActive, Role: "core", SerialNumber: "XR0123456789", RackPosition: "R12 U40",
		Tags: []string{"backbone", "ring-1"}, Notes: "Behind the door.\nRing twice.",
	}
}
