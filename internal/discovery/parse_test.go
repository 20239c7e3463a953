package discovery_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// TestParseText: forms of which there is no sample, and text of which the order or the values are odd.
func TestParseText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []discovery.Neighbor
	}{
		"the chassis first (NX-OS)": {
			"Capability codes:\n  (R) Router, (B) Bridge\n\nChassis id: 0026.9809.8ea0\nPort id: Eth1/2\nLocal Port id: mgmt0\nPort Description: to\nSystem Name: core-2\n" +
				"Management Address: 192.0.2.2\n\nChassis id: 0026.9809.8ea1\nPort id: Eth1/3\nLocal Port id: Eth1/1\nSystem Name: core-3\n\nTotal entries displayed: 2\n",
			[]discovery.Neighbor{
				{Interface: "mgmt0", Name: "core-2", ChassisID: "0026.9809.8ea0", Port: "Eth1/2", PortDescription: "to", Address: "192.0.2.2"},
				{Interface: "Eth1/1", Name: "core-3", ChassisID: "0026.9809.8ea1", Port: "Eth1/3"},
			},
		},
		"several neighbours on an interface": {
			"GE1/0/1 has 2 neighbor(s):\n\nNeighbor index :1\nChassis ID :0001-0001-0001\nPort ID :GE0/0/1\n\nNeighbor index :2\nChassis ID :0001-0001-0002\nPort ID :GE0/0/2\n",
			[]discovery.Neighbor{
				{Interface: "GE1/0/1", ChassisID: "0001-0001-0001", Port: "GE0/0/1"}, {Interface: "GE1/0/1", ChassisID: "0001-0001-0002", Port: "GE0/0/2"},
			},
		},
		"a description with fields, and Windows line ends": {
			"Local Intf: Gi1\r\nSystem Name: a\r\nSystem Description: \r\nSystem Name: b\r\nPort id: Gi2\r\nManagement Addresses - not advertised\r\n",
			[]discovery.Neighbor{{Interface: "Gi1", Name: "a", Port: "Gi2"}},
		},
		"nothing is heard": {"Total entries displayed: 0\n", nil},
	} {
		got, err := discovery.ParseText(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"": "neighbours detail",
		"Device ID: a\nDevice ID: b\nInterface: Gi1,  Port ID (outgoing port): Gi2\n": "line 1: local interface",
		strings.Repeat("x", discovery.MaxBytes+1):                                     "has more than 4194304 bytes",
		strings.Repeat("Local Intf: a\n", discovery.MaxNeighbors+1):                   "line 10001: 10000",
	} {
		if _, err := discovery.ParseText(text); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("%.60q: the error is %v, want %s", text, err, want)
		}
	}
}

// TestParseJSON: the tables of NAPALM, and documents that are no tables.
func TestParseJSON(t *testing.T) {
	t.Parallel()
	brief := []discovery.Neighbor{{Interface: "Ethernet1", Name: "core-2", Port: "Ethernet2"}, {Interface: "Management1", Name: "oob", Port: "508"}}
	for doc, want := range map[string][]discovery.Neighbor{
		`{"Management1":[{"hostname":"oob","port":"508"}],"Ethernet1":[{"hostname":"core-2","port":"Ethernet2"}]}`:                        brief,
		`{"get_lldp_neighbors":{"Ethernet1":[{"hostname":"core-2","port":"Ethernet2"}],"Management1":[{"hostname":"oob","port":"508"}]}}`: brief,
		`{"Te0/1":[{"parent_interface":"","remote_chassis_id":"8C60.4F69.E96C","remote_port":"Eth2/2/1","remote_port_description":"up","remote_system_name":"switch"}]}`: {
			{Interface: "Te0/1", Name: "switch", ChassisID: "8C60.4F69.E96C", Port: "Eth2/2/1", PortDescription: "up"},
		},
		`[{"LOCAL_INTERFACE":"gi1","neighbor_interface":["gi2"],"neighbor_name":["sw"]}]`: {{Interface: "gi1", Name: "sw", Port: "gi2", PortDescription: "gi2"}},
		`[]`: {},
		`{}`: {},
	} {
		got, err := discovery.ParseJSON([]byte(doc))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", doc, got, err, want)
		}
	}
	for doc, want := range map[string]string{
		`7`:                        "array ntc-templates NAPALM",
		`{"Ethernet1":7}`:          `"Ethernet1" array`,
		`{"Ethernet1":[null]}`:     `"Ethernet1": object null`,
		`[{"neighbor_name":"sw"}]`: "[0]: has no local_interface",
	} {
		if _, err := discovery.ParseJSON([]byte(doc)); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", doc, err, want)
		}
	}
}

