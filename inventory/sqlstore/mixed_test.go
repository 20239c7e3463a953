package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A transaction creates, changes and deletes devices of a rack, interfaces, front ports, cables, VLANs and tagged VLANs, in calls
// of any size and order. The model says which final states are legal: these are accepted, and any other is refused, with
// both records in each conflict, and changes nothing.
func TestFinalState(t *testing.T) {
	scaletest.Unraced(t)
	check := func(t *testing.T, store records.Store) {
		for seed := range uint64(scaled(30)) {
			w := newWorld(t, store, seed)
			for step := range 8 {
				w.step(step)
			}
		}
	}
	onBoth(t, func(t *testing.T, d *database) { check(t, d.open(t)) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		check(t, records.NewMemStore(inventory.Schema()))
	})
}

// modelRow is a record of the model. Rows with equal keys, or with overlapping units of one face, are illegal.
type modelRow struct {
	keys        []string // that no other row has
	unit, units int64    // of the rack
	face        inventory.RackFace
}

// kind is a kind of records in the world: its rows have numbers.
type kind struct {
	name string
	size int
	make func(n int) (records.Record, modelRow) // draws record n
}

type world struct {
	t      *testing.T
	v      *records.Engine
	random *rand.Rand
	prefix string
	kinds  []*kind
	ids    map[string][]string // by the name of a kind; empty for none
	state  map[string][]*modelRow

	ports, ends []any // the ids of the ports of cables, and what cable ends call them
}

func newWorld(t *testing.T, store records.Store, seed uint64) *world {
	w := &world{t: t, v: records.New(store, nil), random: rand.New(rand.NewPCG(seed, 11)), prefix: fmt.Sprint("w", seed, "-"), ids: map[string][]string{}, state: map[string][]*modelRow{}}
	add := func(recs ...records.Record) {
		for _, rec := range recs {
			require.NoError(t, w.v.Create(t.Context(), records.Caller{}, rec))
		}
	}
	device := func(name string) *inventory.Device {
		return &inventory.Device{Hostname: w.prefix + name, IP: "192.0.2.1", Model: "QFX5120", Vendor: "Juniper", OS: "Junos", Status: inventory.DeviceActive}
	}
	location := &inventory.Location{Name: w.prefix + "here", City: "Berlin", Country: "DE", Address: "Allee 1"}
	add(location)
	rack := &inventory.Rack{Name: "R1", LocationID: &location.ID, Height: new(int64(shelfUnits))}
	panel, host := device("panel"), device("host")
	add(rack, panel, host)
	rear := &inventory.RearPort{DeviceID: panel.ID, Name: "rear", Positions: new(int64(6))}
	add(rear)
	ports, vlans := make([]string, 6), make([]string, 4)
	for i := range ports {
		p := &inventory.Interface{DeviceID: host.ID, Name: fmt.Sprint("eth", i), Type: "copper", Mode: "trunk"}
		add(p)
		ports[i] = p.ID
		w.ports, w.ends = append(w.ports, p.ID), append(w.ends, "interface/"+p.ID)
	}
	for i := range vlans {
		v := &inventory.VLAN{VLANID: int64(i + 1), LocationID: &location.ID, Name: "data"}
		add(v)
		vlans[i] = v.ID
	}
	drawn := func(n int) int64 { return int64(1 + w.random.IntN(n)) }
	name := func(kind string, n int) string { return fmt.Sprint(w.prefix, kind, w.random.IntN(n)) }
	w.kinds = []*kind{
		{"devices", 5, func(int) (records.Record, modelRow) {
			d := device(name("h", 8))
			d.LocationID, d.RackID, d.RackHeight = &location.ID, &rack.ID, new(drawn(2))
			if w.random.IntN(4) > 0 {
				d.SerialNumber = name("s", 8)
			}
			if w.random.IntN(3) > 0 {
				d.RackUnit, d.RackFace = new(drawn(shelfUnits-1)), []inventory.RackFace{"", inventory.RackFront, inventory.RackBack}[w.random.IntN(3)]
			}
			return d, rowOf(d)
		}},
		{"interfaces", 4, func(int) (records.Record, modelRow) {
			i := &inventory.Interface{DeviceID: panel.ID, Name: name("p", 6), Type: "copper"}
			return i, rowOf(i)
		}},
		{"vlans", 3, func(int) (records.Record, modelRow) {
			v := &inventory.VLAN{VLANID: 100 + drawn(5), LocationID: &location.ID, Name: "voice"}
			return v, rowOf(v)
		}},
		{"front-ports", 4, func(int) (records.Record, modelRow) {
			p := &inventory.FrontPort{DeviceID: panel.ID, Name: name("f", 6), RearPortID: rear.ID, RearPortPosition: new(drawn(6))}
			return p, rowOf(p)
		}},
		{"tagged-vlans", 4, func(int) (records.Record, modelRow) {
			v := &inventory.TaggedVLAN{InterfaceID: ports[w.random.IntN(2)], VLANID: vlans[w.random.IntN(4)]}
			return v, rowOf(v)
		}},
		{"cables", 3, func(int) (records.Record, modelRow) {
			i := w.random.Perm(len(ports))
			c := &inventory.Cable{AInterfaceID: &ports[min(i[0], i[1])], BInterfaceID: &ports[max(i[0], i[1])], Status: inventory.CableConnected}
			return c, rowOf(c)
		}},
	}
	for _, k := range w.kinds {
		w.ids[k.name], w.state[k.name] = make([]string, k.size), make([]*modelRow, k.size)
	}
	return w
}

