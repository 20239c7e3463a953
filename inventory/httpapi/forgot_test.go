package httpapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestForgottenAddressTooLong checks that what the document refuses is refused, whether the address is known or not.
func TestForgottenAddressTooLong(t *testing.T) {
	t.Parallel()
	c := newHarness(t, nil).as("")
	c.Send("POST", "/users/forgot-password", object{"email": strings.Repeat("a", 254)}).Want(200)
	c.Send("POST", "/users/forgot-password", object{"email": strings.Repeat("a", 255)}).WantError(400, "email")
}

// blocking is a store whose calls wait while it is blocked, and are counted.
type blocking struct {
	records.Store
	gate  atomic.Pointer[chan struct{}] // nil: it is open
	calls atomic.Int32
}

func (b *blocking) pass(ctx context.Context) error {
	b.calls.Add(1)
	gate := b.gate.Load()
	if gate == nil {
		return nil
	}
	select {
	case <-*gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *blocking) Get(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	if err := b.pass(ctx); err != nil {
		return nil, err
	}
	return b.Store.Get(ctx, r, id)
}

func (b *blocking) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if err := b.pass(ctx); err != nil {
		return nil, err
	}
	return b.Store.List(ctx, q)
}

func (b *blocking) Change(ctx context.Context, f func(records.Tx) error) error {
	if err := b.pass(ctx); err != nil {
		return err
	}
	return b.Store.Change(ctx, f)
}

// forgotFrom requests a reset from an address, and returns the response without its request id.
func (g *harness) forgotFrom(addr, email string) string {
	r := httptest.NewRequest("POST", "/users/forgot-password", strings.NewReader(`{"email":"`+email+`"}`))
	r.RemoteAddr = addr + ":1234"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, r)
	return fmt.Sprint(w.Code, w.Header()["Retry-After"], masked(w.Body.String()))
}

// TestForgotDoesNotWait: the response to a forgotten password needs no call of the store, so that its
// time says nothing of the address, under load too; also if too many requests wait.
func TestForgotDoesNotWait(t *testing.T) {
	t.Parallel()
	store := &blocking{Store: records.NewMemStore(builtIn)}
	g := newHarness(t, &choices{store: store})
	g.as("root").Send("PATCH", "/users/"+g.users["editor"].ID, object{"inactive_status": true}).Want(200)
	gate := make(chan struct{})
	store.gate.Store(&gate)
	before, first := store.calls.Load(), ""
	for _, email := range []string{"viewer@example.org", "unknown@example.org", "editor@example.org"} {
		// The calls of those before, in the background, are at most one for each of the two workers.
		if got := g.forgotFrom("192.0.2.1", email); !strings.HasPrefix(got, "200") || first != "" && got != first {
			t.Errorf("%s: %s, and the first %s", email, got, first)
		} else {
			first = got
		}
	}
	full := 0
	for i := range 1100 {
		if got := g.forgotFrom(fmt.Sprintf("198.51.%d.1", i/15), fmt.Sprintf("u%d@example.org", i)); strings.HasPrefix(got, "503") {
			full++
		}
	}
	known, none := g.forgotFrom("192.0.2.2", "second@example.org"), g.forgotFrom("192.0.2.2", "nobody@example.org")
	if known != none || !strings.HasPrefix(known, "503") || full < 90 || full > 110 {
		t.Errorf("%d of 1100 are refused; a known address gets %s, another %s", full, known, none)
	}
	if n := store.calls.Load() - before; n > 2 {
		t.Errorf("%d calls of a store that blocks", n)
	}
	close(gate)
	g.wait()
	if n := g.mails.count(); n != 1 || g.mails.all[0].to.Username != "viewer" {
		t.Errorf("%d mails were sent", n)
	}
}

// TestForgotByStrangers: requests from many networks for the address of somebody else do not keep a code
// from them, and bound the mails they get.
func TestForgotByStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHarness(t, nil)
		next := 0
		flood := func() {
			for range 30 {
				next++
				if got := g.forgotFrom(fmt.Sprintf("198.51.%d.%d", next/100, next%100), "viewer@example.org"); !strings.HasPrefix(got, "200") {
					t.Errorf("request %d gets %s", next, got)
				}
				g.wait()
			}
		}
		flood()
		before := g.mails.count()
		if before != 6 { // five, and the first one of five minutes
			t.Errorf("%d mails were sent at once", before)
		}
		if got := g.forgotFrom("192.0.2.1", "viewer@example.org"); !strings.HasPrefix(got, "200") {
			t.Errorf("the user gets %s", got)
		}
		for slot := range 10 {
			g.clock.forward(5 * time.Minute)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if n := g.mails.count() - before; n != slot+1 {
				t.Fatalf("%d mails were sent after %d times five minutes", n, slot+1)
			}
			flood()
		}
	})
}

// TestForgotAfterClose: a closed service sends what was requested before, and refuses all addresses alike.
func TestForgotAfterClose(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	g.forgotFrom("192.0.2.1", "viewer@example.org")
	ok(t, g.service.Close())
	if n := g.mails.count(); n != 1 {
		t.Errorf("%d mails were sent", n)
	}
	if known, none := g.forgotFrom("192.0.2.1", "viewer@example.org"), g.forgotFrom("192.0.2.1", "unknown@example.org"); known != none || !strings.HasPrefix(known, "503") {
		t.Errorf("%s, %s", known, none)
	}
}
