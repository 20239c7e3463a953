package logins

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// newToken is the body of a request that creates an API token.
type newToken struct {
	Name            string     `json:"name"`
	Scopes          []string   `json:"scopes"`
	LocationIDs     []string   `json:"location_ids"`
	ExpiresAt       *time.Time `json:"expires_at"`
	CurrentPassword *string    `json:"current_password"`
}

// tokenEntry is an API token in a response.
type tokenEntry struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Scopes      []string   `json:"scopes"`
	LocationIDs []string   `json:"location_ids"`
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	LastUsed    *time.Time `json:"last_used"`
}

func entryOf(t *inventory.APIToken) tokenEntry {
	return tokenEntry{t.ID, t.Name, t.Scopes, append([]string{}, t.LocationIDs...), t.CreatedAt, t.ExpiresAt, t.LastUsed}
}

// apiTokens returns the operations of the API tokens of users (REFERENCE.md, 3.8).
func (l *logins) apiTokens() []feature.Operation {
	scopes := openapi.Array(openapi.BoundedString(3, 60), 1, auth.MaxScopes)
	scopes.Description = "Each is a resource or *, a colon, and read, write or *, such as metrics:write. users:write and users:* of an administrator are rights of an administrator: such a token changes roles, and deactivates and deletes users."
	entry := []openapi.Property{
		openapi.Required("id", openapi.ID("")), openapi.Required("name", openapi.String("")), openapi.Required("scopes", scopes),
		openapi.Required("location_ids", openapi.Array(openapi.ID(""), 0, 200)), openapi.Required("created_at", openapi.Time("")), openapi.Required("expires_at", openapi.Time("")),
		openapi.Required("last_used", openapi.OptionalTime("To ten minutes.")),
	}
	return []feature.Operation{
		{Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/users/{id}/tokens",
			ID: "listTokens", Summary: "List the API tokens of one user, the newest first",
			Responses: []openapi.Response{{
				Status: http.StatusOK, Schema: openapi.Object("APITokens", openapi.Required("data", openapi.Array(openapi.Object("APIToken", entry...), 0, accounts.MaxTokens+1))),
			}},
			Errors: []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteGet, Handle: feature.WithID(l.listTokens)},
		{Operation: openapi.Operation{
			Method: http.MethodPost, Path: "/users/{id}/tokens",
			ID: "createToken", Summary: "Create an API token of one user",
			Parameters: []openapi.Parameter{dryRun("true: no token is created.")},
			Body: openapi.Request("NewToken",
				openapi.Required("name", openapi.BoundedString(1, 100)), openapi.Required("scopes", scopes),
				openapi.Optional("location_ids", openapi.Array(openapi.ID("A location to which the token is limited."), 1, 200)),
				openapi.Optional("expires_at", openapi.OptionalTime("At most 366 days from now. Default: 90 days from now.")),
				openapi.Optional("current_password", &openapi.Schema{
					Type: []string{"string", "null"}, Description: "For users who create a token of their own; may be required.",
				})),
			Responses: []openapi.Response{{Status: http.StatusCreated, Schema: openapi.Confirmation("CreatedToken",
				append([]openapi.Property{openapi.Required("token", openapi.String("For the header Authorization: Bearer <token>. It is shown only now."))}, entry...)...)}},
			Errors: []int{http.StatusNotFound, http.StatusConflict},
		}, Resource: "users", Does: records.RouteChange, Handle: feature.WithBody(l.createToken)},
		{Operation: openapi.Operation{
			Method: http.MethodDelete, Path: "/users/{id}/tokens",
			ID: "endTokens", Summary: "End all API tokens of one user",
			Parameters: []openapi.Parameter{dryRun("true: the tokens stay valid.")},
			Responses:  confirmed(),
			Errors:     []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteChange, Handle: feature.WithID(l.endTokens)},
		{Operation: openapi.Operation{
			Method: http.MethodDelete, Path: "/users/{id}/tokens/{token}",
			ID: "endToken", Summary: "End one API token of one user",
			Parameters: []openapi.Parameter{dryRun("true: the token stays valid.")},
			Responses:  confirmed(),
			Errors:     []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteChange, Handle: feature.WithID(l.endTokens)},
	}
}

func (l *logins) listTokens(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
	all, err := l.Tokens(ctx, id)
	if err != nil {
		return nil, err
	}
	page := struct {
		Data []tokenEntry `json:"data"`
	}{make([]tokenEntry, len(all))}
	for i, t := range all {
		page.Data[i] = entryOf(t)
	}
	return feature.OK(page), nil
}

func (l *logins) createToken(ctx context.Context, r *feature.Request, sent newToken) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	token, text, err := l.CreateToken(ctx, l.account(r), id, accounts.NewToken(sent))
	if err != nil {
		return nil, err
	}
	return &feature.Response{Message: "Would create 1 API token", Status: http.StatusCreated, Body: struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Token   string `json:"token"`
		tokenEntry
	}{"success", "API token created successfully: it is shown only now", text, entryOf(token)}}, nil
}

// endTokens ends one API token of a user, or all.
func (l *logins) endTokens(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
	token := strings.ToLower(r.HTTP.PathValue("token"))
	var err error
	switch {
	case token == "":
		err = l.EndTokens(ctx, l.account(r), id)
	case !records.ValidID(token):
		err = records.Refuse("token", records.BadID())
	default:
		err = l.EndToken(ctx, l.account(r), id, token)
	}
	if err != nil {
		return nil, err
	}
	return ended(r, id, "API tokens ended successfully", "Would end the API tokens"), nil
}

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
	entry := openapi.Object("UserSession",
		openapi.Required("id", openapi.ID("")), openapi.Required("created_at", openapi.Time("")),
		openapi.Required("last_used", openapi.OptionalTime("To ten minutes.")), openapi.Required("expires_at", openapi.OptionalTime("")),
		openapi.Required("address", openapi.String("Of the login.")), openapi.Required("user_agent", openapi.String("Of the login.")),
		openapi.Required("current", openapi.Boolean("Whether it is that of the request.")))
	return []feature.Operation{
		{Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/users/{id}/sessions", ID: "listSessions", Summary: "List the sessions of one user, the newest first",
			Responses: []openapi.Response{{
				Status: http.StatusOK, Schema: openapi.Object("UserSessions", openapi.Required("data", openapi.Array(entry, 0, accounts.MaxSessions))),
			}},
			Errors: []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteGet, Handle: feature.WithID(l.listSessions)},
		{Operation: openapi.Operation{
			Method: http.MethodDelete, Path: "/users/{id}/sessions/{session}", ID: "endSession", Summary: "End one session of one user",
			Parameters: []openapi.Parameter{dryRun("true: the session goes on.")},
			Responses:  confirmed(),
			Errors:     []int{http.StatusNotFound},
		}, Resource: "users", Does: records.RouteChange, Handle: feature.WithID(l.endOneSession)},
	}
}

func (l *logins) listSessions(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
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

func (l *logins) endOneSession(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
	session := strings.ToLower(r.HTTP.PathValue("session"))
	if !records.ValidID(session) {
		return nil, records.Refuse("session", records.BadID())
	}
	if err := l.EndSession(ctx, l.account(r), id, session); err != nil {
		return nil, err
	}
	return ended(r, id, "Session ended successfully", "Would end 1 session"), nil
}