// TestHasNeighbors: the form of parsed tables shows their kind.
func TestHasNeighbors(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][2]bool{
		`[{"LOCAL_INTERFACE":"gi1"}]`:         {true, true},
		`[{"local_port":"gi1","mtu":1}]`:      {true, true},
		`{"Ethernet1":[]}`:                    {true, true},
		`{"get_lldp_neighbors":{}}`:           {true, true},
		`[{"interface":"gi1"}, null]`:         {false, true},
		`{"Ethernet1":{"is_up":true}}`:        {false, true},
		`{"get_interfaces":{"Ethernet1":{}}}`: {false, true},
		`[]`:                                  {false, false},
		`{}`:                                  {false, false},
		`7`:                                   {false, false},
		`[7]`:                                 {false, false},
	} {
		if neighbors, known := discovery.HasNeighbors([]byte(doc)); neighbors != want[0] || known != want[1] {
			t.Errorf("%s: neighbors %t, known %t", doc, neighbors, known)
		}
	}
}

// FuzzParse: no input makes the parsers panic or exceed their bounds, and each neighbour has an interface.
func FuzzParse(f *testing.F) {
	f.Add("Local Intf: Gi1\nChassis id: ::\n")
	f.Add("Device ID:a(b)\nInterface: mgmt0, Port ID (outgoing port): Gi1\nMgmt address(es):\n IPv4 Address: 1.1.1.1\n")
	f.Add("GE1/0/1 has 1 neighbor(s):\nNeighbor index :1\nChassis ID .... 1\n")
	f.Add(`{"lldp_neighbors":{"a":[{"port":"b"}]}}`)
	f.Fuzz(func(t *testing.T, input string) {
		text, _ := discovery.ParseText(input)
		doc, _ := discovery.ParseJSON([]byte(input))
		ports, _ := discovery.ParseInterfaces([]byte(input))
		discovery.HasNeighbors([]byte(input))
		for _, n := range append(text, doc...) {
			if n.Interface == "" {
				t.Errorf("a neighbour without an interface: %+v", n)
			}
			key := discovery.InterfaceKey(n.Interface)
			if again := discovery.InterfaceKey(key); again != key {
				t.Errorf("the key of %q is %q, and that of the key %q", n.Interface, key, again)
			}
		}
		for _, p := range ports {
			if p.Name == "" {
				t.Errorf("an interface without a name: %+v", p)
			}
		}
		if len(discovery.Compare(text, nil)) > len(text) {
			t.Error("more differences than neighbours")
		}
	})
}

// TestNames: forms of one name have one key, and other names another one.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"Gi1/0/1", "GigabitEthernet1/0/1", "gigabitethernet 1/0/1", "Gig 1/0/1", "GE1/0/1"},
		{"Te1/1/3", "Ten 1/1/3", "TenGigabitEthernet1/1/3", "TenGigE1/1/3", "XGigabitEthernet1/1/3", "10GigabitEthernet1/1/3", "XGE1/1/3"},
		{"Twe1/0/1", "TwentyFiveGigE1/0/1"},
		{"Tw1/0/1", "TwoGigabitEthernet1/0/1"},
		{"Fou1/0/22", "FourHundredGigE1/0/22"},
		{"Fo1/0/22", "FortyGigabitEthernet1/0/22"},
		{"Hu0/0/1", "HundredGigE0/0/1"},
		{"Eth1/1", "Ethernet1/1", "Et1/1"},
		{"Po10", "port-channel10", "Port-channel 10"},
		{"ge-0/0/1", "GE-0/0/1"},
		{"mgmt0", "Management0"},
		{"1/1/2"},
		{"port1.0.1"},
		{"Vl10", "Vlan10"},
		{"Vlan100"},
	} {
		for i, name := range same {
			if got := discovery.InterfaceKey(name); got != discovery.InterfaceKey(same[0]) {
				t.Errorf("%d: the key of %q is %q, want %q", i, name, got, discovery.InterfaceKey(same[0]))
			}
		}
	}
	seen := map[string]string{}
	for _, name := range []string{"Gi1/0/1", "Te1/0/1", "Tw1/0/1", "Twe1/0/1", "Fo1/0/1", "Fou1/0/1", "Fi1/0/1", "Fif1/0/1", "Fa1/0/1", "Eth1/0/1", "ge-1/0/1", "1/0/1", "Gi1/0/11", "Po1", "Lo1", "Vl1", "Tu1"} {
		key := discovery.InterfaceKey(name)
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q have the key %q", name, other, key)
		}
		seen[key] = name
	}
	for mac, want := range map[string]string{
		"00:1A:2b:3C:4d:5e": "00:1a:2b:3c:4d:5e", "001a.2b3c.4d5e": "00:1a:2b:3c:4d:5e", "001A-2B3C-4D5E": "00:1a:2b:3c:4d:5e", "001a2b3c4d5e": "00:1a:2b:3c:4d:5e",
		"": "", "::": "", "172.16.4.125": "", "xx:xx:xx:xx:xx:xx": "", "001a.2b3c.4d5e.6f70": "",
	} {
		if got, ok := discovery.MAC(mac); got != want || ok != (want != "") {
			t.Errorf("the address %q is %q", mac, got)
		}
	}
	for pair, want := range map[[2]string]bool{
		{"core-1", "CORE-1.example.com"}: true, {"core-1.example.com(SSI123)", "core-1"}: true, {"core-1", "core-10"}: false,
		{"", ""}: false, {"core-1.a", "core-1.b"}: false, {"core-1.", "core-1"}: true,
	} {
		if discovery.SameHost(pair[0], pair[1]) != want || discovery.SameHost(pair[1], pair[0]) != want {
			t.Errorf("%q and %q: want %t", pair[0], pair[1], want)
		}
		if want && discovery.HostLabel(pair[0]) != discovery.HostLabel(pair[1]) {
			t.Errorf("%q and %q have other labels", pair[0], pair[1])
		}
	}
}

