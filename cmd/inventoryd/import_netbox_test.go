package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/netboxtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

type object = map[string]any

// TestImportFromNetBox imports from a real NetBox, and compares each object with what the API of NetBox says.
func TestImportFromNetBox(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a NetBox")
	}
	t.Parallel()
	begin := time.Now()
	n := netboxtest.Start(t)
	t.Logf("started after %s", time.Since(begin))
	fillNetBox(t, n)
	t.Logf("filled after %s", time.Since(begin))
	database := filepath.Join(t.TempDir(), "inventory.db")
	command := func(args ...string) string {
		var out, errs bytes.Buffer
		require.NoError(t, run(t.Context(), cli.Env{
			Args: append(append([]string{"import", "netbox"}, args...), n.URL), Stdout: &out, Stderr: &errs,
			Environ: map[string]string{"DATABASE_URL": database, "LOG_LEVEL": "error", "NETBOX_TOKEN": n.Token},
		}), errs.String())
		return errs.String()
	}
	said := command()
	t.Logf("imported after %s: %s", time.Since(begin), said)
	for _, line := range []string{
		"dcim.device serial_number: a placeholder", "dcim.device serial_number: several devices have the same",
		"dcim.device rack_unit: the units of the rack count downwards", "dcim.device rack_unit: the units of the rack do not begin with 1",
		"2 dcim.frontport rear_ports: more than one position", "1 dcim.frontport\n", "ipam.prefix location: refers to dcim.sitegroup",
		"circuits.circuittermination location: refers to circuits.providernetwork", "dcim.cable\n", "ipam/fhrp-groups", "virtualization.cluster\n",
	} {
		require.Contains(t, said, line)
	}
	n.Token = fmt.Sprint(n.Send(http.MethodPost, "users/tokens", object{"version": 1, "user": 1})["token"])
	require.Contains(t, command(), " 0 created, 0 updated, ", "with a token of version 1")
	compareNetBox(t, n, database)
	t.Logf("compared after %s", time.Since(begin))
	compareClients(t, n, database)
	t.Logf("clients compared after %s", time.Since(begin))
}

// compareClients reads the NetBox, and the inventory over a database, by clients of NetBox: they find the same.
func compareClients(t *testing.T, n *netboxtest.NetBox, database string) {
	python := os.Getenv("ASHLAR_NETBOX_CLIENTS")
	if python == "" {
		what := "NOT TESTED with clients of NetBox: ASHLAR_NETBOX_CLIENTS, a Python with pynetbox, nornir-netbox and the Ansible collection netbox.netbox, is not set"
		require.NotEqual(t, "1", os.Getenv("ASHLAR_REQUIRE_SERVICES"), what)
		t.Log(what)
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	started, ended := make(chan string, 1), make(chan struct{})
	errs := &watched{until: "Ctrl-C stops it", found: func() {}}
	errs.found = func() {
		select {
		case started <- regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(errs.String()):
		default:
		}
	}
	go func() {
		defer close(ended)
		cli.Run(ctx, "inventoryd", run, cli.Env{
			Args: []string{"-addr", "127.0.0.1:0", "-database-url", database}, Stdout: io.Discard, Stderr: errs,
			Environ: map[string]string{"ADMIN_PASSWORD": "correct horse battery", "RATE_LIMIT": "100000", "LOG_LEVEL": "error", "NETBOX_AT_ROOT": "true"},
		})
	}()
	defer func() { cancel(); <-ended }()
	var address string
	select {
	case address = <-started:
	case <-ended:
		t.Fatal(errs.String())
	}
	response, err := http.Post(address+"/users/login", "application/json", strings.NewReader(`{"username":"admin","password":"correct horse battery"}`))
	require.NoError(t, err)
	defer response.Body.Close()
	var login struct{ Token string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&login))
	read := func(url, token string) (found object) {
		const changes = `{"status.value=failed":"offline","scope.name=Offices":"","assigned_object_type=ipam.fhrpgroup":""}`
		cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "netbox_clients.py"), url, t.TempDir(), changes) // #nosec G204 -- the installation that the test names
		cmd.Env = append(os.Environ(), "NETBOX_TOKEN="+token)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		require.NoError(t, err, said.String())
		require.NoError(t, json.Unmarshal(out, &found))
		return found
	}
	want, got := read(n.URL, n.Token), read(address, login.Token)
	for name := range want {
		assert.Equal(t, want[name], got[name], name)
	}
}

