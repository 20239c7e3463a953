package netboxapi_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/feature/netboxapi"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

type object = featuretest.Object

// TestRights: everybody with a token who may list what a list is made of, and nobody writes.
func TestRights(t *testing.T) {
	table := map[string]featuretest.Rights{}
	f := netboxapi.New()
	for _, op := range f.Operations {
		row := featuretest.Rights{Who: "1+++"}
		if op.Access.Anonymous {
			row.Who = "++++"
		} else if scopes := append([]string{op.Resource}, op.Lists...); op.Resource != "" && op.Resource != "vlans" {
			row.Scope = strings.Join(scopes, ":read ") + ":read"
		}
		table[op.Method+" "+op.Path] = row
	}
	featuretest.CheckRights(t, f, table)
}

// network is a small network, with the ids of its records by name.
func network(g *featuretest.API) map[string]string {
	ids := map[string]string{}
	add := func(path, name string, o object) {
		ids[name] = g.Create(path, o)["id"].(string)
	}
	add("/locations", "europe", object{"name": "Europe", "kind": "region", "site_code": "region-europe"})
	add("/locations", "vienna", object{"name": "Vienna", "kind": "site", "site_code": "vie1", "parent_id": ids["europe"], "timezone": "Europe/Vienna"})
	add("/locations", "hall", object{"name": "Hall 1", "kind": "room", "site_code": "vie1/hall", "parent_id": ids["vienna"]})
	add("/locations", "cage", object{"name": "Cage", "kind": "room", "parent_id": ids["hall"]})
	add("/locations", "shed", object{"name": "The Shed"}) // of no kind, and within nothing
	add("/racks", "rack", object{"name": "R1", "location_id": ids["hall"]})
	add("/device-types", "type", object{"manufacturer": "Acme", "model": "SW 48"})
	add("/vrfs", "vrf", object{"name": "management", "rd": "65000:1"})
	add("/vlans", "vlan", object{"vlan_id": 7, "name": "users", "location_id": ids["vienna"]})
	add("/devices", "sw1", object{"hostname": "sw1", "ip": "10.0.0.1", "device_type_id": ids["type"], "role": "Access Switch", "os": "AcmeOS", "location_id": ids["cage"], "rack_id": nil, "tags": []string{"core", "Edge One"}, "status": "provisioning"})
	add("/devices", "sw2", object{"hostname": "sw2", "ip": "10.0.0.2", "vendor": "Zeta", "model": "Z 1", "role": "Access Switch", "location_id": ids["shed"], "tenant": "Red"})
	add("/devices", "lone", object{"hostname": "lone", "ip": "2001:db8::9"})
	add("/devices", "bare", object{"hostname": "bare"})
	add("/interfaces", "sw1e1", object{"device_id": ids["sw1"], "name": "e1", "ip_address": "10.0.0.1/24", "mode": "trunk", "untagged_vlan_id": ids["vlan"], "speed_mbps": 1000, "mac_address": "02:00:00:00:00:01"})
	add("/interfaces", "sw1e2", object{"device_id": ids["sw1"], "name": "e2", "ip_address": "10.9.0.1/31", "admin_status": "down"})
	add("/interfaces", "sw2e1", object{"device_id": ids["sw2"], "name": "e1", "ip_address": "10.0.0.2/24"})
	add("/addresses", "a1", object{"address": "10.0.0.1/24", "vrf_id": ids["vrf"], "interface_id": ids["sw1e1"], "dns_name": "sw1.example.org"})
	add("/addresses", "free", object{"address": "10.0.0.77"})
	add("/tagged-vlans", "tagged", object{"interface_id": ids["sw1e1"], "vlan_id": ids["vlan"]})
	add("/cables", "cable", object{"a_interface_id": ids["sw1e2"], "b_interface_id": ids["sw2e1"], "label": "c1", "length": 2.5})
	add("/prefixes", "prefix", object{"prefix": "10.0.0.0/24", "location_id": ids["vienna"]})
	return ids
}

