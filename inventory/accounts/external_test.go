package accounts_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// externals is a service over a store in memory with the admin root, who has a password.
type externals struct {
	*testing.T
	store   records.Store
	service *accounts.Service
	sent    atomic.Int64 // reset codes
}

func newExternals(t *testing.T, opts accounts.ExternalOptions) *externals {
	t.Helper()
	e := &externals{T: t, store: records.NewMemStore(inventory.Schema())}
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}})
	require.NoError(t, err)
	_, _, err = accounts.FirstAdmin(t.Context(), records.New(e.store, nil), hasher, "root", "a long enough password")
	require.NoError(t, err)
	e.service, err = accounts.New(records.New(e.store, nil), hasher, &accounts.Options{
		External: opts, Notify: func(_ context.Context, n *accounts.Notice) error {
			if n.Kind == accounts.ResetRequested {
				e.sent.Add(1)
			}
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.service.Close()) })
	return e
}

// login logs in through a provider.
func (e *externals) login(who *auth.External) (*auth.Identity, error) {
	return e.service.LoginExternal(e.Context(), &accounts.Request{Network: "192.0.2.1"}, who)
}

// refused requires a login to fail with a kind and a message.
func (e *externals) refused(kind records.ErrorKind, message string, who *auth.External) {
	e.Helper()
	_, err := e.login(who)
	require.ErrorContains(e, err, message)
	require.Equal(e, kind, records.KindOf(err))
}

// user returns the user with a name, nil if there is none.
func (e *externals) user(name string) *inventory.User {
	e.Helper()
	page, err := e.store.List(e.Context(), (&records.Query{Resource: records.Of[inventory.User](e.store.Schema())}).Where("username", name))
	require.NoError(e, err)
	if len(page.Records) == 0 {
		return nil
	}
	return page.Records[0].(*inventory.User)
}

// edit changes a stored user.
func (e *externals) edit(name string, change func(u *inventory.User)) {
	e.Helper()
	_, err := records.New(e.store, nil).Update(e.Context(), records.Caller{}, records.Of[inventory.User](e.store.Schema()), records.Edit{
		ID: e.user(name).ID, Apply: func(rec records.Record) error { change(rec.(*inventory.User)); return nil },
	})
	require.NoError(e, err)
}

// log returns actor, action and the noted changes of the entries, the oldest first.
func (e *externals) log() []string {
	e.Helper()
	page, err := e.store.List(e.Context(), &records.Query{Resource: records.Of[records.AuditLog](e.store.Schema())})
	require.NoError(e, err)
	var all []string
	for _, rec := range page.Records[1:] { // the first is of root
		entry := rec.(*records.AuditLog)
		text := entry.Actor + " " + entry.Action
		for _, name := range []string{"method", "role", "reason"} {
			if c, ok := entry.Changes[name]; ok {
				text += fmt.Sprintf(" %v", c.After)
			}
		}
		all = append(all, text)
	}
	return all
}

// jane returns what a provider says of a user.
func jane(role auth.Role) *auth.External {
	return &auth.External{
		Method: "oidc", Issuer: "https://id.example.org", Subject: "4711", Username: "jane", Email: "Jane@example.org",
		EmailVerified: true, Role: role, RoleManaged: true,
	}
}

func TestLoginExternal(t *testing.T) {
	t.Parallel()
	e := newExternals(t, accounts.ExternalOptions{CreateUsers: true})
	first, err := e.login(jane(auth.Editor))
	require.NoError(t, err)
	require.Equal(t, "oidc", first.Method)
	require.NotEmpty(t, first.Session)
	u := e.user("jane")
	require.Equal(t, "jane@example.org", u.Email)
	require.NotNil(t, u.LastLogin)
	states := accounts.NewStates(e.store)
	state, err := states.AccountState(t.Context(), u.ID, first.Session)
	require.NoError(t, err)
	require.NoError(t, state.Check(first))

	renamed := jane(auth.Viewer) // another name and a lower role at the provider
	renamed.Username, renamed.Email = "jane.d", "jane.d@example.org"
	second, err := e.login(renamed)
	require.NoError(t, err)
	require.Equal(t, first.UserID, second.UserID)
	require.Equal(t, auth.Viewer, second.Role)
	state, err = states.AccountState(t.Context(), u.ID, first.Session)
	require.NoError(t, err)
	require.Error(t, state.Check(first), "the earlier session has a higher role")

	e.refused(records.Forbidden, "gives you no role", jane(""))
	state, err = states.AccountState(t.Context(), u.ID, second.Session)
	require.NoError(t, err)
	require.Error(t, state.Check(second), "a session of a user without a role goes on")

	e.edit("jane", func(u *inventory.User) { u.InactiveStatus = true })
	e.refused(records.Forbidden, "inactive", jane(auth.Admin))
	require.Equal(t, inventory.Viewer, e.user("jane").Role)
	require.Equal(t, []string{
		"jane create editor", "jane login oidc",
		"identity provider role_change oidc viewer", "jane login oidc",
		"identity provider session_ended oidc", "jane login_failed oidc The identity provider gives you no role here: ask an administrator for one",
		" update", "jane login_failed oidc Account is inactive",
	}, e.log())
}