// fillNetBox creates objects of all kinds that the inventory has, and some that it has not.
func fillNetBox(t *testing.T, n *netboxtest.NetBox) {
	one := func(path string, o object) any { t.Helper(); return n.Add(path, o)[0] }
	named := func(path, name string, more object) any {
		t.Helper()
		o := object{"name": name, "slug": strings.ReplaceAll(strings.ToLower(name), " ", "-")}
		for k, v := range more {
			o[k] = v
		}
		return one(path, o)
	}
	region := named("dcim/regions", "Austria", nil)
	tirol := named("dcim/regions", "Tirol", object{"parent": region})
	group := named("dcim/site-groups", "Offices", nil)
	vienna := named("dcim/sites", "Vienna", object{"region": region, "latitude": 48.2, "longitude": 16.37, "time_zone": "Europe/Vienna", "physical_address": "Ring 1", "facility": "DC 1", "group": group})
	graz := named("dcim/sites", "Graz", object{"region": tirol})
	hall := named("dcim/locations", "Hall 1", object{"site": vienna})
	cage := named("dcim/locations", "Cage", object{"site": vienna, "parent": hall})
	tenants := []any{named("tenancy/tenants", "Red", nil), named("tenancy/tenants", "Blue", nil)}
	racks := n.Add("dcim/racks",
		object{"name": "R1", "site": vienna, "location": hall, "u_height": 42, "serial": "RS1", "asset_tag": "RA1", "status": "available", "tenant": tenants[0]},
		object{"name": "R2", "site": vienna, "u_height": 42, "desc_units": true},
		object{"name": "R3", "site": graz, "u_height": 10, "starting_unit": 50, "description": "wall"},
		object{"name": "R4", "site": vienna, "location": cage, "u_height": 20})
	maker := named("dcim/manufacturers", "Acme", nil)
	role, platform := named("dcim/device-roles", "Access", nil), named("dcim/platforms", "AcmeOS", nil)
	types := n.Add("dcim/device-types",
		object{"manufacturer": maker, "model": "SW48", "slug": "sw48", "u_height": 1, "part_number": "P-48"},
		object{"manufacturer": maker, "model": "PP12", "slug": "pp12", "u_height": 2, "is_full_depth": false},
		object{"manufacturer": maker, "model": "Half", "slug": "half", "u_height": 0.5})
	n.Add("dcim/interface-templates", object{"device_type": types[2], "name": "mgmt", "type": "1000base-t"})
	rearTemplate := one("dcim/rear-port-templates", object{"device_type": types[1], "name": "T1", "type": "lc", "positions": 2})
	n.Add("dcim/front-port-templates", object{"device_type": types[1], "name": "F1", "type": "lc", "rear_ports": []object{{"position": 1, "rear_port": rearTemplate, "rear_port_position": 2}}})
	device := func(name any, site any, more object) object {
		o := object{"name": name, "site": site, "device_type": types[0], "role": role, "status": "active"}
		for k, v := range more {
			o[k] = v
		}
		return o
	}
	var switches []object
	for i := range 60 { // more than a page
		switches = append(switches, device(fmt.Sprintf("sw%d", i), graz, object{"serial": fmt.Sprintf("S%d", i), "platform": platform}))
	}
	n.Add("dcim/devices", switches...)
	devices := n.Add("dcim/devices",
		device("core", vienna, object{"location": hall, "rack": racks[0], "position": 10, "face": "front", "serial": "N/A", "comments": "two\nlines", "tenant": tenants[0], "status": "staged"}),
		device("down", vienna, object{"rack": racks[1], "position": 3, "face": "front", "serial": "N/A"}),
		device("wall", graz, object{"rack": racks[2], "position": 55, "face": "rear", "serial": "SAME", "status": "failed"}),
		device("twin", vienna, object{"serial": "SAME", "tenant": tenants[0]}),
		device("twin", vienna, object{"tenant": tenants[1]}),
		device(nil, graz, nil),
		device("panel", vienna, object{"location": cage, "rack": racks[3], "position": 5, "face": "rear", "device_type": types[1]}),
		device("far", graz, object{"device_type": types[1]}))
	vrfs := n.Add("ipam/vrfs", object{"name": "blue", "rd": "65000:1"}, object{"name": "twin", "rd": "65000:2"}, object{"name": "twin", "rd": "65000:3"})
	groups := []any{
		named("ipam/vlan-groups", "Prod", nil), named("ipam/vlan-groups", "Lab", nil),
		named("ipam/vlan-groups", "Local", object{"scope_type": "dcim.site", "scope_id": graz}),
	}
	vlans := n.Add("ipam/vlans", object{"vid": 100, "name": "users", "group": groups[0]}, object{"vid": 100, "name": "test", "group": groups[1], "status": "reserved"},
		object{"vid": 7, "name": "local", "group": groups[2]}, object{"vid": 8, "name": "guests", "site": vienna, "description": "free"})
	var ports []object
	for i := range 120 { // several pages
		ports = append(ports, object{"device": devices[0], "name": fmt.Sprintf("ge%d", i), "type": "1000base-t", "enabled": i%2 == 0, "mtu": 1500, "speed": 1000000, "description": fmt.Sprintf("to %d", i)})
	}
	interfaces := n.Add("dcim/interfaces", ports...)
	lag := one("dcim/interfaces", object{"device": devices[0], "name": "ae0", "type": "lag", "mode": "tagged", "untagged_vlan": vlans[3], "tagged_vlans": []any{vlans[3]}})
	more := n.Add("dcim/interfaces", object{"device": devices[0], "name": "xe0", "type": "10gbase-x-sfpp", "lag": lag},
		object{"device": devices[0], "name": "ae0.8", "type": "virtual", "parent": lag, "mode": "access", "untagged_vlan": vlans[3]},
		object{"device": devices[1], "name": "e1", "type": "1000base-t", "mode": "access", "untagged_vlan": vlans[0]},
		object{"device": devices[1], "name": "e2", "type": "1000base-t", "mode": "tagged", "tagged_vlans": []any{vlans[1]}})
	mac := n.Add("dcim/mac-addresses", object{"mac_address": "02:00:00:00:00:01", "assigned_object_type": "dcim.interface", "assigned_object_id": more[0]},
		object{"mac_address": "02:00:00:00:00:02", "assigned_object_type": "dcim.interface", "assigned_object_id": more[0]})
	n.Send(http.MethodPatch, fmt.Sprintf("dcim/interfaces/%v", more[0]), object{"primary_mac_address": mac[1]})
	rears := n.Add("dcim/rear-ports", object{"device": devices[6], "name": "trunk", "type": "mpo", "positions": 12}, object{"device": devices[7], "name": "trunk", "type": "mpo", "positions": 12},
		object{"device": devices[7], "name": "spare", "type": "mpo", "positions": 2})
	var fronts []object
	for i := range 6 {
		fronts = append(fronts, object{"device": devices[6], "name": fmt.Sprintf("f%d", i), "type": "lc", "rear_ports": []object{{"position": 1, "rear_port": rears[0], "rear_port_position": 12 - i}}})
	}
	frontIDs := n.Add("dcim/front-ports", fronts...)
	n.Add("dcim/front-ports", object{"device": devices[7], "name": "duplex", "type": "lc", "positions": 2, "rear_ports": []object{
		{"position": 1, "rear_port": rears[1], "rear_port_position": 3}, {"position": 2, "rear_port": rears[1], "rear_port_position": 4},
	}}, object{"device": devices[7], "name": "split", "type": "lc", "positions": 2, "rear_ports": []object{
		{"position": 2, "rear_port": rears[1], "rear_port_position": 1}, {"position": 1, "rear_port": rears[2], "rear_port_position": 2},
	}}, object{"device": devices[7], "name": "unused", "type": "lc"})
	console := one("dcim/console-ports", object{"device": devices[0], "name": "con", "type": "rj-45"})
	server := one("dcim/console-server-ports", object{"device": devices[1], "name": "con", "type": "rj-45"})
	power := one("dcim/power-ports", object{"device": devices[0], "name": "PSU1", "type": "iec-60320-c14"})
	panels := n.Add("dcim/power-panels", object{"name": "P", "site": vienna}, object{"name": "P", "site": graz})
	feeds := n.Add("dcim/power-feeds", object{"name": "A", "power_panel": panels[0]}, object{"name": "A", "power_panel": panels[1]})
	provider := named("circuits/providers", "Carrier", nil)
	cloud := one("circuits/provider-networks", object{"provider": provider, "name": "cloud"})
	circuit := one("circuits/circuits", object{"cid": "C-1", "provider": provider, "type": named("circuits/circuit-types", "Fibre", nil), "status": "active"})
	sides := n.Add("circuits/circuit-terminations", object{"circuit": circuit, "term_side": "A", "termination_type": "dcim.site", "termination_id": vienna, "xconnect_id": "X1"},
		object{"circuit": circuit, "term_side": "Z", "termination_type": "circuits.providernetwork", "termination_id": cloud})
	end := func(kind string, id any) []object { return []object{{"object_type": kind, "object_id": id}} }
	n.Add("dcim/cables",
		object{"a_terminations": end("dcim.interface", interfaces[0]), "b_terminations": end("dcim.frontport", frontIDs[0]), "type": "smf", "label": "c1", "color": "ff0000", "length": 250, "length_unit": "cm"},
		object{"a_terminations": end("dcim.rearport", rears[0]), "b_terminations": end("dcim.rearport", rears[1]), "status": "planned", "length": 10, "length_unit": "ft"},
		object{"a_terminations": end("dcim.interface", interfaces[1]), "b_terminations": end("dcim.interface", more[2])},
		object{"a_terminations": end("dcim.consoleport", console), "b_terminations": end("dcim.consoleserverport", server)},
		object{"a_terminations": end("dcim.powerport", power), "b_terminations": end("dcim.powerfeed", feeds[0])},
		object{"a_terminations": end("dcim.interface", interfaces[2]), "b_terminations": end("circuits.circuittermination", sides[0])},
		object{"a_terminations": append(end("dcim.interface", interfaces[3]), end("dcim.interface", interfaces[4])...), "b_terminations": end("dcim.interface", interfaces[5])})
	n.Add("ipam/prefixes", object{"prefix": "10.0.0.0/16", "status": "container"},
		object{"prefix": "10.0.1.0/24", "scope_type": "dcim.site", "scope_id": vienna, "vlan": vlans[3], "role": named("ipam/roles", "Users", nil)},
		object{"prefix": "10.0.2.0/24", "scope_type": "dcim.location", "scope_id": cage, "vrf": vrfs[0]}, object{"prefix": "10.0.3.0/24", "scope_type": "dcim.region", "scope_id": tirol},
		object{"prefix": "10.0.4.0/24", "scope_type": "dcim.sitegroup", "scope_id": group}, object{"prefix": "10.0.1.0/24", "vrf": vrfs[2], "vlan": vlans[1]}, object{"prefix": "2001:db8::/48"})
	fhrp := one("ipam/fhrp-groups", object{"protocol": "vrrp2", "group_id": 1})
	ips := n.Add("ipam/ip-addresses", object{"address": "10.0.1.1/24", "assigned_object_type": "dcim.interface", "assigned_object_id": lag, "dns_name": "core.example.org"},
		object{"address": "10.0.1.253/24", "role": "vrrp", "assigned_object_type": "dcim.interface", "assigned_object_id": lag},
		object{"address": "10.0.1.253/24", "role": "vrrp", "assigned_object_type": "dcim.interface", "assigned_object_id": more[2]},
		object{"address": "10.0.2.1/24", "vrf": vrfs[0], "status": "reserved"}, object{"address": "10.0.1.254/24", "assigned_object_type": "ipam.fhrpgroup", "assigned_object_id": fhrp, "role": "vrrp"},
		object{"address": "2001:db8::1/64", "status": "slaac", "description": "v6"})
	n.Send(http.MethodPatch, fmt.Sprintf("dcim/devices/%v", devices[0]), object{"primary_ip4": ips[0]})
	n.Add("virtualization/clusters", object{"name": "vm", "type": named("virtualization/cluster-types", "KVM", nil), "scope_type": "dcim.site", "scope_id": graz})
}

