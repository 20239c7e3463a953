package drift_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature/drift"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// by makes the changes of tests.
var by = records.Caller{Name: "test"}

// network is an inventory of the devices a to d with the interface Ethernet1, and a link between those of a and b.
type network struct {
	store   records.Store
	engine  *records.Engine
	devices map[string]*inventory.Device
	ports   map[string]*inventory.Interface // by hostname
	link    *inventory.Link
}

func newNetwork() (*network, error) {
	n := &network{
		store:   records.NewMemStore(inventory.Schema()),
		devices: map[string]*inventory.Device{}, ports: map[string]*inventory.Interface{},
	}
	n.engine = records.New(n.store, nil)
	ctx := context.Background()
	for _, name := range []string{"a", "b", "c", "d"} {
		n.devices[name] = &inventory.Device{Hostname: name}
		if err := n.engine.Create(ctx, by, n.devices[name]); err != nil {
			return nil, err
		}
		n.ports[name] = &inventory.Interface{DeviceID: n.devices[name].ID, Name: "Ethernet1"}
		if err := n.engine.Create(ctx, by, n.ports[name]); err != nil {
			return nil, err
		}
	}
	n.link = &inventory.Link{AInterfaceID: n.ports["a"].ID, BInterfaceID: n.ports["b"].ID}
	return n, n.engine.Create(ctx, by, n.link)
}

// hears returns the table of a device that hears another one on Eth1.
func (n *network) hears(device, neighbor string) drift.Table {
	return drift.Table{
		DeviceID: n.devices[device].ID, Kind: drift.Neighbors,
		Neighbors: []discovery.Neighbor{{Interface: "Eth1", Name: neighbor, Port: "Eth1"}},
	}
}

func (n *network) apply(chosen []*drift.Difference) error {
	return n.engine.Together(context.Background(), func(ctx context.Context, in *records.Engine) error {
		return drift.Apply(ctx, in, by, chosen, nil)
	})
}

// links returns the links, as the ends with the hostnames.
func (n *network) links(t *testing.T) (all []string) {
	t.Helper()
	page, err := n.store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Link](n.store.Schema())})
	require.NoError(t, err)
	names := map[string]string{}
	for name, i := range n.ports {
		names[i.ID] = name
	}
	for _, rec := range page.Records {
		link := rec.(*inventory.Link)
		all = append(all, names[link.AInterfaceID]+names[link.BInterfaceID])
	}
	return all
}

