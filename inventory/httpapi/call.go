package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// call is one request on its way through a route.
type call struct {
	*API
	w      http.ResponseWriter
	r      *http.Request
	route  *route
	claims *auth.Claims // who asks; nil on a public route
	query  url.Values
	dry    bool // nothing is to be changed
}

// serve is the handler of a route. A server's own timeouts end connections, and not what
// their requests wait for: that is what the context is for.
func (a *API) serve(rt *route) http.Handler {
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), a.opts.Timeout)
		defer cancel()
		c := &call{API: a, w: w, r: r.WithContext(ctx), route: rt}
		return translate(c.run())
	})
}

// run lets in who may, and nothing that would be ignored.
func (c *call) run() error {
	if err := c.admit(); err != nil {
		return err
	}
	if err := c.parameters(); err != nil {
		return err
	}
	return c.route.do(c)
}

// admit asks who it is and whether they may.
func (c *call) admit() error {
	if c.route.access == auth.Public {
		return nil
	}
	claims, err := c.gate.Authenticate(c.r)
	if err != nil {
		return err
	}
	c.claims = claims
	return auth.Authorize(claims, c.route.access, c.owner())
}

// owner is the user whose record the path is about, "" if it is about no user's.
func (c *call) owner() string {
	switch c.route.access {
	case auth.ReadUser, auth.ChangeUser:
		return strings.ToLower(c.r.PathValue("id"))
	}
	return ""
}

// mine reports whether a user is the one who asks.
func (c *call) mine(userID string) bool { return c.claims.UserID == userID }

// admin reports whether an admin asks.
func (c *call) admin() bool { return c.claims.Role == auth.Admin }

// parameters refuses those of the query that the route does not know: one that
// is ignored may be the one that mattered. A list looks at its own.
func (c *call) parameters() error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	c.query = c.r.URL.Query()
	if err := c.knowsAll(); err != nil {
		return err
	}
	switch dry := c.query.Get("dry_run"); {
	case dry == "true" && c.route.takesDryRun():
		c.dry = true
		c.w.Header().Set("Dry-Run", "true")
	case c.query.Has("dry_run") && dry != "false" && c.route.takesDryRun():
		return badField("dry_run", "must be true or false")
	}
	return nil
}

// knowsAll refuses what neither the route nor its list knows, which sees to its own.
func (c *call) knowsAll() error {
	if c.route.doc.List != nil {
		return nil
	}
	known := c.route.params()
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		if !slices.Contains(known, name) {
			return badField(show(name), "is no known query parameter here"+use(known))
		}
	}
	return nil
}

// use says which parameters there are.
func use(params []string) string {
	if len(params) == 0 {
		return ": there are none"
	}
	return ": use " + strings.Join(params, ", ")
}

// id is the one in the path, in the form in which ids are kept.
func (c *call) id() (string, error) {
	id := c.r.PathValue("id")
	if !inventory.ValidID(id) {
		return "", badField("id", "must be a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
	}
	return strings.ToLower(id), nil
}

// inventory is what the request changes, which is nothing in a dry run.
func (c *call) inventory() *inventory.Inventory {
	if c.dry {
		return c.changes.DryRun()
	}
	return c.changes
}

// caller is who asks, for the audit log. Where accounts are the application's own, their
// ids mean nothing here.
func (c *call) caller() inventory.Caller {
	by := c.stranger("")
	if c.claims != nil {
		by.Name = c.claims.Username
		if c.accounts != nil && inventory.ValidID(c.claims.UserID) {
			by.UserID = c.claims.UserID
		}
	}
	return by
}

// stranger is somebody who says who they are, and no more.
func (c *call) stranger(name string) inventory.Caller {
	by := inventory.Caller{Name: name, RequestID: httpx.RequestIDFrom(c.r.Context())}
	if addr := c.opts.Clients.Addr(c.r); addr.IsValid() {
		by.Address = addr.String()
	}
	return by
}

// show makes what a client sent fit to be part of a message.
func show(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.Map(func(c rune) rune {
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, s)
}
