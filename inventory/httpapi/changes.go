package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The change feed is the audit log in the order of commits (REFERENCE.md, 2.10):
//
//	GET /changes?since=CURSOR    a page, at once or when there is a change
//	GET /changes/stream          server-sent events

const (
	changesPath = "/changes"
	streamPath  = "/changes/stream"

	defaultChanges = 100
	maxChanges     = 1000
	maxWait        = 30               // seconds
	readChanges    = 100              // that a stream reads at once
	heartbeat      = 15 * time.Second // of a stream without changes
	reauthorize    = 2 * time.Second  // of a stream
	writeChanges   = 10 * time.Second // limit for a client to accept what is sent
)

// unbounded reports whether a request may take longer than Options.Timeout, which bounds its calls
// to the store then.
func (rt *route) unbounded() bool { return rt.path == changesPath || rt.path == streamPath }

// changeRoutes returns the routes of the feed.
func (a *API) changeRoutes() []route {
	if a.feed == nil {
		return nil
	}
	since := openapi.Parameter{Name: "since", Schema: openapi.String(""), Description: "A cursor: the changes behind it. 0: all that are kept. Default: those from now on."}
	resource := openapi.Parameter{Name: "resource", Schema: openapi.String(""), Description: "Only changes of this resource, such as devices. May be repeated."}
	limit := openapi.Integer("", 1)
	limit.Maximum = new(float64(maxChanges))
	wait := openapi.Integer("", 0)
	wait.Maximum = new(float64(maxWait))
	change := openapi.Object("Change",
		openapi.Required("cursor", openapi.String("The position behind the change.")),
		openapi.Required("action", openapi.String("As in the audit log.")),
		openapi.Required("resource_type", openapi.String("")), openapi.Required("resource_id", openapi.String("")),
		openapi.Required("actor", openapi.String("The name of the user.")),
		openapi.Required("user_id", &openapi.Schema{Type: []string{"string", "null"}}),
		openapi.Required("created_at", openapi.Time("")),
		openapi.Required("request_id", openapi.String("")),
		openapi.Required("changes", openapi.Preview().Properties[5].Schema.Items.Properties[3].Schema),
		openapi.Required("cause", openapi.String("The record whose deletion changed or deleted this one. Empty for a change that was requested.")))
	page := openapi.Object("ChangePage",
		openapi.Required("data", openapi.Array(change, 0, maxChanges)),
		openapi.Required("next", openapi.String("The cursor for the next page.")))
	return []route{
		{method: "GET", path: changesPath, access: everyone, operation: operation{openapi.Operation{
			ID: "listChanges", Tag: "changes", Summary: "List changes in the order in which they were committed",
			Parameters: []openapi.Parameter{
				since, resource,
				{Name: "limit", Schema: limit, Description: "The maximum number of changes. Default: 100."},
				{Name: "wait", Schema: wait, Description: "How many seconds to wait for a change if there is none. Default: 0."},
			},
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: page}},
			Errors:    []int{http.StatusGone},
		}, (*call).listChanges}},
		{method: "GET", path: streamPath, access: everyone, operation: operation{openapi.Operation{
			ID: "streamChanges", Tag: "changes", Summary: "Receive changes as server-sent events",
			Parameters: []openapi.Parameter{since, resource, {
				Name: "Last-Event-ID", In: "header", Schema: openapi.String(""), Description: "The cursor of the last event. It counts instead of since.",
			}},
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.String("Events with a cursor as their id and a change as their data."), ContentType: "text/event-stream"}},
			Errors:    []int{http.StatusGone},
		}, func(c *call) (*feature.Response, error) { return &feature.Response{Send: c.sendStream}, nil }}},
	}
}

// follower reads the feed for one request.
type follower struct {
	*call
	*feed.Reader
	sees  map[string]bool // the kinds that the sender may read; nil is all
	limit int

	checked time.Time // when the sender was authenticated last
}