// TestCompare: each kind of difference, by names and addresses in any form.
func TestCompare(t *testing.T) {
	t.Parallel()
	expected := []discovery.Expected{
		{ID: "1", Interface: "GigabitEthernet1/0/1", Host: "core-1", Port: "GigabitEthernet0/1"},
		{ID: "2", Interface: "GigabitEthernet1/0/2", Host: "core-2", Port: "GigabitEthernet0/2"},
		{ID: "3", Interface: "GigabitEthernet1/0/3", Host: "core-3", MACs: []string{"00:1a:2b:3c:4d:5e"}, Port: "Ethernet3", PortMAC: "00:1a:2b:3c:4d:60"},
		{ID: "4", Interface: "GigabitEthernet1/0/4", Host: "core-4", Port: "GigabitEthernet0/4"},
		{ID: "5", Interface: "GigabitEthernet1/0/5", Host: "core-5", Port: "GigabitEthernet0/5"},
		{ID: "6", Interface: "GigabitEthernet1/0/6", Host: "core-6", Port: "GigabitEthernet0/6"},
		{ID: "7", Interface: "GigabitEthernet1/0/7", Host: "core-7", Port: "GigabitEthernet0/7"},
	}
	found := []discovery.Neighbor{
		{Interface: "Gi1/0/1", Name: "core-1.example.com", Port: "Gi0/1"},
		{Interface: "GigabitEthernet1/0/1", Name: "core-1", Port: "GigabitEthernet0/1"},                                       // the same by CDP
		{Interface: "Gi1/0/2", Name: "core-2", ChassisID: "0000.0000.0002", Port: "0000.0000.0007", PortDescription: "Gi0/2"}, // a port ID that is an address
		{Interface: "Gi1/0/3", ChassisID: "001a.2b3c.4d5e", Port: "001a.2b3c.4d60"},                                           // addresses only
		{Interface: "Gi1/0/5", Name: "core-5", Port: "Gi0/9"},
		{Interface: "Gi1/0/6", Name: "core-9", Port: "Gi0/6"},
		{Interface: "Gi1/0/7", Name: "core-9", Port: "Gi0/9"},
		{Interface: "Gi1/0/8", Name: "phone", Port: "Port 1"},
		{Interface: "GigabitEthernet1/0/8", Name: "PHONE", Port: "port 1"},
		{Interface: "Gi1/0/1", Name: "tap", Port: "1"},
	}
	var got []string
	for _, d := range discovery.Compare(found, expected) {
		line := string(d.Kind) + " " + d.Interface + " " + strings.Join(d.Fields, ",")
		if d.Expected != nil {
			line += " expected " + d.Expected.ID
		}
		if d.Found != nil {
			line += " found " + d.Found.Name
		}
		got = append(got, line)
	}
	want := []string{
		"unexpected Gi1/0/1  found tap",
		"missing GigabitEthernet1/0/4  expected 4",
		"different GigabitEthernet1/0/5 port expected 5 found core-5",
		"different GigabitEthernet1/0/6 neighbor expected 6 found core-9",
		"different GigabitEthernet1/0/7 neighbor,port expected 7 found core-9",
		"unexpected Gi1/0/8  found phone",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the differences are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if all := discovery.Compare(nil, nil); len(all) > 0 {
		t.Errorf("differences of nothing: %v", all)
	}
}
