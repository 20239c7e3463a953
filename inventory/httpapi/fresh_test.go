package httpapi_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// lagging is a store whose replica has received no changes yet.
type lagging struct {
	records.Store
	outdated records.Reader
}

func (s lagging) Get(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	return s.outdated.Get(ctx, r, id)
}

func (s lagging) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	return s.outdated.List(ctx, q)
}

func (s lagging) Fresh() records.Reader { return s.Store }

// TestReplica checks that decisions about access, preconditions and idempotency keys never
// read from a replica.
func TestReplica(t *testing.T) {
	t.Parallel()
	outdated := records.NewMemStore(builtIn)
	g := newHarness(t, &choices{store: lagging{records.NewMemStore(builtIn), outdated}})
	root := g.as("root")

	t.Log("changes of a user take effect immediately")
	jane := g.create("/users", user("jane"))
	g.login(t, "jane", password).Want(200)
	root.Send("PATCH", path("/users", jane), object{"inactive_status": true}).Want(200)
	g.login(t, "jane", password).WantError(403, "Account is inactive")
	root.Send("PATCH", path("/users", jane), object{"inactive_status": false, "password": another}).Want(200)
	g.login(t, "jane", password).Want(401)

	t.Log("a repeated request is recognized")
	first := root.Send("POST", "/devices", device("core-1"), "Idempotency-Key", "k").Want(201)
	again := root.Send("POST", "/devices", device("core-1"), "Idempotency-Key", "k").Want(201)
	again.WantHeader("Idempotent-Replayed", "true").WantHeader("Location", first.Header().Get("Location"))

	t.Log("a precondition checks the current record")
	d := first.Header().Get("Location")
	root.Send("PATCH", d, object{"model": "x"}, "If-Match", first.Header().Get("ETag")).Want(200)
	root.Send("PATCH", d, object{"model": "y"}, "If-Match", first.Header().Get("ETag")).Want(412)

	t.Log("reset codes and current passwords are checked against the current record")
	g.forgot("viewer@example.org")
	if status := g.reset(g.mails.last(t), another); status != 200 {
		t.Errorf("the status of a reset is %d", status)
	}
	root.Send("PUT", path("/users", object{"id": g.users["root"].ID})+"/password",
		object{"new_password": another, "current_password": "is another"}).WantError(400, "current_password")

	t.Log("a second start creates nothing")
	created, _, err := accounts.FirstAdmin(t.Context(), records.New(g.store, nil), g.hasher, "admin", password)
	ok(t, err)
	_, err = accounts.CreateSigningKey(t.Context(), g.store)
	ok(t, err)
	one, err := accounts.SigningKeys(t.Context(), g.store, time.Now())
	ok(t, err)
	more, err := accounts.CreateSigningKey(t.Context(), g.store)
	ok(t, err)
	other, err := accounts.SigningKeys(t.Context(), g.store, time.Now())
	ok(t, err)
	if created != nil || more || !slices.EqualFunc(one, other, bytes.Equal) {
		t.Errorf("there is another admin: %v; keys: %d and %d bytes", created, len(one), len(other))
	}
}

// stuck is a store whose reads block.
type stuck struct{ records.Store }

func (s stuck) Get(ctx context.Context, _ *records.Resource, _ string) (records.Record, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestTimeout checks that Options.Timeout bounds the wait for a store.
func TestTimeout(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: stuck{records.NewMemStore(builtIn)}, options: func(o *httpapi.Options) { o.Timeout = 10 * time.Millisecond }})
	a := g.as("root").Send("GET", "/devices/"+unknown, nil)
	a.WantError(503, "try again")
	a.WantHeader("Retry-After", "1")
}

// meanwhile is a store that calls a function before a change.
type meanwhile struct {
	records.Store
	happens func()
}

func (s *meanwhile) Change(ctx context.Context, f func(records.Tx) error) error {
	if happens := s.happens; happens != nil {
		s.happens = nil
		happens()
	}
	return s.Store.Change(ctx, f)
}

// TestPasswordChangedMeanwhile checks that the current password is checked again when the new
// one is stored, after a concurrent change.
func TestPasswordChangedMeanwhile(t *testing.T) {
	t.Parallel()
	store := &meanwhile{Store: records.NewMemStore(builtIn)}
	g := newHarness(t, &choices{store: store})
	c, id := g.as("viewer"), g.users["viewer"].ID
	store.happens = func() {
		_, err := records.New(store.Store, nil).Update(t.Context(), records.Caller{}, records.Of[inventory.User](builtIn), records.Edit{
			ID: id, Apply: func(rec records.Record) error {
				now := g.clock.now()
				rec.(*inventory.User).PasswordChangedAt = &now
				return nil
			},
		})
		ok(t, err)
	}
	sent := object{"new_password": another, "current_password": password}
	c.Send("PUT", "/users/"+id+"/password", sent).WantError(400, "not current")
	g.login(t, "viewer", password).Want(200)
}

// TestZeroInNames checks that names with a NUL byte are unknown names.
func TestZeroInNames(t *testing.T) {
	stores(t, scaletest.Unraced, func(t *testing.T, g *harness) {
		g.login(t, "root\x00", password).WantError(401, "Invalid credentials")
		g.forgot("root@example.org\x00")
		if n := g.mails.count(); n != 0 {
			t.Errorf("%d mails were sent", n)
		}
	})
}
