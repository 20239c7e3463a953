package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/drift"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// TestNil: nil in place of an engine, a store, a schema or settings is an error that names it, and no panic.
func TestNil(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	good := records.New(records.NewMemStore(inventory.Schema()), nil)
	hasher, err := auth.NewHasher(nil)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := jwt.NewTokens([][]byte{[]byte(strings.Repeat("k", auth.MinKeyBytes))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := jwt.NewGuard(tokens, accounts.NewStates(good.Store()), nil)
	if err != nil {
		t.Fatal(err)
	}
	second := func(_ any, err error) error { return err }
	var noStore *records.MemStore
	for want, call := range map[string]func() error{
		"engine:accounts.New":          func() error { return second(accounts.New(nil, hasher, nil)) },
		"store:accounts.New":           func() error { return second(accounts.New(records.New(nil, nil), hasher, nil)) },
		"hasher:accounts.New":          func() error { return second(accounts.New(good, nil, nil)) },
		"engine:accounts.FirstAdmin":   func() error { _, _, err := accounts.FirstAdmin(ctx, nil, hasher, "a", "b"); return err },
		"hasher:accounts.FirstAdmin":   func() error { _, _, err := accounts.FirstAdmin(ctx, good, nil, "a", "b"); return err },
		"engine:accounts.ResetAdmin":   func() error { _, _, err := accounts.ResetAdmin(ctx, nil, hasher, "a"); return err },
		"hasher:accounts.ResetAdmin":   func() error { _, _, err := accounts.ResetAdmin(ctx, good, nil, "a"); return err },
		"store:accounts.KeyUsernames":  func() error { return accounts.KeyUsernames(ctx, nil, nil) },
		"store:inventory.KeyHostnames": func() error { return inventory.KeyHostnames(ctx, nil, nil) },
		"store:accounts.SigningKeys":   func() error { return second(accounts.SigningKeys(ctx, nil, time.Now())) },
		"store:accounts.CreateSigning": func() error { return second(accounts.CreateSigningKey(ctx, nil)) },
		"store:accounts.RotateSigning": func() error { return accounts.RotateSigningKey(ctx, nil, nil) },
		"store:accounts.NewStates":     func() error { return second(accounts.NewStates(nil).AccountState(ctx, "a", "")) },
		"tokens:jwt.NewGuard":          func() error { return second(jwt.NewGuard(nil, accounts.NewStates(good.Store()), nil)) },
		"engine:httpapi.New":           func() error { return second(httpapi.New(nil, guard, nil)) },
		"store:httpapi.New":            func() error { return second(httpapi.New(records.New(nil, nil), guard, nil)) },
		"store:httpapi.New 2":          func() error { return second(httpapi.New(records.New(noStore, nil), guard, nil)) },
		"schema:httpapi.New":           func() error { return second(httpapi.New(records.New(records.NewMemStore(nil), nil), guard, nil)) },
		"authenticator:httpapi.New":    func() error { return second(httpapi.New(good, nil, nil)) },
		"feature:httpapi.New": func() error {
			return second(httpapi.New(good, guard, &httpapi.Options{Features: []*feature.Feature{nil}}))
		},
		"Keys:oidc.New":               func() error { return second(oidc.New(nil)) },
		"service:logins.New":          func() error { return second(logins.New(nil, nil, nil)) },
		"schema:sqlstore.New":         func() error { return second(sqlstore.New(ctx, nil, nil, sqlite.Dialect(), nil, nil)) },
		"API:console.New":             func() error { return second(console.New(nil, nil)) },
		"settings:server.New":         func() error { return second(server.New(ctx, nil, nil)) },
		"settings:server.Run":         func() error { return server.Run(ctx, nil, nil) },
		"settings:server.RotateKey":   func() error { return second(server.RotateKey(ctx, nil, false, nil)) },
		"settings:server.Backup":      func() error { return server.Backup(ctx, nil, "x") },
		"settings:server.VerifyAudit": func() error { return second(server.VerifyAudit(ctx, nil, nil, nil)) },
		"settings:server.ResetAdmin":  func() error { return server.ResetAdmin(ctx, nil, "x", t.Output(), nil) },
		"settings:server.Change":      func() error { return server.Change(ctx, nil, nil, func(*records.Engine) error { return nil }) },
		"schema:sqlite.Open":          func() error { return second(sqlite.Open(ctx, sqlite.Memory, nil, nil)) },
		"handle:sqlite.New":           func() error { return second(sqlite.New(ctx, nil, inventory.Schema(), nil)) },
		"schema:postgres.Open":        func() error { return second(postgres.Open(ctx, "postgres://localhost", nil, nil)) },
		"handle:postgres.New":         func() error { return second(postgres.New(ctx, nil, inventory.Schema(), nil)) },
		"store:NewRoller":             func() error { return second(inventory.NewRoller(nil, inventory.Retention{}, nil)) },
		"schema:NewRoller":            func() error { return second(inventory.NewRoller(records.NewMemStore(nil), inventory.Retention{}, nil)) },
		"store:inventory.Mounted":     func() error { return second(inventory.Mounted(ctx, nil, "x")) },
		"store:inventory.Below":       func() error { _, _, err := inventory.Below(ctx, nil, "x"); return err },
		"store:inventory.Trace":       func() error { return second(inventory.Trace(ctx, nil, inventory.Port{})) },
		"store:inventory.UsageOf":     func() error { return second(inventory.UsageOf(ctx, nil, &inventory.Prefix{})) },
		"record:inventory.UsageOf":    func() error { return second(inventory.UsageOf(ctx, good.Store(), nil)) },
		"engine:inventory.Allocate":   func() error { return inventory.Allocate(ctx, nil, "x", inventory.NextAddress, nil) },
		"store:drift.Compare":         func() error { return second(drift.Compare(ctx, nil, nil)) },
		"engine:drift.Apply":          func() error { return drift.Apply(ctx, nil, records.Caller{}, nil, nil) },
		"store:demo.Fill":             func() error { return second(demo.Fill(ctx, nil, nil)) },
		"engine:importer.Run":         func() error { return second(importer.Run(ctx, nil, nil, nil)) },
		"schema:importer.Open":        func() error { return second(importer.Open("a.csv", strings.NewReader("a\n"), nil, nil)) },
		"store:records.New":           func() error { return records.New(nil, nil).Create(ctx, records.Caller{}, &inventory.Device{}) },
		"store:records.VerifyAudit":   func() error { return second(records.VerifyAudit(ctx, nil, nil)) },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v", p)
				}
			}()
			err := call()
			word, _, _ := strings.Cut(want, ":")
			if err == nil || strings.Contains(want, ":") && !strings.Contains(err.Error(), word) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
