package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// anyone accepts all requests as those of an admin, who may be limited to locations.
type anyone struct{ locations []string }

func (a anyone) Authenticate(*http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", Username: "root", Role: "admin", Locations: a.locations}, nil
}

// filled returns a store with so many devices at 200 locations.
func filled(t testing.TB, store records.Store, devices int) records.Store {
	t.Helper()
	engine, by := records.New(store, nil), records.Caller{Name: "test"}
	var locations []records.Record
	for i := range 200 {
		locations = append(locations, &inventory.Location{Name: fmt.Sprintf("Location %d", i), SiteCode: fmt.Sprintf("loc-%03d", i), Country: "Austria"})
	}
	require.NoError(t, engine.Create(t.Context(), by, locations...))
	states := []inventory.DeviceStatus{inventory.DeviceActive, inventory.DeviceActive, inventory.DeviceOffline, inventory.DeviceMaintenance}
	for from := 0; from < devices; from += records.MaxItems {
		var recs []records.Record
		for i := from; i < min(devices, from+records.MaxItems); i++ {
			location := locations[i%len(locations)].Meta().ID
			recs = append(recs, &inventory.Device{
				Hostname: fmt.Sprintf("access-%06d", i), IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), Vendor: "Juniper", Model: "QFX5120-48Y",
				OS: "Junos", OSVersion: "23.4R2", Status: states[i%len(states)], Role: "access-switch", LocationID: &location, Tags: []string{"lab"},
			})
		}
		require.NoError(t, engine.Create(t.Context(), by, recs...))
	}
	return store
}

// pagesOf returns the pages and the API of a store, for an admin who is limited to locations, if there are any.
func pagesOf(t testing.TB, store records.Store, locations ...string) (pages, api http.Handler) {
	t.Helper()
	a, err := httpapi.New(records.New(store, nil), anyone{locations}, &httpapi.Options{Features: standard.Features()})
	require.NoError(t, err)
	c, err := console.New(a, nil)
	require.NoError(t, err)
	return c, a
}

// get returns the response to a request that must succeed.
func get(t testing.TB, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", target, nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", target, w.Code, w.Body)
	}
	return w
}

// BenchmarkDeviceList measures pages of 100,000 devices beside the call of the API for the same records.
func BenchmarkDeviceList(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), inventory.Schema(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	pages, api := pagesOf(b, filled(b, store, 100_000))
	const fields = "&fields=id,hostname,status,ip,role,location_id,model&count=estimated&limit=50"
	for _, row := range []struct{ name, page, api string }{
		{"first", "/r/devices", "/devices?sortby=hostname:asc" + fields},
		{"filtered", "/r/devices?status=offline&sortby=ip:desc", "/devices?status=offline&sortby=ip:desc" + fields},
		{"deep", "/r/devices?page=180", "/devices?page=180&sortby=hostname:asc" + fields},
		{"search", "/r/devices?q=access-0123", "/devices?q=access-0123&sortby=hostname:asc" + fields},
	} {
		b.Run(row.name+"/api", func(b *testing.B) {
			for b.Loop() {
				get(b, api, row.api)
			}
		})
		b.Run(row.name+"/page", func(b *testing.B) {
			for b.Loop() {
				get(b, pages, row.page)
			}
		})
	}
	b.Run("palette", func(b *testing.B) {
		for b.Loop() {
			get(b, pages, "/search?part=palette&q=access-0123")
		}
	})
}

// BenchmarkPages measures the home page, a device and lists at 100,000 devices, for an admin and for one who is
// limited to a location.
func BenchmarkPages(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), inventory.Schema(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	filled(b, store, 100_000)
	page, err := store.List(b.Context(), &records.Query{Resource: records.Of[inventory.Device](store.Schema()), Limit: 1})
	require.NoError(b, err)
	device := page.Records[0].(*inventory.Device)
	for name, locations := range map[string][]string{"admin": nil, "limited": {*device.LocationID}} {
		pages, _ := pagesOf(b, store, locations...)
		for _, path := range []string{"/", "/r/devices/" + device.ID, "/r/devices", "/r/interfaces", "/r/links"} {
			b.Run(name+strings.ReplaceAll(path, device.ID, "id"), func(b *testing.B) {
				for b.Loop() {
					get(b, pages, path)
				}
			})
		}
	}
}

// TestWeight: a list and all that it loads have less than 150 kB, compressed.
func TestWeight(t *testing.T) {
	t.Parallel()
	pages, _ := pagesOf(t, filled(t, records.NewMemStore(inventory.Schema()), 100))
	w := get(t, pages, "/r/devices?limit=100")
	require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	sum := w.Body.Len()
	plain := httptest.NewRecorder()
	pages.ServeHTTP(plain, httptest.NewRequestWithContext(t.Context(), "GET", "/r/devices?limit=100", nil))
	loaded := regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`).FindAllStringSubmatch(plain.Body.String(), -1)
	require.Greater(t, len(loaded), 3)
	for _, of := range loaded {
		sum += get(t, pages, strings.ReplaceAll(of[1], "&amp;", "&")).Body.Len()
	}
	t.Logf("%d bytes, of which %d are the page", sum, w.Body.Len())
	require.Less(t, sum, 150_000)
}
