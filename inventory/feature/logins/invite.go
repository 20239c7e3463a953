package logins

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// invited is the body of a request that invites a user.
type invited struct {
	Username    string   `json:"username"`
	Email       string   `json:"email"`
	Role        string   `json:"role"`
	FirstName   string   `json:"first_name"`
	LastName    string   `json:"last_name"`
	LocationIDs []string `json:"location_ids"`
}

// invitation is the response to such a request.
type invitation struct {
	Status    string    `json:"status"`
	Message   string    `json:"message"`
	ID        string    `json:"id"`
	Username  string    `json:"username"`
	Code      string    `json:"code,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
}

// invitations returns the operations that invite users (REFERENCE.md, 3.4).
func (l *logins) invitations() []feature.Operation {
	schema := openapi.Confirmation("Invitation", openapi.Required("id", openapi.ID("Of the user.")), openapi.Required("username", openapi.String("")),
		openapi.Optional("code", openapi.String("For POST /users/reset-password/{code}. It is shown only now, and absent if it was sent by email.")),
		openapi.Required("expires_at", openapi.Time("")))
	return []feature.Operation{
		{Operation: openapi.Operation{
			Method: http.MethodPost, Path: "/users/invitations", ID: "inviteUser", Summary: "Create a user who chooses a password by a code, once and within 48 hours",
			Parameters: []openapi.Parameter{dryRun("true: nobody is invited.")},
			Body: openapi.Request("InvitedUser", openapi.Required("email", openapi.BoundedString(1, maxEmail)), openapi.Required("role", openapi.String("")),
				openapi.Optional("username", openapi.String("Default: the email address.")), openapi.Optional("first_name", openapi.BoundedString(0, 100)),
				openapi.Optional("last_name", openapi.BoundedString(0, 100)), openapi.Optional("location_ids", openapi.Array(openapi.ID(""), 0, 200))),
			Responses: []openapi.Response{{Status: http.StatusCreated, Schema: schema}}, Errors: []int{http.StatusConflict},
		}, Resource: "users", Does: records.RouteCreate, Handle: feature.WithBody(l.invite)},
		{Operation: openapi.Operation{
			Method: http.MethodPost, Path: "/users/{id}/invitation", ID: "inviteAgain", Summary: "Replace the invitation of a user who has not accepted it",
			Parameters: []openapi.Parameter{dryRun("true: nobody is invited.")},
			Responses:  []openapi.Response{{Status: http.StatusCreated, Schema: schema}}, Errors: []int{http.StatusNotFound, http.StatusConflict},
		}, Resource: "users", Does: records.RouteChange, Handle: feature.WithID(func(ctx context.Context, r *feature.Request, id string) (*feature.Response, error) {
			return invitationOf(l.InviteAgain(ctx, l.account(r), id))
		})},
	}
}

func (l *logins) invite(ctx context.Context, r *feature.Request, sent invited) (*feature.Response, error) {
	u := &inventory.User{
		Username: sent.Username, Email: sent.Email, Role: inventory.Role(sent.Role), FirstName: sent.FirstName, LastName: sent.LastName, LocationIDs: sent.LocationIDs,
	}
	if u.Username == "" {
		u.Username = u.Email
	}
	return invitationOf(l.Invite(ctx, l.account(r), u))
}

func invitationOf(i *accounts.Invitation, err error) (*feature.Response, error) {
	if err != nil {
		return nil, err
	}
	message := "User invited: pass on the code, which is shown only now"
	if i.Code == "" {
		message = fmt.Sprintf("User invited by email to %s", i.User.Email)
	}
	return &feature.Response{Message: "Would invite 1 user", Status: http.StatusCreated, Body: &invitation{"success", message, i.User.ID, i.User.Username, i.Code, i.ExpiresAt}}, nil
}

// createUser sends the form of a new user: without a password, that is an invitation.
func (l *logins) createUser(q *site.Request, c *site.Call) (rec site.Record, done bool, err error) {
	body, _ := c.Body.(map[string]any)
	if body["username"] == "" {
		body["username"] = body["email"]
	}
	if body["password"] != "" && body["password"] != nil {
		_, err = q.Do(c, &rec)
		return rec, false, err
	}
	if body["inactive_status"] == true {
		return nil, false, &site.Fault{Status: http.StatusBadRequest, Message: "An inactive user can't be invited: choose active, or enter a password"}
	}
	for _, name := range []string{"password", "inactive_status", "must_change_password"} { // the user chooses one
		delete(body, name)
	}
	var made invitation
	if _, err = q.Do(&site.Call{Method: c.Method, Path: "/users/invitations", Body: body}, &made); err != nil {
		return nil, false, err
	}
	return nil, true, l.showInvitation(q, &made)
}

func (l *logins) inviteAgain(q *site.Request) error {
	var made invitation
	if done, err := send(q, http.MethodPost, "/invitation", nil, &made); done {
		return err
	}
	return l.showInvitation(q, &made)
}

// showInvitation shows the link of an invitation, unless it was sent.
func (l *logins) showInvitation(q *site.Request, i *invitation) error {
	if i.Code == "" {
		return showOnce(q, i.ID, "Invitation sent", i.Message+". The link is valid for 48 hours and once.")
	}
	base := l.PublicURL
	if base == "" {
		base = "http://" + q.R.Host
		if ui.OverTLS(q.R) {
			base = "https://" + q.R.Host
		}
	}
	return showOnce(q, i.ID, "Invitation of "+i.Username, "Pass this link on to the user, who chooses a password with it: once, within 48 hours. It is shown only now.", base+q.UI.URL(CodePath+i.Code))
}