func TestExternalRoleOfFirstLogin(t *testing.T) {
	t.Parallel()
	e := newExternals(t, accounts.ExternalOptions{CreateUsers: true})
	who := jane(auth.Viewer)
	who.RoleManaged = false
	_, err := e.login(who)
	require.NoError(t, err)
	e.edit("jane", func(u *inventory.User) { u.Role = inventory.Editor })
	again, err := e.login(who)
	require.NoError(t, err)
	require.Equal(t, auth.Editor, again.Role)
}

func TestExternalConflicts(t *testing.T) {
	t.Parallel()
	as := func(change func(*auth.External)) *auth.External {
		who := jane(auth.Viewer)
		change(who)
		return who
	}
	e := newExternals(t, accounts.ExternalOptions{})
	e.refused(records.Forbidden, "no account", jane(auth.Viewer))
	e = newExternals(t, accounts.ExternalOptions{CreateUsers: true})
	e.refused(records.Conflict, "Another user", as(func(who *auth.External) { who.Username = "root" }))
	e.refused(records.Conflict, "Another user", as(func(who *auth.External) { who.Email = "ROOT@localhost" }))
	e.refused(records.Forbidden, "verified email", as(func(who *auth.External) { who.Email = "" }))
	e.refused(records.Forbidden, "username", as(func(who *auth.External) { who.Username = "a\nb" }))
	_, err := e.login(jane(auth.Viewer))
	require.NoError(t, err)
	for name, change := range map[string]func(*auth.External){
		"another subject": func(who *auth.External) { who.Subject = "4712" },
		"another issuer":  func(who *auth.External) { who.Issuer = "https://evil.example.org" },
	} {
		_, err := e.login(as(change))
		require.Equal(t, records.Conflict, records.KindOf(err), name)
	}
	require.Equal(t, inventory.Admin, e.user("root").Role)
}

func TestLinkByEmail(t *testing.T) {
	t.Parallel()
	e := newExternals(t, accounts.ExternalOptions{LinkByEmail: true})
	root := jane(auth.Admin)
	root.Email = "Root@localhost"
	root.EmailVerified = false
	e.refused(records.Forbidden, "You have no account", root)
	root.EmailVerified = true
	identity, err := e.login(root)
	require.NoError(t, err)
	require.Equal(t, "root", identity.Username)
	_, err = e.service.Login(t.Context(), &accounts.Request{Network: "192.0.2.1"}, "root", "a long enough password")
	require.NoError(t, err, "a linked user keeps the password")

	other := jane(auth.Admin)
	other.Subject, other.Email = "4712", root.Email
	e.refused(records.Conflict, "another user", other)

	demoted := *root
	demoted.Role = auth.Viewer
	e.refused(records.Conflict, "no active admin", &demoted)
	require.Equal(t, inventory.Admin, e.user("root").Role)
}

// TestExternalPassword checks that nobody evades the provider with a password of their own.
func TestExternalPassword(t *testing.T) {
	t.Parallel()
	e := newExternals(t, accounts.ExternalOptions{CreateUsers: true})
	identity, err := e.login(jane(auth.Viewer))
	require.NoError(t, err)
	ask := func() *accounts.Request { return &accounts.Request{Identity: identity, Network: "192.0.2.1"} }
	const password = "another good password"
	for _, password := range []string{"", "external", password} {
		_, err = e.service.Login(t.Context(), &accounts.Request{Network: "192.0.2.1"}, "jane", password)
		require.Equal(t, records.Unauthenticated, records.KindOf(err), password)
	}
	require.NoError(t, e.service.ForgotPassword(t.Context(), &accounts.Request{Network: "192.0.2.1"}, "jane@example.org"))
	require.NoError(t, e.service.Wait(t.Context()))
	require.Zero(t, e.sent.Load())
	require.ErrorContains(t, e.service.ChangePassword(t.Context(), ask(), identity.UserID, password, nil), "identity provider")
	_, err = e.service.HashPasswordOf(t.Context(), ask(), "password", password, identity.UserID)
	require.ErrorContains(t, err, "identity provider")

	admin, err := e.service.Login(t.Context(), &accounts.Request{Network: "192.0.2.1"}, "root", "a long enough password")
	require.NoError(t, err)
	require.NoError(t, e.service.ChangePassword(t.Context(), &accounts.Request{Identity: admin}, identity.UserID, password, nil))
	_, err = e.service.Login(t.Context(), &accounts.Request{Network: "192.0.2.1"}, "jane", password)
	require.NoError(t, err)
}

func TestConcurrentFirstLogins(t *testing.T) {
	t.Parallel()
	e := newExternals(t, accounts.ExternalOptions{CreateUsers: true})
	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		all.Go(func() {
			if who, err := e.login(jane(auth.Viewer)); err == nil {
				ids[i] = who.UserID
			} else {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
}