// rowOf returns what the model knows of a record.
func rowOf(rec records.Record) modelRow {
	switch r := rec.(type) {
	case *inventory.Device:
		is := modelRow{keys: []string{"hostname " + r.Hostname}, face: r.RackFace}
		if r.SerialNumber != "" {
			is.keys = append(is.keys, "serial "+r.SerialNumber)
		}
		if r.RackUnit != nil {
			is.unit, is.units = *r.RackUnit, *r.RackHeight
		}
		return is
	case *inventory.Interface:
		return modelRow{keys: []string{"interface " + r.Name}}
	case *inventory.VLAN:
		return modelRow{keys: []string{fmt.Sprint("vlan ", r.VLANID)}}
	case *inventory.FrontPort:
		return modelRow{keys: []string{"front " + r.Name, fmt.Sprint("position ", *r.RearPortPosition)}}
	case *inventory.TaggedVLAN:
		return modelRow{keys: []string{r.InterfaceID + r.VLANID}}
	case *inventory.Cable:
		return modelRow{keys: []string{"port " + *r.AInterfaceID, "port " + *r.BInterfaceID}}
	}
	panic("unknown")
}

// legal is the model.
func legal(rows []*modelRow) bool {
	taken := map[string]bool{}
	for i, a := range rows {
		for _, key := range a.keys {
			if taken[key] {
				return false
			}
			taken[key] = true
		}
		for _, b := range rows[:i] {
			apart := a.unit == 0 || b.unit == 0 || a.unit+a.units <= b.unit || b.unit+b.units <= a.unit || a.face != "" && b.face != "" && a.face != b.face
			if !apart {
				return false
			}
		}
	}
	return true
}