// TestEnds: both ends of a link say that it leads elsewhere, so it becomes one link, and the other is new.
func TestEnds(t *testing.T) {
	t.Parallel()
	n, err := newNetwork()
	require.NoError(t, err)
	tables := []drift.Table{n.hears("a", "c"), n.hears("b", "d"), n.hears("c", "a")}
	found, err := drift.Compare(t.Context(), n.store, tables)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.NoError(t, n.apply(found))
	require.Equal(t, []string{"ac", "bd"}, n.links(t))
	kept, err := records.Get[inventory.Link](t.Context(), n.store, n.link.ID)
	require.NoError(t, err)
	require.Equal(t, n.ports["c"].ID, kept.BInterfaceID)
	found, err = drift.Compare(t.Context(), n.store, tables)
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestPartOfPort: a port whose ID is cut or an address has the name that its description says.
func TestPartOfPort(t *testing.T) {
	t.Parallel()
	n, err := newNetwork()
	require.NoError(t, err)
	table := func(device, port string) drift.Table {
		found := discovery.Neighbor{Interface: "Eth1", Name: device, ChassisID: "02:ab:00:00:00:09", Port: port, PortDescription: "Ethernet1 Interface"}
		return drift.Table{DeviceID: n.devices["a"].ID, Kind: drift.Neighbors, Neighbors: []discovery.Neighbor{found}}
	}
	for _, port := range []string{"Ether", "02:ab:00:00:00:01", "508"} {
		found, err := drift.Compare(t.Context(), n.store, []drift.Table{table("b", port)})
		require.NoError(t, err)
		require.Empty(t, found, port)
		found, err = drift.Compare(t.Context(), n.store, []drift.Table{table("c", port)})
		require.NoError(t, err)
		require.Len(t, found, 1, port)
		require.NotNil(t, found[0].Change, found[0].Reason)
		require.Equal(t, "Ethernet1", found[0].Change.Values["b_interface"].(map[string]any)["name"])
	}
}

// TestChanged: a difference of a record that has changed since, or is gone, is a conflict, and nothing is applied.
func TestChanged(t *testing.T) {
	t.Parallel()
	n, err := newNetwork()
	require.NoError(t, err)
	ctx := t.Context()
	links := records.Of[inventory.Link](n.store.Schema())
	found, err := drift.Compare(ctx, n.store, []drift.Table{{DeviceID: n.devices["a"].ID, Kind: drift.Neighbors}, n.hears("c", "d")})
	require.NoError(t, err)
	require.Len(t, found, 2)
	_, err = n.engine.Update(ctx, by, links, records.Edit{ID: n.link.ID, Apply: func(rec records.Record) error {
		rec.(*inventory.Link).Type = "fiber"
		return nil
	}})
	require.NoError(t, err)
	require.Equal(t, records.Conflict, records.KindOf(n.apply(found)))
	require.Equal(t, []string{"ab"}, n.links(t))
	require.NoError(t, n.engine.Delete(ctx, by, links, records.Edit{ID: n.link.ID}))
	require.Equal(t, records.Conflict, records.KindOf(n.apply(found)))
	require.Empty(t, n.links(t))
}

// TestNotHeard: a link is missing only if something should be heard on it.
func TestNotHeard(t *testing.T) {
	t.Parallel()
	n, err := newNetwork()
	require.NoError(t, err)
	silent := []drift.Table{{DeviceID: n.devices["a"].ID, Kind: drift.Neighbors}}
	found, err := drift.Compare(t.Context(), n.store, silent)
	require.NoError(t, err)
	require.Len(t, found, 1)
	_, err = n.engine.Update(t.Context(), by, records.Of[inventory.Interface](n.store.Schema()), records.Edit{ID: n.ports["b"].ID, Apply: func(rec records.Record) error {
		rec.(*inventory.Interface).OperStatus = inventory.OperDown
		return nil
	}})
	require.NoError(t, err)
	found, err = drift.Compare(t.Context(), n.store, silent)
	require.NoError(t, err)
	require.Empty(t, found)
}

func Example() {
	n, err := newNetwork()
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := drift.Compare(context.Background(), n.store, []drift.Table{n.hears("c", "d.example.net"), n.hears("a", "tap")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range found {
		fmt.Printf("%s %s %s %s, change: %t\n", d.Hostname, d.Interface, d.Type, d.Observed["neighbor"], d.Change != nil)
	}
	fmt.Println(n.apply(found[:1]))
	// Output:
	// c Ethernet1 unexpected d.example.net, change: true
	// a Ethernet1 different tap, change: false
	// <nil>
}

// TestNames: neighbours are found by the names of devices in any form, whether a few are looked up or all devices
// are read.
func TestNames(t *testing.T) {
	t.Parallel()
	n, err := newNetwork()
	require.NoError(t, err)
	stored := []string{"sw01", "SW1", "sw1-a", "sw1.example.org", "sw10", "sw1(FOX1)", "sw1x", "Ärger", "sw1 (x)"}
	for i := range 20 {
		stored = append(stored, fmt.Sprintf("sw1.site%d", i), fmt.Sprintf("0sw%d", i))
	}
	r := records.Of[inventory.Device](n.store.Schema())
	for _, name := range stored {
		site := &inventory.Location{Name: name}
		require.NoError(t, n.engine.Create(t.Context(), by, site))
		d := &inventory.Device{Hostname: name, LocationID: &site.ID}
		require.NoError(t, n.engine.Create(t.Context(), by, d), r.Name)
	}
	for _, heard := range append([]string{"sw1", "sw1.other.example", "sw2", "sw1(FOX2)", "ärger", "0sw3.x"}, stored...) {
		table := n.hears("c", heard)
		few, err := drift.Compare(t.Context(), n.store, []drift.Table{table})
		require.NoError(t, err)
		for i := range 300 {
			table.Neighbors = append(table.Neighbors, discovery.Neighbor{Interface: "Eth1", Name: fmt.Sprintf("other%d", i), Port: "Eth1"})
		}
		many, err := drift.Compare(t.Context(), n.store, []drift.Table{table})
		require.NoError(t, err)
		of := func(all []*drift.Difference) *drift.Difference {
			for _, d := range all {
				if d.Observed["neighbor"] == heard {
					return d
				}
			}
			return nil
		}
		require.NotNil(t, of(few), heard)
		require.Equal(t, of(many).Reason, of(few).Reason, heard)
	}
}
