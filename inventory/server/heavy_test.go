package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestHeavyQueries checks that health checks and reads of one record are served while 60 heavy
// queries of a viewer are in flight. Requests to a busy machine tell nothing of that, so one of
// five intervals has to show it: no other test of the package runs meanwhile, but other packages do.
func TestHeavyQueries(t *testing.T) {
	r := serve(t, settings(t, nil))
	admin := r.login("admin", password)
	r.want(201, "POST", "/users", admin, `{"username":"viewer","email":"viewer@example.org","role":"viewer","password":"`+password+`"}`)
	viewer := r.login("viewer", password)
	device := addDevices(t, r.srv.Store(), 10_000)

	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	var answered, refused atomic.Int64 // heavy queries
	for i := range 60 {
		path := []string{"/devices?q=zz", "/devices?hostname__contains=zz", "/devices?sortby=os:desc&sortby=os_version:asc&count=false", "/devices?model__contains=zz", "/devices?notes=zz&vendor=x"}[i%5]
		all.Go(func() {
			for ctx.Err() == nil {
				status, err := r.get(ctx, path, viewer)
				switch {
				case err != nil:
					return
				case status == http.StatusOK:
					answered.Add(1)
				case status == http.StatusTooManyRequests:
					refused.Add(1)
					pause(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	for range 5 {
		queries, requests := answered.Load(), int64(0)
		for begin := time.Now(); time.Since(begin) < 3*time.Second; requests += 2 {
			for _, path := range []string{"/healthz", "/devices/" + device} {
				r.want(200, "GET", path, admin, "")
			}
		}
		queries = answered.Load() - queries
		t.Logf("%d requests and %d heavy queries were answered, %d heavy queries refused so far", requests, queries, refused.Load())
		// Without a bound, one of 40 requests that complete is the client's; with it, one of five or more.
		if 15*requests > queries && queries > 0 {
			return
		}
	}
	t.Error("requests wait for heavy queries")
}

// get sends a GET and returns the status.
func (r *running) get(ctx context.Context, path, token string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", r.url+path, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := r.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// addDevices adds devices and returns the id of one.
func addDevices(t *testing.T, store records.Store, devices int) string {
	t.Helper()
	const batch = 200
	v, id := records.New(store, nil), ""
	for i := 0; i < devices; i += batch {
		recs := make([]records.Record, batch)
		for j := range recs {
			d := &inventory.Device{
				Hostname: fmt.Sprintf("host-%d", i+j), IP: "192.0.2.1", Model: "QFX", Vendor: "Juniper", OS: "Junos",
				OSVersion: strconv.Itoa(j % 97), Status: "active", Notes: strings.Repeat("note ", 20),
			}
			require.NoError(t, v.Init(d))
			recs[j], id = d, d.ID
		}
		require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Create(t.Context(), recs...) }))
	}
	return id
}
