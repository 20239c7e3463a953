package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// call is one request to a route.
type call struct {
	api      *API
	schema   *records.Schema          // of the store when the request began
	control  *http.ResponseController // of the deadlines of the connection
	r        *http.Request
	route    *route
	identity *auth.Identity  // of the sender; nil on a public route
	began    context.Context // of the request without Options.Timeout, for endless
	late     bool            // see endless
	query    url.Values
	dryRun   bool
	preview  records.Preview // of a dry run

	author  string            // of the request, which the sender repeats
	within  *records.Engine   // of a transaction that the request is a part of, or nil
	account *accounts.Request // see request
	before  []records.Record  // that the request changes, of a resource with rules

	store  records.Reader  // what the sender may see; API.store has all
	places *records.Places // that the sender is limited to; nil is no limit
}

// maxNames is the maximum length of the names of the sender and the author in the audit log.
const maxNames = 100

// publicBody is the maximum size in bytes of a body that is read without authentication.
const publicBody = 16 << 10

// serve returns the handler of a route. It authenticates the sender before anything reads the
// body, so that strangers can't make the process hold large ones. The timeout bounds what the
// request waits for; the timeouts of a server end connections only.
func (a *API) serve(rt *route) http.Handler {
	handle := httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		c := r.Context().Value(callKey{}).(*call)
		c.r = r
		err := c.parseParameters()
		if c.dryRun {
			w.Header().Set("Dry-Run", "true")
		}
		var res *feature.Response
		switch {
		case err == nil && c.query.Has("propose") && !c.dryRun && slices.Contains(rt.params(), "propose"):
			res, err = c.propose()
		case err == nil:
			res, err = rt.handle(c)
		}
		if err == nil {
			err = c.respond(w, res)
		}
		return c.refusal(err)
	})
	checked, limit := a.check(handle), a.maxBody
	switch {
	case rt.access.Anonymous:
		limit = publicBody
	case rt.feature != nil:
		limit = max(limit, rt.feature.MaxBody)
		if rt.feature.RawBody {
			checked = a.uncheckedBody(handle)
		}
	}
	checked = httpx.BodyLimit(limit)(checked)
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if a.opts.Observe != nil {
			noteRoute(r, rt)
		}
		ctx := r.Context()
		if !rt.unbounded() {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, a.opts.Timeout)
			defer cancel()
		}
		c := &call{api: a, schema: a.store.Schema(), control: http.NewResponseController(w), route: rt, store: a.store, began: r.Context()}
		c.r = r.WithContext(context.WithValue(ctx, callKey{}, c))
		err := c.authorize()
		c.log(w)
		if err != nil {
			return c.refusal(err)
		}
		checked.ServeHTTP(w, c.r)
		if a.feed != nil && rt.method != http.MethodGet {
			a.feed.wake()
		}
		return nil
	})
}

// log adds the route and the sender to the record of the request in the log.
func (c *call) log(w http.ResponseWriter) {
	httpx.LogAttrs(w, slog.String("route", c.route.path))
	if c.identity != nil {
		httpx.LogAttrs(w, slog.String("user", cmp.Or(c.identity.Username, c.identity.UserID)))
	}
}

// refusal is translate, and notes a change without permission.
func (c *call) refusal(err error) error {
	c.noteRefusal(err)
	revoked := auth.KindOf(err) == auth.TokenRevoked
	err = translate(err)
	if e, ok := errors.AsType[*httpx.Error](err); ok && e.Status == http.StatusForbidden {
		c.noteRefused()
	}
	if c.identity != nil && c.identity.Token != "" && revoked {
		c.api.forget(c.identity.UserID) // the token may still be valid, with another role
	}
	return err
}

// endless lets the request take longer than Options.Timeout, as long as its client stays connected. The
// caller bounds each of its parts. Nor does the limit of the server for responses count; that for bodies does.
func (c *call) endless() {
	c.late = true
	_ = c.control.SetWriteDeadline(time.Time{}) // a writer without deadlines needs none
	c.r = c.r.WithContext(context.WithValue(c.began, callKey{}, c))
}

type callKey struct{}

// IdentityFrom returns the sender of the request that a context belongs to, for the hooks of an engine:
// a program with accounts of its own may check them again in the transaction of a change
// ([records.Engine.BeforeChange]). It is nil for others and for requests without a sender.
func IdentityFrom(ctx context.Context) *auth.Identity {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.identity
	}
	return nil
}

// current returns a resource of the routes as the schema describes it now, which may have more
// fields.
func (c *call) current(r *records.Resource) *records.Resource {
	if now, ok := c.schema.Named(r.Name); ok {
		return now
	}
	return r
}

type secretKey struct{}

// hidden is the last segment of a path in place of a secret.
const hidden = "..."

// hideSecret moves the secret of a path to the context before anything can log the path: readers of logs must not be
// able to use it.
func (a *API) hideSecret(r *http.Request) *http.Request {
	for _, path := range a.secrets {
		secret, found := strings.CutPrefix(r.URL.Path, path)
		if !found {
			continue
		}
		r = r.WithContext(context.WithValue(r.Context(), secretKey{}, secret))
		u := *r.URL
		u.Path, u.RawPath = path+hidden, ""
		r.URL = &u
		break
	}
	return r
}

// resource returns the resource of the route, as the schema describes it now.
func (c *call) resource() *records.Resource { return c.current(c.route.resource) }

// isSender reports whether a user is the sender of the request.
func (c *call) isSender(userID string) bool { return c.identity.UserID == userID }

