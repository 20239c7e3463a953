package sqlstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A call with several edits ends in one state, whatever their order: a legal one is accepted, and any other
// refused without a change. The model is a rack of devices with hostnames, serial numbers, heights and units.
func TestOrderOfEdits(t *testing.T) {
	scaletest.Unraced(t)
	check := func(t *testing.T, store records.Store) {
		for seed := range uint64(scaled(40)) {
			newShelf(t, store, seed).run(seed)
		}
	}
	onBoth(t, func(t *testing.T, d *database) { check(t, d.open(t)) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		check(t, records.NewMemStore(inventory.Schema()))
	})
}

// slot is what devices of a shelf have.
type slot struct {
	hostname, serial string
	unit, height     int64
	face             inventory.RackFace
}

// shelf is a rack with devices, and the state that they have.
type shelf struct {
	t       *testing.T
	v       *records.Engine
	random  *rand.Rand
	prefix  string
	devices []*inventory.Device
	state   []slot
}

const shelfUnits = 12

func newShelf(t *testing.T, store records.Store, seed uint64) *shelf {
	s := &shelf{t: t, v: records.New(store, nil), random: rand.New(rand.NewPCG(seed, 7)), prefix: fmt.Sprint("s", seed, "-")}
	location := &inventory.Location{Name: s.prefix + "here", City: "Berlin", Country: "DE", Address: "Allee 1"}
	require.NoError(t, s.v.Create(t.Context(), records.Caller{}, location))
	rack := &inventory.Rack{Name: "R1", LocationID: &location.ID, Height: new(int64(shelfUnits))}
	require.NoError(t, s.v.Create(t.Context(), records.Caller{}, rack))
	for i := range 5 {
		d := &inventory.Device{
			Hostname: fmt.Sprint(s.prefix, "h", i), IP: "192.0.2.1", Model: "QFX5120", Vendor: "Juniper", OS: "Junos", Status: inventory.DeviceActive,
			LocationID: &location.ID, RackID: &rack.ID,
		}
		require.NoError(t, s.v.Create(t.Context(), records.Caller{}, d))
		s.devices, s.state = append(s.devices, d), append(s.state, slot{hostname: d.Hostname})
	}
	return s
}

func (s *shelf) run(seed uint64) {
	for step := range 12 {
		next := s.draw()
		legal := isLegal(next)
		var edits []records.Edit
		for _, i := range s.random.Perm(len(next)) {
			want := next[i]
			edits = append(edits, records.Edit{ID: s.devices[i].ID, Apply: func(rec records.Record) error {
				d := rec.(*inventory.Device)
				d.Hostname, d.SerialNumber, d.RackFace, d.RackUnit, d.RackHeight = want.hostname, want.serial, want.face, nil, &want.height
				if want.unit > 0 {
					d.RackUnit = &want.unit
				}
				return nil
			}})
		}
		_, err := s.v.Update(s.t.Context(), records.Caller{}, records.Of[inventory.Device](s.v.Store().Schema()), edits...)
		if legal {
			require.NoError(s.t, err, "seed %d, step %d: %+v to %+v", seed, step, s.state, next)
			s.state = next
		} else {
			require.NotZero(s.t, records.KindOf(err), "seed %d, step %d: %+v is accepted (%v)", seed, step, next, err)
		}
		for i, want := range s.state {
			d, err := records.Get[inventory.Device](s.t.Context(), s.v.Store(), s.devices[i].ID)
			require.NoError(s.t, err)
			got := slot{hostname: d.Hostname, serial: d.SerialNumber, face: d.RackFace}
			if d.RackUnit != nil {
				got.unit = *d.RackUnit
			}
			if d.RackHeight != nil {
				got.height = *d.RackHeight
			}
			require.Equal(s.t, want, got, "seed %d, step %d: device %d", seed, step, i)
		}
	}
}

// draw draws the next state: mostly what others have had.
func (s *shelf) draw() []slot {
	next := slices.Clone(s.state)
	for i, j := range s.random.Perm(len(next)) {
		if s.random.IntN(3) > 0 {
			next[i].hostname = s.state[j].hostname
		}
	}
	names := s.random.Perm(len(next) + 1)
	units := s.random.Perm(shelfUnits)
	for i := range next {
		if s.random.IntN(4) > 0 { // a permutation, which is legal as far as others take part
			next[i].hostname = fmt.Sprint(s.prefix, "h", names[i])
		}
		next[i].serial = ""
		if n := s.random.IntN(8); n > 0 {
			next[i].serial = fmt.Sprint(s.prefix, "SN", (names[i]+n/7)%len(names))
		}
		next[i].unit, next[i].height = int64(1+units[i]), int64(1+s.random.IntN(2))
		next[i].face = []inventory.RackFace{"", inventory.RackFront, inventory.RackBack}[s.random.IntN(3)]
		if s.random.IntN(3) == 0 {
			next[i].unit = 0
		}
	}
	return next
}

// isLegal is the model.
func isLegal(state []slot) bool {
	for i, a := range state {
		if a.unit > 0 && a.unit+a.height-1 > shelfUnits {
			return false
		}
		for _, b := range state[:i] {
			apart := a.unit == 0 || b.unit == 0 || a.unit+a.height <= b.unit || b.unit+b.height <= a.unit || a.face != "" && b.face != "" && a.face != b.face
			if a.hostname == b.hostname || a.serial != "" && a.serial == b.serial || !apart {
				return false
			}
		}
	}
	return true
}
