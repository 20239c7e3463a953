package records_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestOnChange: the functions of a schema see each change of a record, also by the deletion of another one, may change
// it and may refuse it; and those of AfterCommit see the entries of transactions that were committed.
func TestOnChange(t *testing.T) {
	t.Parallel()
	var seen, committed []string
	name := func(rec records.Record) string {
		if rec == nil {
			return "-"
		}
		return rec.(*inventory.Interface).Name
	}
	schema, err := inventory.NewSchema(
		records.OnChange("interfaces", func(_ context.Context, _ records.Tx, before, after records.Record) error {
			seen = append(seen, name(before)+">"+name(after))
			if after == nil {
				return nil
			}
			i := after.(*inventory.Interface)
			if i.Name == "forbidden" {
				return records.InvalidField("name", "is forbidden")
			}
			i.Name = strings.ToLower(i.Name)
			return nil
		}),
		records.AfterCommit(func(_ context.Context, entries []*records.AuditLog) {
			for _, e := range entries {
				committed = append(committed, e.Action+" "+e.ResourceType)
			}
		}))
	require.NoError(t, err)
	take := func(list *[]string) string {
		defer func() { *list = nil }()
		return fmt.Sprint(*list)
	}
	v, ctx, by := records.New(records.NewMemStore(schema), nil), t.Context(), records.Caller{Name: "jane"}
	device := &inventory.Device{Hostname: "a"}
	require.NoError(t, v.Create(ctx, by, device))
	require.Equal(t, "[create device]", take(&committed))
	port := &inventory.Interface{DeviceID: device.ID, Name: "ETH0", Type: "fiber"}
	require.NoError(t, v.Create(ctx, by, port))
	require.Equal(t, "[->ETH0]", take(&seen))
	require.Equal(t, "eth0", port.Name)

	interfaces := records.Of[inventory.Interface](schema)
	rename := func(v *records.Engine, to string) error {
		_, err := v.Update(ctx, by, interfaces, records.Edit{ID: port.ID, Apply: func(rec records.Record) error {
			rec.(*inventory.Interface).Name = to
			return nil
		}})
		return err
	}
	take(&committed)
	require.Equal(t, records.Invalid, records.KindOf(rename(v, "forbidden")))
	require.NoError(t, rename(v.DryRun(nil), "eth1"))
	require.NoError(t, rename(v, "eth0"), "without an effect")
	require.Equal(t, "[]", take(&committed))
	require.Equal(t, "[eth0>forbidden eth0>eth1]", take(&seen))
	require.NoError(t, rename(v, "Eth1"))
	require.Equal(t, "[eth0>Eth1]", take(&seen))
	require.Equal(t, "[update interface]", take(&committed))

	failed := errors.New("failed")
	err = v.Together(ctx, func(ctx context.Context, in *records.Engine) error {
		require.NoError(t, in.Delete(ctx, by, records.Of[inventory.Device](schema), records.Edit{ID: device.ID}))
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.Equal(t, "[]", take(&committed))
	require.Equal(t, "[eth1>-]", take(&seen))
	require.NoError(t, v.Delete(ctx, by, records.Of[inventory.Device](schema), records.Edit{ID: device.ID}))
	require.Equal(t, "[eth1>-]", take(&seen))
	require.Equal(t, "[delete device delete interface]", take(&committed))
}

// TestHookOfVolatileFields: a hook that changes nothing leaves the version of a record whose login was noted, and one that
// takes a change back leaves the record.
func TestHookOfVolatileFields(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(records.OnChange("users", func(_ context.Context, _ records.Tx, before, after records.Record) error {
		if u, ok := after.(*inventory.User); ok && before != nil {
			u.FirstName = before.(*inventory.User).FirstName
		}
		return nil
	}))
	require.NoError(t, err)
	v, ctx, by := records.New(records.NewMemStore(schema), nil), t.Context(), records.Caller{Name: "jane"}
	u := &inventory.User{Username: "jane", Email: "jane@example.org", Role: inventory.Viewer, PasswordHash: "x"}
	require.NoError(t, v.Create(ctx, by, u))
	update := func(change func(u *inventory.User)) *inventory.User {
		done, err := v.Update(ctx, by, records.Of[inventory.User](schema), records.Edit{ID: u.ID, Apply: func(rec records.Record) error {
			change(rec.(*inventory.User))
			return nil
		}})
		require.NoError(t, err)
		return done[0].(*inventory.User)
	}
	login := u.CreatedAt.Add(time.Hour)
	now := update(func(u *inventory.User) { u.LastLogin = &login })
	require.Equal(t, int64(1), now.Version)
	require.Equal(t, login, *now.LastLogin)
	require.Equal(t, int64(1), update(func(u *inventory.User) { u.FirstName = "Jane" }).Version)
	require.Equal(t, int64(2), update(func(u *inventory.User) { u.LastName = "Doe" }).Version)
}

// TestWrongHooks: a hook of an unknown resource is an error of the schema.
func TestWrongHooks(t *testing.T) {
	t.Parallel()
	for _, part := range []records.Part{records.OnChange("cars", func(context.Context, records.Tx, records.Record, records.Record) error { return nil }), records.OnChange("devices", nil), records.AfterCommit(nil)} {
		_, err := inventory.NewSchema(part)
		require.Error(t, err)
	}
}
