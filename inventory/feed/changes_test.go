package feed_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// first returns the first change after a cursor.
func first(t *testing.T, store records.Store, since string, resources ...string) (feed.Change, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for c, err := range feed.Changes(ctx, store, since, resources...) {
		return c, err
	}
	t.Fatal("the iterator has ended without an error")
	return feed.Change{}, nil
}

// TestChangesInProcess: a program follows the changes of a store in its own process, those of another process included,
// by the cursors of the feed over HTTP.
func TestChangesInProcess(t *testing.T) {
	t.Parallel()
	server, token, engine, err := serve()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	create := func(v *records.Engine, name string) {
		require.NoError(t, v.Create(t.Context(), records.Caller{Name: "jane"}, &inventory.Device{Hostname: name}))
	}
	create(engine, "core-1")
	since, err := feed.Cursor(t.Context(), server.URL, token, nil)
	require.NoError(t, err)
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, &inventory.Location{Name: "Berlin"}))
	create(engine, "core-2")
	c, err := first(t, engine.Store(), since, "devices")
	require.NoError(t, err)
	require.Equal(t, "core-2", c.Changes["hostname"].After)
	create(engine, "core-3")
	remote := feed.Change{}
	require.Error(t, feed.Follow(t.Context(), server.URL, token, c.Cursor, nil, func(c feed.Change) error {
		remote = c
		return context.Canceled
	}))
	local, err := first(t, engine.Store(), c.Cursor)
	require.NoError(t, err)
	require.Equal(t, remote.Cursor, local.Cursor)
	require.Equal(t, "core-3", local.Changes["hostname"].After)

	file := filepath.Join(t.TempDir(), "inventory.db")
	var stores [2]records.Store
	for i := range stores {
		opened, err := sqlite.Open(t.Context(), file, inventory.Schema(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, opened.Close()) })
		stores[i] = opened
	}
	create(records.New(stores[1], nil), "old")
	begun, seen := false, make(chan error, 1)
	go func() {
		for c, err := range feed.Changes(t.Context(), stores[0], "0") {
			if begun && err == nil && c.Changes["hostname"].After == "new" {
				seen <- nil
				return
			}
			if err != nil {
				seen <- err
				return
			}
			begun = true
			err = records.New(stores[1], nil).Create(t.Context(), records.Caller{}, &inventory.Device{Hostname: "new"}) // while the iterator waits for more
			if err != nil {
				seen <- err
				return
			}
		}
	}()
	select {
	case err := <-seen:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("a change of another process does not arrive")
	}

	logs := records.Of[records.AuditLog](engine.Store().Schema())
	_, err = engine.Prune(t.Context(), records.Caller{}, logs, records.Retention{MaxRecords: 1})
	require.NoError(t, err)
	_, err = first(t, engine.Store(), since)
	var gone *feed.GoneError
	require.ErrorAs(t, err, &gone)
	create(engine, "core-4")
	c, err = first(t, engine.Store(), gone.Head)
	require.NoError(t, err)
	require.Equal(t, "core-4", c.Changes["hostname"].After, "started over")

	_, err = first(t, engine.Store(), "yesterday")
	errtest.Want(t, err, "since cursor")
	_, err = first(t, engine.Store(), "0", "device")
	errtest.Want(t, err, "resource unknown")
	_, err = first(t, nil, "0")
	errtest.Want(t, err, "store nil")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range feed.Changes(ended, engine.Store(), "") {
		require.ErrorIs(t, err, context.Canceled)
	}
}