// get returns an object, or the objects of a list by display.
func get(t *testing.T, g *featuretest.API, path string) (one object, all map[string]object) {
	one, all = featuretest.Read(t, g.As("viewer").Send("GET", "/netbox/api/"+path, nil).Want(200).WantHeader("API-Version", "4.7")), map[string]object{}
	if list, ok := one["results"].([]any); ok {
		for _, o := range list {
			name, _ := o.(object)["display"].(string)
			all[name] = o.(object)
		}
	}
	return one, all
}

// at follows names through objects.
func at(o any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := o.([]any); ok && len(list) > 0 {
			o = list[0]
		}
		next, _ := o.(object)
		o = next[name]
	}
	return o
}

func TestObjects(t *testing.T) { featuretest.OnStores(t, testObjects, netboxapi.New) }

func testObjects(t *testing.T, g *featuretest.API) {
	ids := network(g)
	for _, c := range []struct {
		list, display string
		want          object
	}{
		{"dcim/devices", "sw1", object{
			"name": "sw1", "status.value": "staged", "role.slug": "access-switch", "platform.name": "AcmeOS", "device_type.slug": "sw-48", "device_type.manufacturer.slug": "acme", "site.slug": "vie1",
			"location.name": "Cage", "primary_ip.address": "10.0.0.1/24", "primary_ip.id": ids["a1"], "primary_ip4.family.value": 4.0, "primary_ip6": nil, "tags.slug": "core", "tenant": nil,
		}},
		{"dcim/devices", "sw2", object{
			"site.name": "The Shed", "location": nil, "device_type.model": "Z 1", "device_type.manufacturer.name": "Zeta", "primary_ip.address": "10.0.0.2/24", "primary_ip.id": ids["sw2e1"], "tenant.slug": "red",
		}},
		{"dcim/devices", "lone", object{"primary_ip6.address": "2001:db8::9/128", "primary_ip.id": ids["lone"], "primary_ip4": nil, "device_type": nil, "site": nil}},
		{"dcim/devices", "bare", object{"primary_ip": nil, "role": nil}},
		{"dcim/sites", "Vienna", object{"slug": "vie1", "region.slug": "europe", "time_zone": "Europe/Vienna", "prefix_count": 1.0}},
		{"dcim/sites", "The Shed", object{"slug": "the-shed", "region": nil, "time_zone": nil}},
		{"dcim/regions", "Europe", object{"slug": "europe", "parent": nil}},
		{"dcim/locations", "Cage", object{"site.slug": "vie1", "parent.slug": "hall"}},
		{"dcim/locations", "Hall 1", object{"site.slug": "vie1", "parent": nil, "slug": "hall"}},
		{"dcim/racks", "R1", object{"site.slug": "vie1", "location.name": "Hall 1", "u_height": 42.0}},
		{"dcim/device-types", "Z 1", object{"manufacturer.name": "Zeta", "slug": "z-1"}},
		{"dcim/interfaces", "e2", object{"enabled": false, "cable.label": "c1", "cable_end": "A", "count_ipaddresses": 1.0, "device.name": "sw1"}},
		{"dcim/cables", "c1", object{"a_terminations.object_type": "dcim.interface", "a_terminations.object.device.name": "sw1", "length": 2.5, "length_unit.value": "m"}},
		{"ipam/ip-addresses", "10.0.0.1/24", object{"vrf.rd": "65000:1", "assigned_object.device.name": "sw1", "assigned_object_id": ids["sw1e1"], "dns_name": "sw1.example.org"}},
		{"ipam/ip-addresses", "10.0.0.77/32", object{"assigned_object": nil}},
		{"ipam/ip-addresses", "10.9.0.1/31", object{"assigned_object_id": ids["sw1e2"], "id": ids["sw1e2"]}},
		{"ipam/ip-addresses", "2001:db8::9/128", object{"assigned_object_type": nil, "family.value": 6.0}},
		{"ipam/prefixes", "10.0.0.0/24", object{"scope_type": "dcim.site", "scope.slug": "vie1"}},
		{"ipam/vlans", "users (7)", object{"vid": 7.0, "site.slug": "vie1"}},
		{"dcim/device-roles", "Access Switch", object{"slug": "access-switch"}},
		{"dcim/manufacturers", "Zeta", object{"slug": "zeta"}},
		{"tenancy/tenants", "Red", object{"slug": "red"}},
	} {
		_, all := get(t, g, c.list+"/?limit=0")
		o := all[c.display]
		require.NotNil(t, o, "%s %s of %v", c.list, c.display, all)
		for path, want := range c.want {
			require.Equal(t, want, at(o, path), "%s %s %s", c.list, c.display, path)
		}
		u, err := url.Parse(o["url"].(string))
		require.NoError(t, err)
		again := featuretest.Read(t, g.As("viewer").Send("GET", u.Path, nil).Want(200))
		require.Equal(t, o, again, "by its url")
	}
	_, all := get(t, g, "dcim/interfaces/?device=sw1&name=e1")
	require.Len(t, all["e1"]["tagged_vlans"], 1)
	require.Equal(t, "tagged", at(all["e1"], "mode.value"))
	require.Equal(t, 1_000_000.0, all["e1"]["speed"])
	for range 2 { // what is remembered is of now
		g.As("root").Send("PATCH", "/devices/"+ids["sw2"], object{"ip": "10.0.0.3"}).Want(200)
		_, all = get(t, g, "dcim/devices/?name=sw2")
		require.Equal(t, "10.0.0.3/32", at(all["sw2"], "primary_ip.address"))
		_, all = get(t, g, "ipam/ip-addresses/")
		require.Contains(t, all, "10.0.0.3/32")
		g.As("root").Send("PATCH", "/interfaces/"+ids["sw2e1"], object{"ip_address": "10.0.0.3/24"}).Want(200)
		_, all = get(t, g, "ipam/ip-addresses/")
		require.NotContains(t, all, "10.0.0.3/32")
		_, all = get(t, g, "dcim/devices/?name=sw2")
		require.Equal(t, ids["sw2e1"], at(all["sw2"], "primary_ip.id"))
		g.As("root").Send("PATCH", "/interfaces/"+ids["sw2e1"], object{"ip_address": "10.0.0.2/24"}).Want(200)
		g.As("root").Send("PATCH", "/devices/"+ids["sw2"], object{"ip": "10.0.0.2"}).Want(200)
	}
}

