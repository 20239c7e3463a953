package inventory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestTraceReversed: in random networks of panels, the path of the far end of a complete path is its
// reverse, and every path ends.
func TestTraceReversed(t *testing.T) {
	t.Parallel()
	complete := 0
	rapid.Check(t, func(t *rapid.T) {
		store, ends := randomPanels(t)
		for _, p := range ends {
			path, err := inventory.Trace(context.Background(), store, p)
			if err != nil {
				t.Fatal(err)
			}
			if path.Hops[path.Start].ID != p.ID || len(path.Hops) > 2*inventory.MaxHops+1 {
				t.Fatalf("the path of %v is %+v", p, path)
			}
			if !path.Complete {
				continue
			}
			complete++
			for _, end := range []inventory.Hop{path.Hops[0], path.Hops[len(path.Hops)-1]} {
				other, err := inventory.Trace(context.Background(), store, inventory.Port{Type: inventory.PortType(end.Type), ID: end.ID})
				if err != nil {
					t.Fatal(err)
				}
				if end.ID != path.Hops[0].ID {
					slices.Reverse(other.Hops)
				}
				if !other.Complete || !slices.Equal(other.Hops, path.Hops) {
					t.Fatalf("the path of %v is %+v, and that of %s is %+v", p, path, end.ID, other)
				}
			}
		}
	})
	if complete == 0 {
		t.Error("no path is complete")
	}
}

// randomPanels returns a store with panels and interfaces that are cabled at random, and all ports.
func randomPanels(t *rapid.T) (records.Store, []inventory.Port) {
	store := records.NewMemStore(schema)
	v := records.New(store, nil)
	create := func(rec records.Record) string {
		if err := v.Create(context.Background(), records.Caller{}, rec); err != nil {
			t.Fatal(err)
		}
		return rec.Meta().ID
	}
	device := create(&inventory.Device{Hostname: "d"})
	var ports []inventory.Port
	for i := range rapid.IntRange(2, 6).Draw(t, "interfaces") {
		ports = append(ports, inventory.Port{Type: inventory.PortInterface, ID: create(&inventory.Interface{DeviceID: device, Name: fmt.Sprint("eth", i)})})
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "panels") {
		positions := rapid.Int64Range(1, 3).Draw(t, "positions")
		rear := create(&inventory.RearPort{DeviceID: device, Name: fmt.Sprint("r", i), Positions: &positions})
		ports = append(ports, inventory.Port{Type: inventory.PortRear, ID: rear})
		for n := int64(1); n <= positions; n++ {
			if rapid.IntRange(0, 5).Draw(t, "front") > 0 {
				front := create(&inventory.FrontPort{DeviceID: device, Name: fmt.Sprint("f", i, "/", n), RearPortID: rear, RearPortPosition: &n})
				ports = append(ports, inventory.Port{Type: inventory.PortFront, ID: front})
			}
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "terminations") {
		ports = append(ports, inventory.Port{Type: inventory.PortTermination, ID: create(&inventory.Termination{Name: fmt.Sprint("c", i)})})
	}
	free := rapid.Permutation(ports).Draw(t, "cabled")
	for len(free) > rapid.IntRange(1, 4).Draw(t, "uncabled") {
		cable := &inventory.Cable{}
		set(free[0], &cable.AInterfaceID, &cable.AFrontPortID, &cable.ARearPortID, &cable.ATerminationID)
		set(free[1], &cable.BInterfaceID, &cable.BFrontPortID, &cable.BRearPortID, &cable.BTerminationID)
		create(cable)
		free = free[2:]
	}
	return store, ports
}

func set(p inventory.Port, port, front, rear, end **string) {
	*map[inventory.PortType]**string{inventory.PortInterface: port, inventory.PortFront: front, inventory.PortRear: rear, inventory.PortTermination: end}[p.Type] = &p.ID
}
