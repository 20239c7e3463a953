package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// empty returns empty stores.
func empty(t *testing.T, test func(t *testing.T, store records.Store)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { test(t, records.NewMemStore(builtIn)) })
	t.Run("sqlite", func(t *testing.T) { test(t, database(t)) })
}

func quickHasher(t testing.TB) *auth.Hasher {
	t.Helper()
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}})
	ok(t, err)
	return hasher
}

// TestFirstAdmin checks that one admin is created if there are no users, even by concurrent
// starts.
func TestFirstAdmin(t *testing.T) {
	empty(t, func(t *testing.T, store records.Store) {
		ctx, hasher := context.Background(), quickHasher(t)
		var made atomic.Int32
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				created, word, err := accounts.FirstAdmin(ctx, records.New(store, nil), hasher, "admin"+string(rune('a'+i)), "")
				if err != nil {
					t.Error(err)
				}
				if created != nil {
					made.Add(1)
				}
				if (created != nil && created.MustChangePassword) != (len(word) >= 26) {
					t.Errorf("created: %v, the password has %d characters", created, len(word))
				}
			})
		}
		all.Wait()
		page, err := store.List(ctx, &records.Query{Resource: records.Of[inventory.User](builtIn)})
		ok(t, err)
		if made.Load() != 1 || len(page.Records) != 1 || page.Records[0].(*inventory.User).Role != inventory.Admin {
			t.Fatalf("%d were created: %v", made.Load(), page.Records)
		}
		// After all users were deleted, an admin is created again.
		id := page.Records[0].Meta().ID
		ok(t, records.New(store, nil).Delete(ctx, records.Caller{}, records.Of[inventory.User](builtIn), records.Edit{ID: id}))
		var seen atomic.Int32 // by the hooks of a program
		engine := records.New(store, nil).BeforeCommit(func(context.Context, records.Tx) error { seen.Add(1); return nil })
		created, word, err := accounts.FirstAdmin(ctx, engine, hasher, "jane@example.org", password)
		ok(t, err)
		page, err = store.List(ctx, &records.Query{Resource: records.Of[inventory.User](builtIn)})
		ok(t, err)
		u := page.Records[0].(*inventory.User)
		right, err := hasher.Verify(ctx, u.PasswordHash, word)
		ok(t, err)
		if created == nil || seen.Load() == 0 || word != password || !right || u.MustChangePassword || u.Email != "jane@example.org" {
			t.Errorf("created: %v, %+v; seen %d times", created, u, seen.Load())
		}
	})
}

// TestFirstAdminRefused checks invalid names and passwords.
func TestFirstAdminRefused(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(builtIn)
	for _, tc := range []struct{ name, word, message string }{
		{"admin", "short", "at least 8 characters"},
		{"admin", "admin@localhost", "user name"},
		{"", password, "username empty"},
		{"a\nb", password, "username line"},
	} {
		_, _, err := accounts.FirstAdmin(context.Background(), records.New(store, nil), quickHasher(t), tc.name, tc.word)
		if err == nil || !errtest.Names(err.Error(), tc.message) {
			t.Errorf("%q: the error is %v, want %q", tc.name, err, tc.message)
		}
	}
	_, _, err := accounts.FirstAdmin(context.Background(), records.New(failing{store, errors.New("disk on fire")}, nil), quickHasher(t), "a", password)
	if err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("the error is %v", err)
	}
}