// follow returns the follower of a request.
func (c *call) follow(since string) (*follower, error) {
	r, err := feed.NewReader(c.api.store, c.query["resource"]...)
	if err != nil {
		return nil, err
	}
	f := &follower{call: c, Reader: r, limit: defaultChanges}
	if err := f.authorizeChanges(); err != nil {
		return nil, err
	}
	if f.sees == nil && !f.onlyListed() && (since == "" || since == "0") { // whoever follows, once
		if err := f.noteRead(records.Of[records.AuditLog](f.schema)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(f.r.Context(), f.api.opts.Timeout)
	defer cancel()
	return f, f.Seek(ctx, since)
}

// next reads the next changes that the sender may see, up to the limit.
func (f *follower) next() (found []feed.Change, more bool, err error) {
	ctx, cancel := context.WithTimeout(f.r.Context(), f.api.opts.Timeout)
	defer cancel()
	found, more, err = f.Next(ctx, f.limit, func(a *records.AuditLog) *records.AuditLog {
		if f.sees != nil && !f.sees[a.ResourceType] {
			return nil
		}
		return f.places.Seen(a)
	})
	if err != nil || f.places == nil {
		return found, more, err
	}
	entries := make([]*records.AuditLog, len(found))
	for i, e := range found {
		entries[i] = &records.AuditLog{ResourceType: e.ResourceType, Changes: e.Changes, Cause: e.Cause}
	}
	err = records.MaskChanges(ctx, f.store, entries...)
	for i, e := range entries {
		found[i].Changes, found[i].Cause = e.Changes, e.Cause
	}
	return found, more, err
}

// authorizeChanges determines what the sender may read: who reads the audit log reads everything,
// others the resources that they may list, except users.
func (f *follower) authorizeChanges() error {
	f.sees = nil
	if log := records.Of[records.AuditLog](f.schema); f.mayRead(log) {
		return f.checkReader(log)
	}
	f.sees = map[string]bool{}
	for _, r := range f.schema.Resources() {
		f.sees[r.Kind()] = !isUsers(r) && f.mayRead(r)
	}
	return f.checkSeen()
}

// onlyListed reports whether the request is for changes of certain resources, all of which the sender would get
// without the audit log: those of records that they may list, except users.
func (f *follower) onlyListed() bool {
	listed := 0
	for _, r := range f.schema.Resources() {
		if f.Only[r.Kind()] && !isUsers(r) && r != records.Of[records.AuditLog](f.schema) && f.mayRead(r) {
			listed++
		}
	}
	return listed > 0 && listed == len(f.Only)
}

// mayRead reports whether the sender may list the records of a resource.
func (f *follower) mayRead(r *records.Resource) bool {
	err := f.allows(ofAll(permission(r.Access.Read.Or(records.Permission{Everyone: true}))), "", r, records.RouteList)
	return f.permit(r, records.RouteList, err) == nil
}

// listChanges serves a page of changes.
func (c *call) listChanges() (*feature.Response, error) {
	f, err := c.follow(c.query.Get("since"))
	if err != nil {
		return nil, err
	}
	wait := 0
	for name, p := range map[string]struct {
		value      *int
		least, top int
	}{"limit": {&f.limit, 1, maxChanges}, "wait": {&wait, 0, maxWait}} {
		if !c.query.Has(name) {
			continue
		}
		n, err := strconv.Atoi(c.query.Get(name))
		if err != nil || n < p.least || n > p.top {
			return nil, badField(name, records.OutOfRange(p.least, p.top, ""))
		}
		*p.value = n
	}
	found, more, err := f.next()
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && !more && wait > 0 {
		if found, err = f.await(time.Duration(wait) * time.Second); err != nil {
			return nil, err
		}
	}
	page := struct {
		Data []feed.Change `json:"data"`
		Next string        `json:"next"`
	}{found, f.Cursor()}
	if page.Data == nil {
		page.Data = []feed.Change{}
	}
	return &feature.Response{Header: http.Header{"Cache-Control": {"no-store"}}, Body: page}, nil
}

// await waits for changes.
func (f *follower) await(wait time.Duration) ([]feed.Change, error) {
	leave, err := f.api.feed.enter(f.keyOwner(), f)
	if err != nil {
		return nil, err
	}
	defer leave()
	f.extendDeadlines(wait + writeChanges)
	ctx, cancel := context.WithTimeout(f.r.Context(), wait)
	defer cancel()
	for {
		if !f.api.feed.wait(ctx, f.At.Seq) {
			return nil, nil
		}
		found, _, err := f.next()
		if len(found) > 0 || err != nil {
			return found, err
		}
	}
}

// extendDeadlines lets the connection live as long as the response may take: the limits of a server
// are for requests that respond at once. Connections without deadlines need none.
func (c *call) extendDeadlines(d time.Duration) {
	_ = c.control.SetReadDeadline(time.Now().Add(d))
	_ = c.control.SetWriteDeadline(time.Now().Add(d))
}

func (c *call) sendStream(w http.ResponseWriter, _ *http.Request) error {
	f, err := c.follow(cmp.Or(c.r.Header.Get("Last-Event-ID"), c.query.Get("since")))
	if err != nil {
		return err
	}
	leave, err := c.api.feed.enter(c.keyOwner(), f)
	if err != nil {
		return err
	}
	defer leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies
	f.limit = readChanges
	last := time.Now()
	f.checked = last
	out := fmt.Appendf(nil, "retry: 1000\nid: %s\n\n", f.Cursor())
	for {
		if len(out) > 0 {
			if !f.write(w, out) {
				return nil
			}
			out, last = out[:0], time.Now()
		}
		c.api.feed.read(f)
		if c.api.feed.ended() || !f.stillAuthorized() { // also while changes never pause
			return nil
		}
		found, more, err := f.next()
		if err != nil {
			c.api.opts.Log.InfoContext(c.r.Context(), "change stream ended", "request_id", httpx.RequestIDFrom(c.r.Context()), "error", err)
			return nil // the client connects again and gets the error
		}
		for _, e := range found {
			out = append(append(append(out, "id: "...), e.Cursor...), "\ndata: "...)
			out = append(encode.JSON(out, e), "\n\n"...)
		}
		if len(out) > 0 || more {
			continue
		}
		ctx, cancel := context.WithTimeout(c.r.Context(), reauthorize)
		changed := c.api.feed.wait(ctx, f.At.Seq)
		cancel()
		if c.r.Context().Err() != nil {
			return nil
		}
		if !changed && time.Since(last) >= heartbeat {
			out = fmt.Appendf(out, ": heartbeat\nid: %s\n\n", f.Cursor())
		}
	}
}

// stillAuthorized authenticates the sender again, at most once per interval.
func (f *follower) stillAuthorized() bool {
	now := time.Now()
	if now.Sub(f.checked) < reauthorize {
		return true
	}
	f.checked = now
	if f.authorize() != nil {
		return false
	}
	return f.authorizeChanges() == nil
}

// write sends events. A client that does not accept them in time is disconnected, and continues
// after the last event that it has.
func (f *follower) write(w http.ResponseWriter, events []byte) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request has been read
	_ = control.SetWriteDeadline(time.Now().Add(writeChanges))
	if _, err := w.Write(events); err != nil {
		return false
	}
	return control.Flush() == nil
}
