package main

import (
	"encoding/base64"
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

		c.Send("GET", "/network/devices", nil).Want(401).WantHeader("WWW-Authenticate", "Basic")
		as := func(key string) {
			c.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+key)))
		}
		as("secret")
		var device map[string]any
		c.Send("POST", "/network/devices", `{"hostname":"core-1","ip":"192.0.2.1","model":"MX204","vendor":"Juniper","os":"Junos","status":"active","cost_centre":"4711"}`).Want(201).JSON(&device)
		id := device["id"].(string)
		require.Equal(t, "jane: create device", <-events)
		c.Send("POST", "/network/warranties", `{"device_id":"`+id+`","provider":"Acme","ends":"2030-12-31"}`).Want(201)
		require.Equal(t, "jane: create warranty", <-events)
		require.Contains(t, c.Send("GET", "/network/devices?cost_centre=4711", nil).Want(200).Body.String(), "core-1")
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

		as("ledger") // of the finance role
		c.Send("POST", "/contracts", contract.Encode(), "Content-Type", "application/x-www-form-urlencoded").Want(201)
		c.Send("POST", "/contracts", contract.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example").Want(403)
		require.Contains(t, c.Send("GET", at, nil).Want(200).Body.String(), "4711")
		c.Send("PATCH", at, `{"cost_centre":"4712"}`).WantError(403, "permission")
		for _, path := range []string{"/network/warranties", "/network/locations", "/network/audit-logs", "/console/r/warranties"} {
			c.Send("GET", path, nil).Want(403)
		}
		for _, path := range []string{"/console/", "/console/r/devices", "/console/r/devices/" + id} {
			c.Send("GET", path, nil).Want(200)
		}
		as("secret")
		page := c.Send("GET", "/console/r/devices/"+id, nil).Want(200).Body.String()
		require.Contains(t, page, "4711")
		require.Contains(t, page, "Acme", "warranties have a section on the page of their device")

		_, err = db.ExecContext(t.Context(), "UPDATE contracts SET ends = '2020-12-31'")
		require.NoError(t, err)
		c.Send("DELETE", at, nil).Want(200)
	}
}
