package sqlstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// card is a record whose unique key has required fields only, none of them a text.
type card struct {
	records.Base
	ChassisID string `json:"chassis_id" field:"required,ref=devices:cascade"`
	Slot      int64  `json:"slot" field:"required,unique=chassis_id,min=1,max=4"`
}

func withCards() *records.Schema {
	schema, err := inventory.NewSchema(records.Define[card](records.Definition{Name: "cards", Label: "Card"}))
	if err != nil {
		panic(err)
	}
	return schema
}

// inStores runs a test with an empty store of each kind.
func inStores(t *testing.T, schema *records.Schema, check func(t *testing.T, v *records.Engine)) {
	t.Helper()
	onBoth(t, func(t *testing.T, d *database) {
		store, err := d.openSchema(t, schema)
		require.NoError(t, err)
		check(t, records.New(store, nil))
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		check(t, records.New(records.NewMemStore(schema), nil))
	})
}

// Cards may swap the slots of a chassis although each must have one, also if all slots are in use, and users their names.
func TestSwapOfRequiredValues(t *testing.T) {
	inStores(t, withCards(), func(t *testing.T, v *records.Engine) {
		ctx := t.Context()
		a, b := newDevice("a"), newDevice("b")
		require.NoError(t, v.Create(ctx, records.Caller{}, a, b))
		var cards []records.Record
		for slot := range int64(4) {
			cards = append(cards, &card{ChassisID: a.ID, Slot: slot + 1})
		}
		require.NoError(t, v.Create(ctx, records.Caller{}, cards...))
		random := rand.New(rand.NewPCG(5, 6))
		for range 10 {
			slots := random.Perm(len(cards))
			var edits []records.Edit
			for i, n := range random.Perm(len(cards)) {
				edits = append(edits, records.Edit{ID: cards[n].Meta().ID, Apply: func(rec records.Record) error {
					rec.(*card).Slot = int64(slots[i] + 1)
					return nil
				}})
			}
			done, err := v.Update(ctx, records.Caller{}, records.Of[card](v.Store().Schema()), edits...)
			require.NoError(t, err)
			for i, rec := range done {
				require.Equal(t, a.ID, rec.(*card).ChassisID)
				require.EqualValues(t, slots[i]+1, rec.(*card).Slot)
			}
		}
		x, y := newUser("x"), newUser("y")
		require.NoError(t, v.Create(ctx, records.Caller{}, x, y))
		rename := func(u *inventory.User, name string) records.Edit {
			return records.Edit{ID: u.ID, Apply: func(rec records.Record) error { rec.(*inventory.User).Username = name; return nil }}
		}
		_, err := v.Update(ctx, records.Caller{}, records.Of[inventory.User](v.Store().Schema()), rename(x, "Y"), rename(y, "X"))
		require.NoError(t, err)
		named, err := records.First[inventory.User](ctx, v.Store(), "username_key", "x")
		require.NoError(t, err)
		require.Equal(t, y.ID, named.ID)
	})
}

func newUser(name string) *inventory.User {
	return &inventory.User{Username: name, Email: name + "@example.org", FirstName: "a", LastName: "b", Role: inventory.Viewer, PasswordHash: "x"}
}

// A conflict names the record that is refused and the one that has the key or the place, with the same words in each store.
func TestConflictsNameBoth(t *testing.T) {
	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	inStores(t, inventory.Schema(), func(t *testing.T, v *records.Engine) {
		ctx := t.Context()
		rack := &inventory.Rack{Name: "R1"}
		require.NoError(t, v.Create(ctx, records.Caller{}, rack))
		a, b := newDevice("a"), newDevice("b")
		a.SerialNumber, a.RackID, a.RackUnit = "S1", &rack.ID, new(int64(7))
		require.NoError(t, v.Create(ctx, records.Caller{}, a, b))
		ports := []records.Record{&inventory.Interface{DeviceID: a.ID, Name: "eth0", Type: "copper"}, &inventory.Interface{DeviceID: b.ID, Name: "eth1", Type: "copper"}, &inventory.Interface{DeviceID: b.ID, Name: "eth2", Type: "copper"}}
		require.NoError(t, v.Create(ctx, records.Caller{}, ports...))
		port := func(n int) *string { return &ports[n].Meta().ID }
		cable := &inventory.Cable{AInterfaceID: port(0), BInterfaceID: port(1)}
		require.NoError(t, v.Create(ctx, records.Caller{}, cable))
		require.NoError(t, v.Create(ctx, records.Caller{}, newUser("x")))
		edit := func(id string, to func(d *inventory.Device)) func(in *records.Engine) error {
			return func(in *records.Engine) error {
				_, err := in.Update(ctx, records.Caller{}, records.Of[inventory.Device](v.Store().Schema()),
					records.Edit{ID: id, Apply: func(rec records.Record) error { to(rec.(*inventory.Device)); return nil }})
				return err
			}
		}
		create := func(rec records.Record) func(in *records.Engine) error {
			return func(in *records.Engine) error { return in.Create(ctx, records.Caller{}, records.Clone(rec)) }
		}
		other := newUser("y")
		other.Email = "x@example.org"
		for _, c := range []struct {
			want, holder string
			do           func(in *records.Engine) error
		}{
			{"Hostname already exists: the new device conflicts with device a (ID)", a.ID, create(newDevice("a"))},
			{"Serial number already exists: device b (ID) conflicts with device a (ID)", a.ID, edit(b.ID, func(d *inventory.Device) { d.SerialNumber = "S1" })},
			{"Unit 7 of rack R1 is occupied: device b (ID) conflicts with device a (ID)", a.ID, edit(b.ID, func(d *inventory.Device) { d.RackID, d.RackUnit = &rack.ID, new(int64(7)) })},
			{"Interface name already exists on this device: the new interface conflicts with interface eth0 of device a (ID)", *port(0), create(&inventory.Interface{DeviceID: a.ID, Name: "eth0", Type: "copper"})},
			{"Interface eth0 already has a cable: the new cable conflicts with cable of interface eth0 of device a and interface eth1 of device b (ID)", cable.ID, create(&inventory.Cable{AInterfaceID: port(0), BInterfaceID: port(2)})},
			{"Email already exists", "", create(other)}, // not everybody may read users
		} {
			alone := c.do(v)
			within := v.Together(ctx, func(_ context.Context, in *records.Engine) error { return c.do(in) })
			for _, err := range []error{alone, within} {
				e, ok := errors.AsType[*records.Error](err)
				require.True(t, ok, "%s: %v", c.want, err)
				require.Equal(t, c.want, ids.ReplaceAllString(e.Message, "ID"))
				if c.holder != "" {
					require.Contains(t, e.Message, c.holder)
					require.Contains(t, e.Fields[0].Reason, c.holder)
				}
			}
		}
		location := &inventory.Location{Name: "here"}
		require.NoError(t, v.Create(ctx, records.Caller{}, location))
		limited := v.LimitTo(func() *records.Places { return records.NewPlaces([]string{location.ID}, "") })
		unseen := newDevice("c")
		unseen.LocationID, unseen.SerialNumber = &location.ID, "S1"
		err := limited.Create(ctx, records.Caller{}, unseen)
		require.EqualError(t, err, "Serial number already exists")
	})
}
