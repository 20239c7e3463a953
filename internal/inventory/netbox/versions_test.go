package netbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// base is a site with a location, a type of devices and two devices.
const base = `{"model":"dcim.region","pk":1,"fields":{"name":"Alps","slug":"alps"}},{"model":"dcim.site","pk":1,"fields":{"name":"Vienna","slug":"vie"}},{"model":"dcim.site","pk":2,"fields":{"name":"Graz","slug":"grz"}},
{"model":"dcim.location","pk":1,"fields":{"name":"Hall","slug":"hall","site":1}},{"model":"dcim.manufacturer","pk":1,"fields":{"name":"Acme"}},
{"model":"dcim.devicetype","pk":1,"fields":{"model":"SW","manufacturer":1,"u_height":"1.0","is_full_depth":true}},{"model":"dcim.devicetype","pk":2,"fields":{"model":"Half","manufacturer":1,"u_height":"1.5"}},
{"model":"dcim.device","pk":1,"fields":{"name":"a","site":1,"device_type":1,"status":"active","tenant":null}},{"model":"dcim.device","pk":2,"fields":{"name":"b","site":1,"device_type":1,"status":"active"}},
{"model":"dcim.interface","pk":1,"fields":{"name":"e1","device":1}},{"model":"dcim.interface","pk":2,"fields":{"name":"e1","device":2}},
{"model":"dcim.rack","pk":1,"fields":{"name":"R","site":1,"u_height":42,"desc_units":false,"starting_unit":1}}`

// importRows imports objects twice, so that the second time nothing changes, and returns their rows, and what is not imported.
func importRows(t *testing.T, objects string) (rows, unplaced string) {
	t.Helper()
	x := fixture(t, "["+base+","+objects+"]")
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	source := func() importer.Source { return x.Source(engine.Store().Schema()) }
	for range 2 {
		report, err := importer.Run(t.Context(), engine, []importer.Source{source()}, nil)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		rows = ""
		require.Zero(t, report.Updated)
	}
	for s := source(); ; {
		row, err := s.Next()
		if err != nil {
			break
		}
		rows += string(row.Text)
	}
	for _, c := range x.Unplaced() {
		unplaced += c.Kind + "\n"
	}
	return rows, unplaced
}

