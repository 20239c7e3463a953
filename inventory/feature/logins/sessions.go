package logins

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/feature"
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

// sessions returns the operations of the sessions of users.
func (l *logins) sessions() []feature.Operation {
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
	return []feature.Operation{
		{Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/users/{id}/sessions", ID: "listSessions", Summary: "List the sessions of one user, the newest first",
			Responses: []openapi.Response{{
				Status: http.StatusOK, Schema: openapi.Object("UserSessions", openapi.Required("data", openapi.Array(entry, 0, accounts.MaxSessions))),
			}},
			Errors: []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteGet, Handle: l.listSessions},
		{Operation: openapi.Operation{
			Method: http.MethodDelete, Path: "/users/{id}/sessions/{session}", ID: "endSession", Summary: "End one session of one user",
			Parameters: []openapi.Parameter{dryRun("true: the session goes on.")},
			Responses:  confirmed(),
			Errors:     []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteChange, Handle: l.endOneSession},
	}
}

func (l *logins) listSessions(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	all, err := l.Sessions(ctx, id)
	if err != nil {
		return nil, err
	}
	page := struct {
		Data []sessionEntry `json:"data"`
	}{make([]sessionEntry, len(all))}
	current := r.Inventory.Account().Identity.Session
	for i, s := range all {
		page.Data[i] = sessionEntry{s.ID, s.CreatedAt, s.LastUsed, s.ExpiresAt, s.Address, s.UserAgent, s.ID == current}
	}
	return feature.OK(page), nil
}

func (l *logins) endOneSession(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	session := strings.ToLower(r.HTTP.PathValue("session"))
	if !records.ValidID(session) {
		return nil, records.Refuse("session", records.BadID())
	}
	if err := l.EndSession(ctx, l.account(r), id, session); err != nil {
		return nil, err
	}
	if !r.DryRun {
		r.Inventory.Forget(id)
	}
	res := confirm("Session ended successfully")
	res.Message = "Would end 1 session"
	return res, nil
}
