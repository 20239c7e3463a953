package httpapi_test

import (
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestExternalLoginsAtOnce: concurrent first logins of one user of an identity provider create one user,
// and the provider can't take the role of all admins at once, in two processes.
func TestExternalLoginsAtOnce(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		hasher, err := auth.NewHasher(nil)
		ok(t, err)
		var services []*accounts.Service
		for _, store := range []records.Store{first, second} {
			service, err := accounts.New(records.New(store, nil), hasher, &accounts.Options{
				External: accounts.ExternalOptions{CreateUsers: true}, Log: discard(),
			})
			ok(t, err)
			services = append(services, service)
		}
		login := func(service *accounts.Service, name string, role auth.Role) (*auth.Identity, error) {
			return service.LoginExternal(t.Context(), &accounts.Request{Network: "192.0.2.1"}, &auth.External{
				Method: "oidc", Issuer: "https://id.example.org", Subject: name, Username: name, Email: name + "@example.org",
				Role: role, RoleManaged: true,
			})
		}
		names := []string{"jane", "john"}
		ids := make([]string, 8)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				who, err := login(services[i%2], names[i/2%2], auth.Admin)
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = who.UserID
			})
		}
		all.Wait()
		for i, id := range ids {
			if id != ids[i/2%2*2] {
				t.Errorf("login %d is of user %s, an earlier one of %s", i, id, ids[i/2%2*2])
			}
		}
		refused := make([]error, 2)
		for i, service := range services {
			all.Go(func() { _, refused[i] = login(service, names[i], auth.Viewer) })
		}
		all.Wait()
		if (refused[0] == nil) == (refused[1] == nil) {
			t.Errorf("the last two admins lose their role at once: %v, %v", refused[0], refused[1])
		}
		users := records.Of[inventory.User](first.Schema())
		page, err := records.Fresh(first).List(t.Context(), (&records.Query{Resource: users}).Where("role", "admin"))
		ok(t, err)
		if len(page.Records) != 1 {
			t.Errorf("%d admins, want 1", len(page.Records))
		}
	})
}