func TestFilters(t *testing.T) { featuretest.OnStores(t, testFilters, netboxapi.New) }

func testFilters(t *testing.T, g *featuretest.API) {
	ids := network(g)
	role := func() string { _, all := get(t, g, "dcim/device-roles/"); return all["Access Switch"]["id"].(string) }()
	kind := func() string { _, all := get(t, g, "dcim/device-types/"); return all["Z 1"]["id"].(string) }()
	for query, want := range map[string]string{
		"dcim/devices/?name=sw1&name=sw2":                      "sw1 sw2",
		"dcim/devices/?name__ic=W":                             "sw1 sw2",
		"dcim/devices/?name__n=sw1&name__n=bare":               "lone sw2",
		"dcim/devices/?status=staged":                          "sw1",
		"dcim/devices/?status=staged&status=active":            "bare lone sw1 sw2",
		"dcim/devices/?site=vie1":                              "sw1",
		"dcim/devices/?region=europe":                          "sw1",
		"dcim/devices/?site_id=" + ids["shed"]:                 "sw2",
		"dcim/devices/?site=nowhere":                           "",
		"dcim/devices/?location_id=" + ids["hall"]:             "sw1",
		"dcim/devices/?role=access-switch":                     "sw1 sw2",
		"dcim/devices/?role_id=" + role:                        "sw1 sw2",
		"dcim/devices/?manufacturer=zeta&role=access-switch":   "sw2",
		"dcim/devices/?device_type=sw-48&device_type=z-1":      "sw1 sw2",
		"dcim/devices/?device_type_id=" + kind:                 "sw2",
		"dcim/devices/?tag=core":                               "sw1",
		"dcim/devices/?has_primary_ip=false":                   "bare",
		"dcim/devices/?tenant=red&brief=1":                     "sw2",
		"dcim/devices/?q=lon":                                  "lone",
		"dcim/devices/?ordering=-name&limit=1":                 "sw2",
		"dcim/devices/?limit=2&offset=3":                       "bare",
		"dcim/interfaces/?device_id=" + ids["sw2"]:             "e1",
		"dcim/interfaces/?enabled=false":                       "e2",
		"ipam/ip-addresses/?device=sw1":                        "10.0.0.1/24 10.9.0.1/31",
		"ipam/ip-addresses/?assigned_to_interface=false":       "10.0.0.77/32 2001:db8::9/128",
		"ipam/ip-addresses/?address=10.0.0.1":                  "10.0.0.1/24",
		"ipam/ip-addresses/?parent=10.0.0.0/24&limit=2":        "10.0.0.1/24 10.0.0.77/32",
		"ipam/ip-addresses/?limit=2&offset=2":                  "",
		"ipam/ip-addresses/?vrf=65000:1":                       "10.0.0.1/24",
		"dcim/sites/?slug=vie1&status=active":                  "Vienna",
		"dcim/sites/?status=planned":                           "",
		"dcim/sites?region=europe":                             "Vienna",
		"dcim/locations/?site=vie1":                            "Cage Hall 1",
		"dcim/device-roles/?slug=access-switch&name=x":         "",
		"dcim/device-types/?slug=z-1":                          "Z 1",
		"ipam/prefixes/?within=10.0.0.0/8":                     "10.0.0.0/24",
		"virtualization/virtual-machines/?name=x":              "",
		"ipam/services/?limit=0&parent_object_id=" + ids["a1"]: "",
	} {
		doc, all := get(t, g, query)
		if strings.Contains(query, "offset=2") {
			require.Len(t, all, 2, query) // the order of those without a record is that of their ids
			require.Equal(t, 5.0, doc["count"])
			continue
		}
		names := []string{}
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		require.Equal(t, want, strings.Join(names, " "), query)
	}
	for query, code := range map[string]int{
		"dcim/devices/?foo=1": 400, "dcim/devices/?limit=x": 400, "dcim/devices/?offset=-1": 400, "dcim/devices/?ordering=foo": 400, "dcim/devices/?name__ic=a&name__ic=b": 400, "dcim/devices/?rack_id=5": 400,
		"ipam/prefixes/?within=x": 400, "dcim/devices/5/": 400, "dcim/devices/" + ids["shed"] + "/": 404, "dcim/nothing/": 404,
	} {
		g.As("root").Send("GET", "/netbox/api/"+query, nil).Want(code)
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		g.As("root").Send(method, "/netbox/api/dcim/devices/", object{"name": "x"}).Want(405)
	}
	one, _ := get(t, g, "dcim/devices/?fields=id,name&limit=1")
	require.Len(t, one["results"].([]any)[0], 2)
	one, _ = get(t, g, "dcim/devices/?omit=name,tags&limit=1")
	require.NotContains(t, one["results"].([]any)[0], "tags")
}

// TestPages: next leads through all objects once, also by the ids of the first ones.
func TestPages(t *testing.T) {
	g := featuretest.New(t, nil, netboxapi.New())
	network(g)
	for list, want := range map[string]int{"dcim/devices": 4, "ipam/ip-addresses": 5, "dcim/sites": 2} {
		for _, first := range []string{"?limit=2", "?limit=1&start=0", "?limit=3&offset=0"} {
			seen, path := map[string]bool{}, list+"/"+first
			for n := 0; path != ""; n++ {
				require.Less(t, n, 9)
				doc, _ := get(t, g, path)
				for _, o := range doc["results"].([]any) {
					id := o.(object)["id"].(string)
					require.False(t, seen[id], path)
					seen[id] = true
				}
				next, _ := doc["next"].(string)
				_, path, _ = strings.Cut(next, "/netbox/api/")
			}
			require.Len(t, seen, want, list+first)
		}
	}
}