// step draws the next state and makes the changes.
func (w *world) step(step int) {
	next := map[string][]*modelRow{}
	made := map[string][]records.Record{}
	var calls []func(in *records.Engine) error
	keep := step%4 == 3 // a legal state is rare then
	for tries := range 200 {
		var all []*modelRow
		calls = nil
		for _, k := range w.kinds {
			rows, recs := slices.Clone(w.state[k.name]), make([]records.Record, k.size)
			for n := range rows {
				switch w.random.IntN(5) {
				case 0:
					rows[n] = nil
				case 1:
				default:
					rec, is := k.make(n)
					if peer := w.state[k.name][w.random.IntN(k.size)]; peer != nil && w.random.IntN(2) == 0 {
						rec, is = w.copyOf(k, peer, rec)
					}
					rows[n], recs[n] = &is, rec
				}
			}
			for range 50 { // most kinds are legal
				if keep || legal(present(rows)) {
					break
				}
				n := w.random.IntN(k.size)
				if rec, is := k.make(n); recs[n] != nil {
					rows[n], recs[n] = &is, rec
				}
			}
			next[k.name], made[k.name] = rows, recs
			all = append(all, present(rows)...)
		}
		if legal(all) || keep || tries == 199 {
			break
		}
	}
	ids := map[string][]string{}
	for _, k := range w.kinds {
		r, _ := w.v.Store().Schema().Named(k.name)
		ids[k.name] = slices.Clone(w.ids[k.name])
		var creates, edits, deletes []int
		for n, id := range w.ids[k.name] {
			switch {
			case next[k.name][n] == nil && id != "":
				deletes = append(deletes, n)
			case made[k.name][n] != nil && id == "":
				creates = append(creates, n)
			case made[k.name][n] != nil:
				edits = append(edits, n)
			}
		}
		call := func(of []int, do func(in *records.Engine, some []int) error) {
			w.random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
			for some := range slices.Chunk(of, 1+w.random.IntN(4)) {
				calls = append(calls, func(in *records.Engine) error { return do(in, some) })
			}
		}
		call(creates, func(in *records.Engine, some []int) error {
			var recs []records.Record
			for _, n := range some {
				recs = append(recs, records.Clone(made[k.name][n]))
			}
			err := in.Create(w.t.Context(), records.Caller{}, recs...)
			for i, n := range some {
				ids[k.name][n] = recs[i].Meta().ID
			}
			return err
		})
		call(edits, func(in *records.Engine, some []int) error {
			var edits []records.Edit
			for _, n := range some {
				edits = append(edits, records.Edit{ID: w.ids[k.name][n], Apply: r.Replacement(made[k.name][n])})
			}
			_, err := in.Update(w.t.Context(), records.Caller{}, r, edits...)
			return err
		})
		call(deletes, func(in *records.Engine, some []int) error {
			var edits []records.Edit
			for _, n := range some {
				edits = append(edits, records.Edit{ID: w.ids[k.name][n]})
				ids[k.name][n] = ""
			}
			return in.Delete(w.t.Context(), records.Caller{}, r, edits...)
		})
	}
	var all []*modelRow
	for _, rows := range next {
		all = append(all, present(rows)...)
	}
	w.random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	err := w.v.Together(w.t.Context(), func(_ context.Context, in *records.Engine) error {
		for _, call := range calls {
			if err := call(in); err != nil {
				return err
			}
		}
		return nil
	})
	if legal(all) {
		require.NoError(w.t, err, "%s step %d", w.prefix, step)
		w.state, w.ids = next, ids
	} else {
		require.NotZero(w.t, records.KindOf(err), "%s step %d is accepted: %v", w.prefix, step, err)
		e, _ := errors.AsType[*records.Error](err)
		for _, item := range append(e.Items, records.ItemError{Err: e}) {
			if item.Err.Kind == records.Conflict && item.Err.Items == nil {
				require.NotNil(w.t, item.Err.Holder, "%v", item.Err)
				require.ErrorContains(w.t, item.Err, " conflicts with ")
			}
		}
	}
	w.compare(step)
}

// present returns the rows that exist.
func present(rows []*modelRow) []*modelRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r *modelRow) bool { return r == nil })
}

// copyOf draws a record with the keys of another one.
func (w *world) copyOf(k *kind, peer *modelRow, rec records.Record) (records.Record, modelRow) {
	for n, r := range w.state[k.name] {
		if r == peer {
			resource, _ := w.v.Store().Schema().Named(k.name)
			stored, err := w.v.Store().Get(w.t.Context(), resource, w.ids[k.name][n])
			require.NoError(w.t, err)
			require.NoError(w.t, resource.Replacement(stored)(rec))
		}
	}
	return rec, rowOf(rec)
}

// compare compares the store with the model.
func (w *world) compare(step int) {
	store := w.v.Store()
	count := func(name string, where ...any) int64 {
		r, _ := store.Schema().Named(name)
		if r == nil {
			r = records.Of[inventory.CableEnd](store.Schema())
		}
		n, err := records.Count(w.t.Context(), store, &records.Query{Resource: r}, where...)
		require.NoError(w.t, err)
		return n
	}
	links := int64(0)
	for _, k := range w.kinds {
		r, _ := store.Schema().Named(k.name)
		for n, want := range w.state[k.name] {
			if want == nil {
				continue
			}
			rec, err := store.Get(w.t.Context(), r, w.ids[k.name][n])
			require.NoError(w.t, err)
			require.Equal(w.t, *want, rowOf(rec), "%s step %d, %s %d", w.prefix, step, k.name, n)
			if c, ok := rec.(*inventory.Cable); ok {
				links++
				require.EqualValues(w.t, 1, count("links", "a_interface_id", *c.AInterfaceID, "b_interface_id", *c.BInterfaceID), "%s step %d: the link of cable %d", w.prefix, step, n)
				require.EqualValues(w.t, 2, count("cable-ends", "cable_id", c.ID), "%s step %d: the ends of cable %d", w.prefix, step, n)
			}
		}
	}
	require.Equal(w.t, links, count("links", "a_interface_id", records.Condition{Op: records.In, Value: w.ports}), "%s step %d", w.prefix, step)
	require.Equal(w.t, links*2, count("cable-ends", "port", records.Condition{Op: records.In, Value: w.ends}), "%s step %d", w.prefix, step)
}