// comparison says which fields of the records of a resource are which members of the objects of a list of NetBox.
type comparison struct {
	list, resource, only string // only has the field and value of the records that come from the list
	fields               string // field=member
	rename               map[string]string
}

func comparisons() []comparison {
	return []comparison{
		{list: "dcim/regions", resource: "locations", only: "kind=region", fields: "name=name parent_id.name=parent.name"},
		{list: "dcim/sites", resource: "locations", only: "kind=site", fields: "name=name site_code=slug parent_id.name=region.name lat=latitude lon=longitude timezone=time_zone address=physical_address"},
		{list: "dcim/locations", resource: "locations", only: "kind=room", fields: "name=name parent_id.name=parent.name|site.name"},
		{list: "dcim/racks", resource: "racks", fields: "name=name height=u_height serial_number=serial asset_tag=asset_tag status=status.value tenant=tenant.name description=description location_id.name=location.name|site.name", rename: map[string]string{"available": "active"}},
		{
			list: "dcim/devices", resource: "devices", fields: "hostname=name role=role.name os=platform.name status=status.value tenant=tenant.name model=device_type.model vendor=device_type.manufacturer.name" +
				" device_type_id.model=device_type.model notes=comments rack_id.name=rack.name rack_unit=position rack_position=position location_id.name=location.name|rack.location|site.name serial_number=serial ip=primary_ip.address",
			rename: map[string]string{
				"staged": "provisioning", "failed": "offline", "N/A": "", "SAME": "",
				"rack_unit=3": "", "rack_unit=55": "", "rack_position=3": "3.0", "rack_position=5": "5.0", "rack_position=10": "10.0", "rack_position=55": "55.0", "hostname=": "Acme SW48 (66)", "10.0.1.1/24": "10.0.1.1",
			},
		},
		{
			list: "dcim/interfaces", resource: "interfaces", fields: "device_id.hostname=device.name name=name type=type.value description=description mtu=mtu mac_address=mac_address admin_status=enabled" +
				" speed_mbps=speed mode=mode.value lag_id.name=lag.name parent_id.name=parent.name untagged_vlan_id.name=untagged_vlan.name",
			rename: map[string]string{"admin_status=true": "up", "admin_status=false": "down", "tagged": "trunk", "speed_mbps=1000000": "1000"},
		},
		{list: "dcim/rear-ports", resource: "rear-ports", fields: "device_id.hostname=device.name name=name type=type.value positions=positions"},
		{list: "dcim/front-ports", resource: "front-ports", fields: "device_id.hostname=device.name name=name type=type.value rear_port_id.name=rear.name rear_port_position=first.rear_port_position"},
		{list: "ipam/vrfs", resource: "vrfs", fields: "name=name rd=rd"},
		{list: "ipam/vlans", resource: "vlans", fields: "vlan_id=vid name=name status=status.value description=description location_id.name=group.name|site.name", rename: map[string]string{"Local": "Graz", "Prod": "", "Lab": ""}},
		{
			list: "ipam/prefixes", resource: "prefixes", fields: "prefix=prefix status=status.value role=role.name vrf_id.rd=vrf.rd location_id.name=scope.name vlan_id.name=vlan.name description=description",
			rename: map[string]string{"Offices": ""},
		},
		{
			list: "ipam/ip-addresses", resource: "addresses",
			fields: "address=address status=status.value role=role.value vrf_id.rd=vrf.rd dns_name=dns_name description=description interface_id.name=assigned_object.name",
		},
		{list: "dcim/cables", resource: "cables", fields: "type=type status=status.value label=label color=color length=metres description=description ends=ends"},
		{list: "circuits/circuit-terminations", resource: "terminations", only: "kind=circuit", fields: "label=xconnect_id location_id.name=termination.name", rename: map[string]string{"cloud": ""}},
	}
}