// TestVersions: the forms of all versions give the same rows. What the inventory can't have is left out, and named.
func TestVersions(t *testing.T) {
	t.Parallel()
	const vienna, hall = `"location":{"site_code":"vie"}`, `"location":{"site_code":"vie/hall"}`
	const a, b = `{"device":{"hostname":"a",` + vienna + `,"tenant":""},"name":"e1"}`, `{"device":{"hostname":"b",` + vienna + `},"name":"e1"}`
	device := func(id, fields string) string {
		return `{"model":"dcim.device","pk":` + id + `,"fields":{"site":1,"device_type":1,"status":"active",` + fields + `}}`
	}
	rear := `{"model":"dcim.rearport","pk":1,"fields":{"device":1,"name":"r","positions":4}},`
	for name, test := range map[string]struct {
		objects  string
		rows     []string // that there are
		absent   string   // text that rows do not have
		unplaced string   // a line, if not empty
	}{
		"prefix of a site before 4.2": {`{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8","site":1}}`, []string{vienna + `,"prefix":"10.0.0.0/8"`}, "", ""},
		"prefix of a location":        {`{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8","scope_type":["dcim","location"],"scope_id":1}}`, []string{hall + `,"prefix":"10.0.0.0/8"`}, "", ""},
		"prefix of a region":          {`{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8","scope_type":"dcim.region","scope_id":1}}`, []string{`"location":{"site_code":"region-alps"},"prefix"`}, "", ""},
		"prefix of a site group": {
			`{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8","scope_type":"dcim.sitegroup","scope_id":1}}`,
			[]string{`"location":null,"prefix"`},
			"", "ipam.prefix location: refers to dcim.sitegroup",
		},
		"kinds by number": {
			`{"model":"contenttypes.contenttype","pk":7,"fields":{"app_label":"dcim","model":"site"}},{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8","scope_type":7,"scope_id":1}}`,
			[]string{vienna + `,"prefix"`},
			"", "",
		},
		"fields that are not in the export": {`{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8"}}`, []string{`{"_resource":"prefixes","prefix":"10.0.0.0/8"}`}, "", ""},
		"circuit": {
			`{"model":"circuits.circuit","pk":1,"fields":{"cid":"C1"}},{"model":"circuits.circuittermination","pk":1,"fields":{"circuit":1,"term_side":"A","termination_type":["dcim","site"],"termination_id":2}},
			{"model":"circuits.circuittermination","pk":2,"fields":{"circuit":1,"term_side":"Z","site":1}}`,
			[]string{`"location":{"site_code":"grz"},"name":"C1 A"`, vienna + `,"name":"C1 Z"`},
			"", "circuits.circuit",
		},
		"address of an interface": {
			`{"model":"dcim.macaddress","pk":3,"fields":{"mac_address":"02:00:00:00:00:03","assigned_object_type":"dcim.interface","assigned_object_id":3}},
			{"model":"dcim.macaddress","pk":4,"fields":{"mac_address":"02:00:00:00:00:04","assigned_object_type":"dcim.interface","assigned_object_id":3}},
			{"model":"dcim.interface","pk":3,"fields":{"name":"m","device":1,"primary_mac_address":3}}`,
			[]string{`"mac_address":"02:00:00:00:00:03"`},
			"", "dcim.macaddress",
		},
		"cable before 3.3": {
			`{"model":"dcim.cable","pk":1,"fields":{"termination_a_type":["dcim","interface"],"termination_a_id":1,"termination_b_type":"dcim.interface","termination_b_id":2,"length":"250","length_unit":"cm"}}`,
			[]string{`"a_interface":` + a, `"b_interface":` + b, `"length":2.5`},
			"", "",
		},
		"port before 4.5": {rear + `{"model":"dcim.frontport","pk":1,"fields":{"device":1,"name":"f","rear_port":1,"rear_port_position":3}}`, []string{`"rear_port_position":3`}, "", ""},
		"port since 4.5": {
			rear + `{"model":"dcim.frontport","pk":1,"fields":{"device":1,"name":"f","positions":1}},
			{"model":"dcim.portmapping","pk":1,"fields":{"front_port":1,"front_port_position":1,"rear_port":1,"rear_port_position":3}}`, []string{`"rear_port_position":3`}, "", "",
		},
		"port with several positions": {
			rear + `{"model":"dcim.frontport","pk":1,"fields":{"device":1,"name":"f","rear_ports":[{"position":2,"rear_port":1,"rear_port_position":2},{"position":1,"rear_port":1,"rear_port_position":4}]}}`,
			[]string{`"rear_port_position":4`},
			"", "dcim.frontport rear_ports: more than one position",
		},
		"port that leads nowhere, with a cable": {
			`{"model":"dcim.frontport","pk":1,"fields":{"device":1,"name":"f"}},
			{"model":"dcim.cable","pk":1,"fields":{"a_terminations":[{"object_type":"dcim.frontport","object_id":1}],"b_terminations":[{"object_type":"dcim.interface","object_id":2}]}}`,
			nil, "front-ports", "dcim.cable",
		},
		"rack unit":               {device("3", `"name":"c","rack":1,"position":"3.0","face":"front"`), []string{`"rack_unit":3`, `"rack_height":1`}, "", ""},
		"half a rack unit":        {device("3", `"name":"c","rack":1,"position":"3.5","face":"front"`), []string{`"rack_unit":null`}, "rack_height", "dcim.device rack_unit: half a rack unit"},
		"height of half a unit":   {`{"model":"dcim.device","pk":3,"fields":{"name":"c","site":1,"device_type":2,"rack":1,"position":"3.0"}}`, []string{`"rack_unit":null`}, "rack_height", "dcim.devicetype height: no whole number of rack units"},
		"units from 50":           {`{"model":"dcim.rack","pk":2,"fields":{"name":"W","site":1,"u_height":10,"starting_unit":50}},` + device("3", `"name":"c","rack":2,"position":"55.0"`), []string{`"name":"W"`, `"rack_unit":null`}, "", "dcim.device rack_unit: the units of the rack do not begin with 1"},
		"units downwards":         {`{"model":"dcim.rack","pk":2,"fields":{"name":"W","site":1,"u_height":10,"desc_units":true}},` + device("3", `"name":"c","rack":2,"position":"5.0"`), []string{`"rack_unit":null`}, "", "dcim.rack desc_units"},
		"placeholder":             {device("3", `"name":"c","serial":"n/a"`), []string{`"serial_number":""`}, "n/a", "dcim.device serial_number: a placeholder"},
		"equal serial numbers":    {device("3", `"name":"c","serial":"S1"`) + "," + device("4", `"name":"d","serial":"S1"`), nil, "S1", "dcim.device serial_number: several devices have the same"},
		"equal names and tenants": {`{"model":"tenancy.tenant","pk":1,"fields":{"name":"Red"}},` + device("3", `"name":"a","tenant":1`), []string{`"tags":[],"tenant":"","vendor"`, `"tags":[],"tenant":"Red","vendor"`}, "", ""},
		"VLANs of groups": {
			`{"model":"ipam.vlangroup","pk":1,"fields":{"name":"prod","slug":"prod"}},{"model":"ipam.vlangroup","pk":2,"fields":{"name":"lab","slug":"lab"}},
			{"model":"ipam.vlan","pk":1,"fields":{"vid":100,"name":"x","group":1}},{"model":"ipam.vlan","pk":2,"fields":{"vid":100,"name":"y","group":2}},
			{"model":"dcim.interface","pk":3,"fields":{"device":1,"name":"e3","mode":"access","untagged_vlan":2}}`,
			[]string{`"untagged_vlan":{"location":null,"name":"y","vlan_id":100}`, `"location":null,"name":"x","vlan_id":100`, `"location":null,"name":"y","vlan_id":100`},
			"", "ipam.vlan group",
		},
		"VLAN of the site of its group": {
			`{"model":"ipam.vlangroup","pk":1,"fields":{"name":"prod","scope_type":["dcim","site"],"scope_id":1}},{"model":"ipam.vlan","pk":1,"fields":{"vid":100,"name":"x","group":1,"site":null}}`,
			[]string{vienna + `,"name":"x"`},
			"", "ipam.vlangroup",
		},
		"VLANs with a number of one site": {
			`{"model":"ipam.vlan","pk":1,"fields":{"vid":100,"name":"x","site":1}},{"model":"ipam.vlan","pk":2,"fields":{"vid":100,"name":"y","site":1}}`,
			[]string{vienna + `,"name":"x"`, `"location":null,"name":"y"`},
			"", "ipam.vlan location: another VLAN there has the number",
		},
		"equal VLANs": {`{"model":"ipam.vlan","pk":1,"fields":{"vid":100,"name":"x"}},{"model":"ipam.vlan","pk":2,"fields":{"vid":100,"name":"x"}}`, nil, "", "ipam.vlan equal to another one"},
		"addresses that interfaces share": {
			`{"model":"ipam.ipaddress","pk":1,"fields":{"address":"10.0.0.1/24","role":"vrrp","assigned_object_type":["dcim","interface"],"assigned_object_id":1}},
			{"model":"ipam.ipaddress","pk":2,"fields":{"address":"10.0.0.1/24","role":"vrrp","assigned_object_type":["dcim","interface"],"assigned_object_id":2}}`,
			[]string{`"interface":` + a + `,"role":"vrrp"`, `"interface":` + b + `,"role":"vrrp"`},
			"", "",
		},
		"an address without fields": {`{"model":"ipam.ipaddress","pk":1,"fields":{}}`, nil, "addresses", "ipam.ipaddress"},
		"equal addresses": {
			`{"model":"ipam.ipaddress","pk":1,"fields":{"address":"10.0.0.1/24","assigned_object_type":["dcim","interface"],"assigned_object_id":1}},
			{"model":"ipam.ipaddress","pk":2,"fields":{"address":"10.0.0.1/25","assigned_object_type":["dcim","interface"],"assigned_object_id":2}}`,
			[]string{`"address":"10.0.0.1/24"`},
			"10.0.0.1/25", "ipam.ipaddress equal to another one",
		},
		"names that differ in case":     {device("3", `"name":"A","tenant":null`), []string{`"hostname":"A (device 3)"`}, "", ""},
		"equal prefixes":                {`{"model":"ipam.prefix","pk":1,"fields":{"prefix":"10.0.0.0/8"}},{"model":"ipam.prefix","pk":2,"fields":{"prefix":"10.0.0.0/8"}}`, nil, "", "ipam.prefix equal to another one"},
		"equal VRFs":                    {`{"model":"ipam.vrf","pk":1,"fields":{"name":"v","rd":"1:1"}},{"model":"ipam.vrf","pk":2,"fields":{"name":"v","rd":"1:2"}}`, []string{`"name":"v","rd":"1:1"`, `"name":"v","rd":"1:2"`}, "", ""},
		"VRFs that nothing tells apart": {`{"model":"ipam.vrf","pk":1,"fields":{"name":"v","rd":null}},{"model":"ipam.vrf","pk":2,"fields":{"name":"v","rd":null}}`, []string{`"name":"v (vrf 2)"`}, "", ""},
		"equal power feeds": {
			`{"model":"dcim.powerpanel","pk":1,"fields":{"name":"P","site":1}},{"model":"dcim.powerpanel","pk":2,"fields":{"name":"P","site":2}},
			{"model":"dcim.powerfeed","pk":1,"fields":{"name":"A","power_panel":1}},{"model":"dcim.powerfeed","pk":2,"fields":{"name":"A","power_panel":2}}`,
			[]string{`"name":"P A"`, `"name":"P A (powerfeed 2)"`},
			"", "",
		},
		"status of one's own": {`{"model":"dcim.device","pk":3,"fields":{"name":"c","site":1,"status":"rma"}}`, []string{`"hostname":"c"`}, `"rma"`, "dcim.device status: the inventory has no rma"},
		"long slugs":          {`{"model":"dcim.location","pk":9,"fields":{"name":"L","site":1,"slug":"` + strings.Repeat("x", 60) + `"}}`, []string{`"site_code":"dcim-location-9"`}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, unplaced := importRows(t, test.objects)
			for _, want := range test.rows {
				require.Contains(t, rows, want)
			}
			if test.absent != "" {
				require.NotContains(t, rows, test.absent)
			}
			if test.unplaced != "" {
				require.Contains(t, unplaced, test.unplaced+"\n")
			}
		})
	}
}