// parseParameters refuses unknown query parameters, because an ignored one may have been
// essential. ParseQuery does so for lists and filters.
func (c *call) parseParameters() error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	c.query = c.r.URL.Query()
	known := c.route.params()
	if c.route.doc.List == nil && c.route.doc.Filters == nil && !c.route.doc.AnyQuery {
		for _, name := range slices.Sorted(maps.Keys(c.query)) {
			if slices.Contains(known, name) {
				continue
			}
			hint := "this route has none"
			if len(known) > 0 {
				hint = records.Hint(name, known)
			}
			return badField(shorten(name), records.Unknown("query parameter", hint))
		}
	}
	if !c.query.Has("dry_run") || !slices.Contains(known, "dry_run") {
		return nil
	}
	switch c.query.Get("dry_run") {
	case "true":
		c.dryRun = true
	case "false":
	default:
		return badField("dry_run", records.WrongKind(records.Bool))
	}
	return nil
}

// shorten makes a string from a client fit for a message.
func shorten(s string) string { return printable.Truncate(s, 64) }

// id returns the id in the path in its stored form.
func (c *call) id() (string, error) {
	id := c.r.PathValue("id")
	if !records.ValidID(id) {
		return "", badField("id", records.BadID())
	}
	return strings.ToLower(id), nil
}

// caller returns the sender for the audit log. Ids are omitted if the accounts are the
// application's own, because they are not those of users of the inventory.
func (c *call) caller() records.Caller {
	by := c.unverified("")
	if c.identity != nil {
		if by.Name = c.identity.Username; c.author != "" {
			by.Name = printable.Prefix(by.Name, maxNames/2-len(" for ")) + " for " + printable.Prefix(c.author, maxNames/2)
		}
		if c.api.accounts != nil && records.ValidID(c.identity.UserID) {
			by.UserID = c.identity.UserID
		}
	}
	return by
}

// unverified returns a sender without a verified identity, for the audit log.
func (c *call) unverified(name string) records.Caller {
	by := records.Caller{Name: name, RequestID: httpx.RequestIDFrom(c.r.Context())}
	if addr := c.api.opts.Clients.Addr(c.r); addr.IsValid() {
		by.Address = addr.String()
	}
	return by
}

// bodies decode the request bodies with records or ids.
type bodies struct {
	one  *httpx.Body[records.Patch]
	many *httpx.Body[[]records.Patch]
	ids  *httpx.Body[[]json.RawMessage] // of deletions

	parts *httpx.Body[[]part]
}

// readOne reads an object.
func (c *call) readOne() (records.Patch, error) {
	p, err := c.api.bodies.one.Read(c.r)
	if err == nil && p == nil {
		err = badField("body", records.WrongType("an object, not null"))
	}
	return p, err
}

// readMany reads an array of objects.
func (c *call) readMany() ([]records.Patch, error) {
	items, err := c.api.bodies.many.Read(c.r)
	if err != nil {
		return nil, err
	}
	for i, item := range items {
		if item == nil {
			return nil, badField(fmt.Sprintf("[%d]", i), records.WrongType("an object, not null"))
		}
	}
	return items, checkItems(len(items))
}

// readDeletions reads an array of ids, or of objects with an id and optionally if_version.
func (c *call) readDeletions() ([]records.Edit, error) {
	items, err := c.api.bodies.ids.Read(c.r)
	if err != nil {
		return nil, err
	}
	edits := make([]records.Edit, len(items))
	for i, doc := range items {
		e, err := &edits[i], error(nil) // Apply keeps the error of this item
		switch doc = bytes.TrimSpace(doc); {
		case bytes.HasPrefix(doc, []byte(`"`)):
			err = json.Unmarshal(doc, &e.ID)
		case bytes.HasPrefix(doc, []byte("{")):
			err = decodeDeletion(doc, e)
		default:
			err = badField(fmt.Sprintf("[%d]", i), records.WrongType("an id, or an object with id and if_version"))
		}
		if records.KindOf(err) != 0 {
			e.Apply = func(records.Record) error { return err } // reported with those of the other items
		} else if err != nil {
			return nil, err
		}
	}
	return edits, checkItems(len(items))
}

// decodeDeletion decodes an item of a deletion.
func decodeDeletion(doc []byte, e *records.Edit) error {
	var p records.Patch
	err := json.Unmarshal(doc, &p)
	if err == nil {
		e.ID, _, err = records.Pop[string](p, "id", records.WrongKind(records.Text))
	}
	if err == nil {
		e.Version, err = popVersion(p)
	}
	if unknown := slices.Sorted(maps.Keys(p)); err == nil && len(unknown) > 0 {
		return records.Refuse(shorten(unknown[0]), records.Unknown("field", "an item has id and if_version"))
	}
	return err
}

// checkItems refuses an empty bulk request, which is likely a mistake, and a too large one.
func checkItems(items int) error {
	switch {
	case items == 0:
		return badField("body", records.Missing("send an array with at least one item"))
	case items > records.MaxItems:
		return badField("body", records.TooMany(records.MaxItems, "items"))
	}
	return nil
}

// popVersion removes the member if_version of an item and returns it, 0 if it is absent.
func popVersion(p records.Patch) (int64, error) {
	wrong := records.WrongType("a whole number from 1")
	version, present, err := records.Pop[int64](p, "if_version", wrong)
	if present && err == nil && version < 1 {
		err = records.Refuse("if_version", wrong)
	}
	return version, err
}

// badField returns a 400 for one field or parameter.
func badField(field string, err error) *httpx.Error {
	e := records.InField(field, err)
	return &httpx.Error{Status: http.StatusBadRequest, Message: e.Error(), Fields: []httpx.FieldError{httpx.FieldError(e)}}
}
