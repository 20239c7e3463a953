package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// sessionEntry is a session in a response.
type sessionEntry struct {
	ID        string     `json:"id"`
	CreatedAt time.Time  `json:"created_at"`
	LastUsed  *time.Time `json:"last_used"`
	ExpiresAt *time.Time `json:"expires_at"`
	Address   string     `json:"address"`
	UserAgent string     `json:"user_agent"`
	Current   bool       `json:"current"`
}

// sessionRoutes returns the routes of the sessions of users.
func sessionRoutes(users *records.Resource) []route {
	at := func(description string) *openapi.Schema {
		return &openapi.Schema{Type: []string{"string", "null"}, Format: "date-time", Description: description}
	}
	created := openapi.String("")
	created.Format = "date-time"
	entry := openapi.Object("UserSession",
		openapi.Required("id", openapi.ID("")), openapi.Required("created_at", created),
		openapi.Required("last_used", at("To ten minutes.")), openapi.Required("expires_at", at("")),
		openapi.Required("address", openapi.String("Of the login.")), openapi.Required("user_agent", openapi.String("Of the login.")),
		openapi.Required("current", openapi.Boolean("Whether it is that of the request.")))
	return []route{
		{method: "GET", path: "/users/{id}/sessions", access: permission(users.Access.Read), resource: users, does: records.RouteGet, operation: operation{openapi.Operation{
			ID: "listSessions", Tag: "accounts", Summary: "List the sessions of one user, the newest first",
			Responses: []openapi.Response{{
				Status: http.StatusOK, Schema: openapi.Object("UserSessions", openapi.Required("data", openapi.Array(entry, 0, accounts.MaxSessions))),
			}},
			Errors: []int{http.StatusNotFound},
		}, (*call).listSessions}},
		{method: "DELETE", path: "/users/{id}/sessions/{session}", access: permission(users.Access.Update), resource: users, does: records.RouteChange, operation: operation{openapi.Operation{
			ID: "endSession", Tag: "accounts", Summary: "End one session of one user",
			Parameters: []openapi.Parameter{dryRun("true: the session goes on.")},
			Responses:  []openapi.Response{confirmed()},
			Errors:     []int{http.StatusNotFound},
		}, (*call).endOneSession}},
	}
}

func (c *call) listSessions() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	all, err := c.accounts.Service.Sessions(c.r.Context(), id)
	if err != nil {
		return err
	}
	if err := c.noteRead(c.route.resource); err != nil {
		return err
	}
	page := struct {
		Data []sessionEntry `json:"data"`
	}{make([]sessionEntry, len(all))}
	for i, s := range all {
		page.Data[i] = sessionEntry{s.ID, s.CreatedAt, s.LastUsed, s.ExpiresAt, s.Address, s.UserAgent, s.ID == c.identity.Session}
	}
	c.send(http.StatusOK, func(b []byte) []byte { return encode.JSON(b, page) })
	return nil
}

func (c *call) endOneSession() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	session := strings.ToLower(c.r.PathValue("session"))
	if !records.ValidID(session) {
		return badField("session", records.BadID())
	}
	if err := c.accounts.Service.EndSession(c.r.Context(), c.request(), id, session); err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("Would end 1 session")
	}
	c.accounts.Forget(id)
	return c.confirm("Session ended successfully")
}