// netBoxEnd returns the end of a cable as the inventory has it.
func netBoxEnd(ends any) string {
	at := ends.([]any)[0].(object)
	of := at["object"].(object)
	switch kind := at["object_type"]; kind {
	case "dcim.powerfeed":
		return fmt.Sprintf("termination  P %v", of["name"])
	case "circuits.circuittermination":
		return fmt.Sprintf("termination  Carrier %v %v", of["circuit"].(object)["cid"], of["term_side"])
	default:
		kinds := map[any]string{"dcim.interface": "interface", "dcim.frontport": "front_port", "dcim.rearport": "rear_port"}
		return fmt.Sprintf("%s %v %v", cmp.Or(kinds[kind], "termination"), of["device"].(object)["name"], of["name"])
	}
}

// compareNetBox compares the records of a database with the objects of a NetBox.
func compareNetBox(t *testing.T, n *netboxtest.NetBox, database string) {
	store, err := sqlite.Open(t.Context(), database, inventory.Schema(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	byID, byResource := map[string]object{}, map[string][]object{}
	for _, r := range store.Schema().Resources() {
		for rec, err := range records.All(t.Context(), store, &records.Query{Resource: r, Limit: 1000}) {
			require.NoError(t, err)
			text, err := json.Marshal(rec)
			require.NoError(t, err)
			var o object
			require.NoError(t, json.Unmarshal(text, &o))
			byID[rec.Meta().ID] = o
			byResource[r.Name] = append(byResource[r.Name], o)
		}
	}
	follow := func(o object, path string) string {
		var value any = o
		for name := range strings.SplitSeq(path, ".") {
			if list, ok := value.([]any); ok && len(list) > 0 {
				value = list[0]
			}
			if id, ok := value.(string); ok && byID[id] != nil {
				value = byID[id]
			}
			o, _ := value.(object)
			value = o[name]
		}
		switch v := value.(type) {
		case nil:
			return ""
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return fmt.Sprint(value)
	}
	for _, o := range byResource["cables"] {
		var ends []string
		for name, id := range o {
			if kind, ok := strings.CutSuffix(name, "_id"); ok && id != nil && name != "id" {
				end := byID[id.(string)]
				ends = append(ends, fmt.Sprintf("%s %s %v", kind[len("a_"):], follow(end, "device_id.hostname"), end["name"]))
			}
		}
		slices.Sort(ends)
		o["ends"] = fmt.Sprint(ends)
	}
	rears := map[any]object{}
	for _, rear := range n.All("dcim/rear-ports") {
		rears[rear["id"]] = rear
	}
	total, values := 0, 0
	for _, c := range comparisons() {
		var want, got []string
		for _, o := range n.All(c.list) {
			if ports, ok := o["rear_ports"].([]any); ok {
				if len(ports) == 0 { // the inventory has no such port
					continue
				}
				first := slices.MinFunc(ports, func(a, b any) int {
					return cmp.Compare(a.(object)["position"].(float64), b.(object)["position"].(float64))
				}).(object)
				o["first"], o["rear"] = first, rears[first["rear_port"]]
			}
			if c.list == "dcim/cables" {
				if len(o["a_terminations"].([]any)) > 1 { // the inventory has no such cable
					continue
				}
				unit := map[string]float64{"cm": 0.01, "ft": 0.3048}[follow(o, "length_unit.value")]
				ends := []string{netBoxEnd(o["a_terminations"]), netBoxEnd(o["b_terminations"])}
				slices.Sort(ends)
				o["ends"] = fmt.Sprint(ends)
				if length, ok := o["length"].(float64); ok {
					o["metres"] = length * unit
				}
			}
			var line []string
			for pair := range strings.FieldsSeq(c.fields) {
				field, member, _ := strings.Cut(pair, "=")
				value := ""
				for path := range strings.SplitSeq(member, "|") {
					if value == "" {
						value = follow(o, path)
					}
				}
				for _, key := range []string{value, field + "=" + value} {
					if to, ok := c.rename[key]; ok && (key != value || field != "description") {
						value = to
					}
				}
				line = append(line, field+"="+value)
			}
			want, values = append(want, strings.Join(line, " ")), values+len(line)
		}
		for _, o := range byResource[c.resource] {
			if field, value, ok := strings.Cut(c.only, "="); ok && follow(o, field) != value {
				continue
			}
			var line []string
			for pair := range strings.FieldsSeq(c.fields) {
				field, _, _ := strings.Cut(pair, "=")
				line = append(line, field+"="+follow(o, field))
			}
			got = append(got, strings.Join(line, " "))
		}
		slices.Sort(want)
		slices.Sort(got)
		assert.Equal(t, want, got, c.list)
		total += len(want)
	}
	t.Logf("%d records and %d of their fields are equal to those of NetBox", total, values)
}
