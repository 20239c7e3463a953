//go:build unix

package server_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
)

// TestTablePlaces measures lists of users who are limited to locations. Nobody else needs the database.
func TestTablePlaces(t *testing.T) {
	s := sizes{1000, 2, 0, 2000, true}
	if *fullTable {
		s = sizes{*tableDevices, max(*tablePorts, 2), 0, *tableMetrics, true}
	}
	eachDatabase(t, func(t *testing.T, name, driver string, address func(sizes) string) {
		x := newMeasured(t, driver, address(s), s)
		x.header(name)
		x.places()
	})
}

// places adds devices with records of all kinds that belong to locations: half of the devices are at one
// location, and perSite at each of the others. One of ten links and cables leads to the next location.
func (f *filler) places(devices, ports int) {
	f.t.Helper()
	for i := range tableUsers {
		name := fmt.Sprintf("user%02d", i)
		f.add(&inventory.User{Username: name, Email: name + "@example.com", Role: inventory.Viewer, PasswordHash: "none"})
	}
	var sites [2]*inventory.Location // the one with half of the devices, and the last one of the others
	var vlans [2]*inventory.VLAN
	var link, cable *string // the ports of the device before
	for i := range devices {
		at := i / 2 % 2 // devices in turn, two and two
		if i == 0 || at == 1 && i%2 == 0 && i/4%(perSite/2) == 0 {
			sites[at], vlans[at] = f.site(i)
		}
		site, vlan := sites[at], vlans[at]
		d := f.device(i, i/perSite)
		d.LocationID = &site.ID
		f.add(d)
		up := f.ports(i, d, ports)
		rear := &inventory.RearPort{DeviceID: d.ID, Name: "rear", Positions: new(int64(1))}
		f.add(rear)
		front := &inventory.FrontPort{DeviceID: d.ID, Name: "front", RearPortID: rear.ID, RearPortPosition: new(int64(1))}
		f.add(front)
		power := &inventory.Termination{DeviceID: &d.ID, Kind: inventory.TerminationPower, Name: "power"}
		power.Normalize()
		f.add(power)
		address := &inventory.Address{Address: d.IP + "/24", InterfaceID: &up, Status: inventory.AddressActive}
		address.Normalize()
		f.add(address)
		f.add(&inventory.TaggedVLAN{InterfaceID: up, VLANID: vlan.ID})
		f.add(&inventory.MapPosition{DeviceID: d.ID, View: "all"})
		f.event(i, d, up)
		if i%2 == 1 && (i/2)%10 > 0 || i > 0 && i%20 == 0 {
			f.add(&inventory.Link{AInterfaceID: min(*link, up), BInterfaceID: max(*link, up), Type: "fiber", Status: inventory.LinkUp, Discovery: "lldp"})
			c := &inventory.Cable{AFrontPortID: cable, BFrontPortID: &front.ID, Type: "smf", Status: inventory.CableConnected}
			if i%4 == 1 {
				c = &inventory.Cable{AInterfaceID: link, BInterfaceID: &up, Type: "smf", Status: inventory.CableConnected}
			}
			c.Normalize()
			f.add(c)
		}
		link, cable = &up, &front.ID
	}
	f.flush()
}

// site adds a location with a rack, a VLAN and a prefix.
func (f *filler) site(i int) (*inventory.Location, *inventory.VLAN) {
	f.t.Helper()
	number := i / perSite
	site := &inventory.Location{Name: fmt.Sprintf("Site %d", i), City: tableCities[number%len(tableCities)], Country: "AT", SiteCode: fmt.Sprintf("P%06d", i)}
	f.add(site)
	f.add(&inventory.Rack{Name: "R1", LocationID: &site.ID, Height: new(int64(42)), Status: inventory.RackActive})
	vlan := &inventory.VLAN{VLANID: 10, Name: "users", LocationID: &site.ID, Status: inventory.VLANActive}
	f.add(vlan)
	f.add(&inventory.Prefix{Prefix: fmt.Sprintf("10.%d.%d.0/24", i>>8&255, i&255), LocationID: &site.ID, Status: inventory.PrefixActive})
	return site, vlan
}

// event adds an event of a device, of its interface, or of its location.
func (f *filler) event(i int, d *inventory.Device, port string) {
	f.t.Helper()
	e := &inventory.Event{Severity: inventory.SeverityCritical, Type: "system", Message: "Link down."}
	switch i % 3 {
	case 0:
		e.DeviceID, e.InterfaceID, e.LocationID = &d.ID, &port, d.LocationID
	case 1:
		e.DeviceID = &d.ID
	case 2:
		e.LocationID = d.LocationID
	}
	f.add(e)
}

// maxGrant is the most locations of a user.
const maxGrant = 200

// limited returns the token of a new user who is limited to locations.
func (x *measured) limited(locations ...string) (token string) {
	x.t.Helper()
	name := fmt.Sprintf("limited%d", time.Now().UnixNano())
	body, err := json.Marshal(map[string]any{
		"username": name, "email": name + "@example.com", "password": password, "role": "viewer", "location_ids": locations,
	})
	require.NoError(x.t, err)
	w := x.send(x.Server, x.token, "POST", "/users", string(body))
	require.Equal(x.t, 201, w.Code, w.Body.String())
	return x.login(name)
}

// places measures the first page of each resource that belongs to locations, for users who are limited to a
// location with few devices, to one with half of all, and to as many as a user may be.
func (x *measured) places() {
	x.t.Helper()
	sites := x.idsOf("locations", x.sizes.devices)
	small := sites[len(sites)-1:]
	var many []string
	for i := 1; i < len(sites) && len(many) < maxGrant; i += 2 {
		many = append(many, sites[i])
	}
	admin := x.token
	defer func() { x.token = admin }()
	for _, grant := range []struct {
		name string
		ids  []string
	}{{"small", small}, {"big", sites[:1]}, {fmt.Sprint(len(many), " locations"), many}, {"none", nil}} {
		x.token = admin
		if grant.ids != nil {
			x.token = x.limited(grant.ids...)
		}
		for _, resource := range []string{
			"locations", "devices", "racks", "vlans", "prefixes", "interfaces", "front-ports", "rear-ports", "terminations", "map-positions",
			"tagged-vlans", "addresses", "links", "cables", "events", "metrics",
		} {
			for _, count := range []string{"estimated", "exact"} {
				bar := map[string]float64{"estimated": 20, "exact": 0}[count]
				_, p := x.measure(grant.name+": "+resource+" count="+count, bar, "", "/"+resource+"?limit=50&count="+count)
				if p != nil && grant.ids != nil {
					require.NotEmpty(x.t, p.Data, "%s %s", grant.name, resource)
				}
			}
		}
	}
}
