package httpapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/encode"
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

// tokenRoutes returns the routes of the API tokens of users (REFERENCE.md, 3.8).
func tokenRoutes(users *records.Resource) []route {
	at := func(description string, types ...string) *openapi.Schema {
		return &openapi.Schema{Type: types, Format: "date-time", Description: description}
	}
	scopes := openapi.Array(openapi.BoundedString(3, 60), 1, auth.MaxScopes)
	scopes.Description = "Each is a resource or *, a colon, and read, write or *, such as metrics:write."
	entry := []openapi.Property{
		openapi.Required("id", openapi.ID("")), openapi.Required("name", openapi.String("")), openapi.Required("scopes", scopes),
		openapi.Required("location_ids", openapi.Array(openapi.ID(""), 0, 200)), openapi.Required("created_at", at("", "string")), openapi.Required("expires_at", at("", "string")),
		openapi.Required("last_used", at("To ten minutes.", "string", "null")),
	}
	read, update := permission(users.Access.Read), permission(users.Access.Update)
	return []route{
		{method: "GET", path: "/users/{id}/tokens", access: read, resource: users, does: records.RouteGet, operation: operation{openapi.Operation{
			ID: "listTokens", Tag: "accounts", Summary: "List the API tokens of one user, the newest first",
			Responses: []openapi.Response{{
				Status: http.StatusOK, Schema: openapi.Object("APITokens", openapi.Required("data", openapi.Array(openapi.Object("APIToken", entry...), 0, accounts.MaxTokens+1))),
			}},
			Errors: []int{http.StatusNotFound},
		}, (*call).listTokens}},
		{method: "POST", path: "/users/{id}/tokens", access: update, resource: users, does: records.RouteChange, operation: operation{openapi.Operation{
			ID: "createToken", Tag: "accounts", Summary: "Create an API token of one user",
			Parameters: []openapi.Parameter{dryRun("true: no token is created.")},
			Body: openapi.Request("NewToken",
				openapi.Required("name", openapi.BoundedString(1, 100)), openapi.Required("scopes", scopes),
				openapi.Optional("location_ids", openapi.Array(openapi.ID("A location to which the token is limited."), 1, 200)),
				openapi.Optional("expires_at", at("At most 366 days from now. Default: 90 days from now.", "string", "null")),
				openapi.Optional("current_password", &openapi.Schema{
					Type: []string{"string", "null"}, Description: "For users who create a token of their own; may be required.",
				})),
			Responses: []openapi.Response{{Status: http.StatusCreated, Schema: openapi.Confirmation("CreatedToken",
				append([]openapi.Property{openapi.Required("token", openapi.String("For the header Authorization: Bearer <token>. It is shown only now."))}, entry...)...)}},
			Errors: []int{http.StatusNotFound, http.StatusConflict},
		}, withBody((*call).createToken)}},
		{method: "DELETE", path: "/users/{id}/tokens", access: update, resource: users, does: records.RouteChange, operation: operation{openapi.Operation{
			ID: "endTokens", Tag: "accounts", Summary: "End all API tokens of one user",
			Parameters: []openapi.Parameter{dryRun("true: the tokens stay valid.")},
			Responses:  []openapi.Response{confirmed()},
			Errors:     []int{http.StatusNotFound},
		}, (*call).endTokens}},
		{method: "DELETE", path: "/users/{id}/tokens/{token}", access: update, resource: users, does: records.RouteChange, operation: operation{openapi.Operation{
			ID: "endToken", Tag: "accounts", Summary: "End one API token of one user",
			Parameters: []openapi.Parameter{dryRun("true: the token stays valid.")},
			Responses:  []openapi.Response{confirmed()},
			Errors:     []int{http.StatusNotFound},
		}, (*call).endTokens}},
	}
}

func (c *call) listTokens() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	all, err := c.accounts.Service.Tokens(c.r.Context(), id)
	if err != nil {
		return err
	}
	if err := c.noteRead(c.route.resource); err != nil {
		return err
	}
	page := struct {
		Data []tokenEntry `json:"data"`
	}{make([]tokenEntry, len(all))}
	for i, t := range all {
		page.Data[i] = entryOf(t)
	}
	c.send(http.StatusOK, func(b []byte) []byte { return encode.JSON(b, page) })
	return nil
}

func (c *call) createToken(sent newToken) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	token, text, err := c.accounts.Service.CreateToken(c.r.Context(), c.request(), id, accounts.NewToken(sent))
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("Would create 1 API token")
	}
	return httpx.WriteJSON(c.w, http.StatusCreated, struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Token   string `json:"token"`
		tokenEntry
	}{"success", "API token created successfully: it is shown only now", text, entryOf(token)})
}

// endTokens ends one API token of a user, or all.
func (c *call) endTokens() error {
	id, err := c.id()
	if err != nil {
		return err
	}
	token := strings.ToLower(c.r.PathValue("token"))
	switch {
	case token == "":
		err = c.accounts.Service.EndTokens(c.r.Context(), c.request(), id)
	case !records.ValidID(token):
		err = badField("token", records.BadID())
	default:
		err = c.accounts.Service.EndToken(c.r.Context(), c.request(), id, token)
	}
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("Would end the API tokens")
	}
	c.accounts.Forget(id)
	return c.confirm("API tokens ended successfully")
}
