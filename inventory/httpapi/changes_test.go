package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
)

// TestChanges checks the pages of the change feed: order, cursors, filters, and who sees what.
func TestChanges(t *testing.T) { stores(t, scaletest.Unraced, changes) }

func changes(t *testing.T, g *harness) {
	t.Helper()
	root, viewer := g.as("root"), g.as("viewer")
	start := read(t, root.Send("GET", "/changes", nil).Want(200))
	if len(start["data"].([]any)) != 0 {
		t.Errorf("without a cursor there are changes: %v", start)
	}
	d := g.create("/devices", device("core-1"))
	p := g.create("/interfaces", port(d["id"], "a"))
	root.Send("POST", "/users", user("jane")).Want(201)
	root.Send("DELETE", path("/devices", d), nil).Want(200)
	follow := func(query string) (got []string) {
		next := start["next"].(string)
		for {
			page := read(t, root.Send("GET", "/changes?since="+next+query, nil).Want(200))
			if len(page["data"].([]any)) == 0 && page["next"] == next {
				return got
			}
			for _, e := range page["data"].([]any) {
				e := e.(object)
				got = append(got, fmt.Sprint(e["action"], " ", e["resource_type"], " ", e["cause"]))
				if e["cursor"].(string) <= next {
					t.Errorf("the cursor %v does not come after %v", e["cursor"], next)
				}
				next = e["cursor"].(string)
			}
			if page["next"].(string) < next {
				t.Errorf("the next page begins at %v, want %v or later", page["next"], next)
			}
			next = page["next"].(string)
		}
	}
	all := []string{"create device ", "create interface ", "create user ", "delete interface device/" + d["id"].(string), "delete device "}
	for query, want := range map[string][]string{
		"": all, "&limit=1": all, "&limit=2": all, "&resource=interfaces": {all[1], all[3]},
		"&resource=users&resource=devices&limit=1": {all[0], all[2], all[4]}, "&resource=vlans": nil,
	} {
		if got := follow(query); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	seen := read(t, viewer.Send("GET", "/changes?since="+start["next"].(string), nil).Want(200))["data"].([]any)
	if len(seen) != 4 {
		t.Errorf("a viewer sees %v", seen)
	}
	first := seen[1].(object)
	if first["resource_id"] != p["id"] || first["actor"] != "root" || first["changes"].(object)["name"].(object)["after"] != "a" {
		t.Errorf("the change is %v", first)
	}
	next := start["next"].(string)
	root.Send("GET", "/changes?since=0000000000000001-00000000", nil).WantError(410, "another database")
	root.Send("GET", "/changes?since=0000000000ffffff-00000000", nil).WantError(410, "continue since=")
	root.Send("GET", "/changes?since=x", nil).WantError(400, "since cursor")
	root.Send("GET", "/changes/stream?since="+next, nil, "Last-Event-ID", "x").WantError(400, "since cursor")
	root.Send("GET", "/changes?resource=x", nil).WantError(400, "resource is no resource")
	root.Send("GET", "/changes?wait=31", nil).WantError(400, "wait 30")
	root.Send("GET", "/changes?limit=0", nil).WantError(400, "limit 1000")
	g.as("").Send("GET", "/changes", nil).WantError(401, "No security token")
}

// TestChangesPruned follows changes from a cursor after the audit log was pruned: each way gets 410,
// and what the message says leads to all records and the changes after them.
func TestChangesPruned(t *testing.T) { stores(t, scaletest.Unraced, changesPruned) }

func changesPruned(t *testing.T, g *harness) {
	t.Helper()
	server := httptest.NewServer(g.api)
	defer server.Close()
	defer g.api.EndStreams()
	c := g.as("viewer") // whose reads have no entries
	old := read(t, c.Send("GET", "/changes", nil).Want(200))["next"].(string)
	for n := range 5 {
		g.create("/devices", device(fmt.Sprint("d-", n)))
	}
	g.as("root").Send("POST", "/retention", object{"resource": "audit-logs", "max_records": 2}).Want(200)
	const gone = "cursor kept since="
	c.Send("GET", "/changes?since="+old, nil).WantError(410, gone)
	c.Send("GET", "/changes?wait=30&since="+old, nil).WantError(410, gone)
	c.Send("GET", "/changes/stream?since="+old, nil).WantError(410, gone)
	c.Send("GET", "/changes/stream", nil, "Last-Event-ID", old).WantError(410, gone)
	if kept := read(t, c.Send("GET", "/changes?since=0", nil).Want(200))["data"].([]any); len(kept) != 1 { // and the pruning
		t.Errorf("%d changes are kept: %v", len(kept), kept)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, poll := range []bool{false, true} {
		var err *feed.GoneError
		if got := feed.Follow(ctx, server.URL, g.token("viewer"), old, &feed.Options{Poll: poll}, nil); !errors.As(got, &err) || !errtest.Names(got.Error(), gone) {
			t.Fatalf("poll %t: %v", poll, got)
		}
		// As the message says, and as package feed documents.
		_, named, _ := strings.Cut(err.Message, "since=")
		since, got := feed.Cursor(ctx, server.URL, g.token("viewer"), nil)
		ok(t, got)
		if named != since {
			t.Errorf("the message names %s, and the last change is %s", named, since)
		}
		listed := read(t, c.Send("GET", "/devices", nil).Want(200))["meta"].(object)["total_count"]
		name := fmt.Sprint("later-", listed)
		g.create("/devices", device(name))
		got = feed.Follow(ctx, server.URL, g.token("viewer"), since, &feed.Options{Poll: poll}, func(change feed.Change) error {
			if change.Changes["hostname"].After != name {
				t.Errorf("the first change behind the cursor is %v, want %s", change, name)
			}
			return errEnough
		})
		if !errors.Is(got, errEnough) {
			t.Error(got)
		}
	}
}

// TestWaitForChanges checks that a request with wait returns when there is a change.
func TestWaitForChanges(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	defer g.api.EndStreams()
	next := read(t, g.as("viewer").Send("GET", "/changes", nil).Want(200))["next"].(string)
	got := make(chan object, 1)
	go func() {
		got <- read(t, g.as("viewer").Send("GET", "/changes?wait=30&since="+next, nil).Want(200))
	}()
	g.as("root").Send("PATCH", "/users/"+g.users["editor"].ID, object{"first_name": "E"}).Want(200) // which a viewer does not see
	g.create("/devices", device("core-1"))
	select {
	case page := <-got:
		if n := len(page["data"].([]any)); n != 1 {
			t.Errorf("there are %d changes: %v", n, page)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the request still waits")
	}
	page := read(t, g.as("viewer").Send("GET", "/changes?wait=1&since="+read(t, g.as("viewer").Send("GET", "/changes", nil))["next"].(string), nil).Want(200))
	if n := len(page["data"].([]any)); n != 0 {
		t.Errorf("there are %d changes: %v", n, page)
	}
}

var errEnough = errors.New("enough")

// TestFollow follows changes with the client: all of them in order, after the last one that it
// has accepted, as events and by polling, until the user is deactivated.
func TestFollow(t *testing.T) { stores(t, scaletest.Unraced, followChanges) }

func followChanges(t *testing.T, g *harness) {
	t.Helper()
	server := httptest.NewServer(g.api)
	defer server.Close()
	defer g.api.EndStreams()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	token := g.token("viewer")
	since, err := feed.Cursor(ctx, server.URL, token, nil)
	ok(t, err)
	const n = 1000
	for i := range n / 100 {
		var batch []object
		for j := range 100 {
			batch = append(batch, device(fmt.Sprint("d-", i*100+j)))
		}
		g.as("root").Send("POST", "/devices", batch).Want(201)
	}
	for _, poll := range []bool{false, true} {
		at, next := since, 0
		for next < n {
			stop := next + 300
			err := feed.Follow(ctx, server.URL, token, at, &feed.Options{Poll: poll}, func(c feed.Change) error {
				if got := c.Changes["hostname"].After; got != fmt.Sprint("d-", next) {
					t.Errorf("the change is %v, want %d", got, next)
				}
				at = c.Cursor
				if next++; next == stop || next == n {
					return errEnough
				}
				return nil
			})
			if !errors.Is(err, errEnough) {
				t.Fatal(err)
			}
		}
	}
	followed := make(chan error, 1)
	go func() {
		followed <- feed.Follow(ctx, server.URL, token, "", nil, func(feed.Change) error { return nil })
	}()
	g.as("root").Send("PATCH", "/users/"+g.users["viewer"].ID, object{"inactive_status": true}).Want(200)
	var status *feed.StatusError
	if err := <-followed; !errors.As(err, &status) || status.Status != 401 {
		t.Errorf("the stream of an inactive user ends with %v", err)
	}
	var gone *feed.GoneError
	err = feed.Follow(ctx, server.URL, g.token("root"), "0000000000000002-abcdef01", nil, func(feed.Change) error { return nil })
	if !errors.As(err, &gone) || !strings.Contains(err.Error(), "since=") {
		t.Errorf("an unknown cursor ends with %v", err)
	}
}

// TestFollowThroughProxy follows changes through a proxy that does not let streams pass.
func TestFollowThroughProxy(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	defer g.api.EndStreams()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/changes/stream" {
			w.Header().Set("Content-Type", "text/html")
			return
		}
		g.api.ServeHTTP(w, r)
	}))
	defer server.Close()
	since, err := feed.Cursor(t.Context(), server.URL, g.token("viewer"), nil)
	ok(t, err)
	g.create("/devices", device("a"))
	err = feed.Follow(t.Context(), server.URL, g.token("viewer"), since, nil, func(c feed.Change) error { return errEnough })
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
}

// TestStreamLimits checks the bounds of streams, and that they end with the server.
func TestStreamLimits(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{options: func(o *httpapi.Options) {
		o.Changes = httpapi.ChangesOptions{Streams: 3, StreamsPerCaller: 2}
	}})
	server := httptest.NewServer(g.api)
	defer server.Close()
	open := func(who string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/changes/stream", nil)
		ok(t, err)
		r.Header.Set("Authorization", "Bearer "+g.token(who))
		res, err := server.Client().Do(r)
		ok(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	for i, want := range []int{200, 200, 429} {
		if res := open("viewer"); res.StatusCode != want {
			t.Errorf("stream %d: %d, want %d", i, res.StatusCode, want)
		}
	}
	for i, want := range []int{200, 503} {
		res := open("editor")
		if res.StatusCode != want || want == 200 && res.Header.Get("Content-Encoding") != "" {
			t.Errorf("stream %d: %d %v, want %d", i, res.StatusCode, res.Header, want)
		}
	}
	g.api.EndStreams()
	server.Close() // waits for requests
}
