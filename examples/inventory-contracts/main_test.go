package main

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

func TestContracts(t *testing.T) {
	t.Parallel()
	for _, file := range []string{":memory:", filepath.Join(t.TempDir(), "contracts.db")} {
		db, err := open(t.Context(), file)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		events := make(chan string, 100)
		handler, store, err := routes(t.Context(), db, events)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		c := httpxtest.New(t, handler)
		hostname := func() (name string) {
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT hostname FROM contracts").Scan(&name))
			return name
		}

		c.Send("GET", "/network/devices", nil).WantError(401, "X-Api-Key")
		c.Header.Set("X-Api-Key", "secret")
		var device map[string]any
		c.Send("POST", "/network/devices", `{"hostname":"core-1","ip":"192.0.2.1","model":"MX204","vendor":"Juniper","os":"Junos","status":"active"}`).Want(201).JSON(&device)
		id := device["id"].(string)
		require.Equal(t, "jane: create device", <-events)
		c.Send("POST", "/network/warranties", `{"device_id":"`+id+`","provider":"Acme","ends":"2030-12-31"}`).Want(201)
		require.Equal(t, "jane: create warranty", <-events)
		contract := url.Values{"device_id": {id}, "customer": {"Globex"}, "ends": {"9999-12-31"}}
		c.Send("POST", "/contracts", contract.Encode(), "Content-Type", "application/x-www-form-urlencoded").Want(201)

		at := "/network/devices/" + id
		c.Send("DELETE", at, nil).WantError(409, "contract Globex")
		c.Send("PATCH", at, `{"hostname":"core-2"}`).Want(200)
		require.Equal(t, "core-2", hostname(), "in the same transaction")
		require.Equal(t, "jane: update device", <-events)
		c.Send("PATCH", at+"?dry_run=true", `{"hostname":"core-3"}`).Want(200)
		require.Equal(t, "core-2", hostname(), "rolled back")
		require.Empty(t, events)

		_, err = db.ExecContext(t.Context(), "UPDATE contracts SET ends = '2020-12-31'")
		require.NoError(t, err)
		c.Send("DELETE", at, nil).Want(200)
	}
}