// TestSigningKeys checks that concurrent starts create one key, and that it is not in the
// audit log.
func TestSigningKeys(t *testing.T) {
	empty(t, func(t *testing.T, store records.Store) {
		ctx := context.Background()
		keys := make([][]byte, 10)
		var all sync.WaitGroup
		var created atomic.Int32
		if _, err := accounts.SigningKeys(ctx, store, time.Now()); !errors.Is(err, accounts.ErrNoSigningKey) {
			t.Errorf("the error without a key is %v", err)
		}
		for i := range keys {
			all.Go(func() {
				if own, err := accounts.CreateSigningKey(ctx, store); err != nil {
					t.Errorf("the error is %v", err)
				} else if own {
					created.Add(1)
				}
				set, err := accounts.SigningKeys(ctx, store, time.Now())
				if err != nil || len(set) != 1 {
					t.Errorf("%d keys, error %v", len(set), err)
					return
				}
				keys[i] = set[0]
			})
		}
		all.Wait()
		if created.Load() != 1 {
			t.Errorf("%d keys were created", created.Load())
		}
		for _, key := range keys {
			if len(key) != auth.MinKeyBytes || !bytes.Equal(key, keys[0]) {
				t.Errorf("the keys are %x and %x", keys[0], key)
			}
		}
		page, err := store.List(ctx, &records.Query{Resource: records.Of[records.AuditLog](builtIn)})
		ok(t, err)
		if len(page.Records) != 0 {
			t.Errorf("the audit log has %v", page.Records)
		}
	})
}

// TestRotateSigningKey checks that a rotation keeps the old key, and that of concurrent ones one
// succeeds.
func TestRotateSigningKey(t *testing.T) {
	empty(t, func(t *testing.T, store records.Store) {
		ctx, now := context.Background(), time.Now()
		if err := accounts.RotateSigningKey(ctx, store, func(*auth.KeySet) error { return nil }); !errors.Is(err, accounts.ErrNoSigningKey) {
			t.Errorf("the error without a key is %v", err)
		}
		_, err := accounts.CreateSigningKey(ctx, store)
		ok(t, err)
		before, err := accounts.SigningKeys(ctx, store, now)
		ok(t, err)
		var done atomic.Int32
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				err := accounts.RotateSigningKey(ctx, store, func(set *auth.KeySet) error {
					_, _, err := set.Rotate(now, time.Hour)
					return err
				})
				switch {
				case err == nil:
					done.Add(1)
				case !strings.Contains(err.Error(), "rotation"):
					t.Errorf("the error is %v", err)
				}
			})
		}
		all.Wait()
		during, err := accounts.SigningKeys(ctx, store, now)
		ok(t, err)
		after, err := accounts.SigningKeys(ctx, store, now.Add(auth.KeyDelay))
		ok(t, err)
		if done.Load() != 1 || len(during) != 2 || !bytes.Equal(during[0], before[0]) || len(after) != 2 || !bytes.Equal(after[0], during[1]) {
			t.Errorf("%d rotations; %d keys during, %d after", done.Load(), len(during), len(after))
		}
		later, err := accounts.SigningKeys(ctx, store, now.Add(2*time.Hour))
		ok(t, err)
		if len(later) != 1 || !bytes.Equal(later[0], during[1]) {
			t.Errorf("%d keys at the end", len(later))
		}
	})
}

// TestDamagedKey checks that an invalid key is an error and not replaced, which would
// invalidate all tokens.
func TestDamagedKey(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), records.NewMemStore(builtIn)
	v := records.New(store, nil)
	ok(t, v.Create(ctx, records.Caller{}, &inventory.Secret{Name: "token signing key", Value: "c2hvcnQ"}))
	if _, err := accounts.SigningKeys(ctx, store, time.Now()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("the error is %v", err)
	}
	if _, err := accounts.SigningKeys(ctx, failing{store, errors.New("disk on fire")}, time.Now()); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("the error is %v", err)
	}
}

// TestAccountStates checks the account states of users.
func TestAccountStates(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	s, ctx := accounts.NewStates(g.store), context.Background()
	for id, want := range map[string]auth.AccountState{
		g.users["editor"].ID:                  {Active: true, Role: auth.Editor},
		strings.ToUpper(g.users["editor"].ID): {Active: true, Role: auth.Editor},
		unknown:                               {},
		"x":                                   {},
	} {
		got, err := s.AccountState(ctx, id, "")
		ok(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.AccountState(ended, unknown, ""); err == nil {
		t.Error("a failure of the store is not an error")
	}
}
