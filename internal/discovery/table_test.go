package discovery_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/errtest"
)

// TestForms: what each form says about neighbours, in the order local interface, name, chassis, port,
// description, address.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"IOS, CDP", `
Capability Codes: R - Router, S - Switch, H - Host, P - Phone

Device ID        Local Intrfce     Holdtme    Capability  Platform  Port ID
edge-1           Gig 1/0/3         143              R S I  X-9000   Fas 0/0
lobby            Gig 1/0/4         121               H P   IP Phone  Port 1
a-name-that-is-long.example.com
                 Ten 1/1/1         170             R S I  X-9300-24 Ten 1/1/7
edge-2           Ten 1/1/2         99                R    X5610-52  0/47

Total cdp entries displayed : 4
`, "Gig 1/0/3,edge-1,,Fas 0/0,,|Gig 1/0/4,lobby,,Port 1,,|Ten 1/1/1,a-name-that-is-long.example.com,,Ten 1/1/7,,|Ten 1/1/2,edge-2,,0/47,,"},
		{"IOS, CDP without its blanks", `
Device ID Local Intrfce Holdtme Capability Platform Port ID
lobby Gig 1/0/4 121 H P IP Phone Port 1
router.example.com
Gig 1/0/5 134 R S X2911 Gig 0/0
`, "Gig 1/0/4,lobby,,Port 1,,|Gig 1/0/5,router.example.com,,Gig 0/0,,"},
		{"IOS, LLDP", `
Device ID           Local Intf     Hold-time  Capability      Port ID
edge-1              Gi0/13         120        B,R             Gi0/2
Meeting Room 500    Gi1/0/2        120        T               02ab.0000.0001
sensor              Gi1/0/6        110                        Port 6
02ab.0000.0002      Gi1/0/7        110                        531
warehouse-floor-two-Gi1/0/8        110        R               Gi0/0

Total entries displayed: 5
`, "Gi0/13,edge-1,,Gi0/2,,|Gi1/0/2,Meeting Room 500,,02ab.0000.0001,,|Gi1/0/6,sensor,,Port 6,,|" +
			"Gi1/0/7,02ab.0000.0002,02ab.0000.0002,531,,|Gi1/0/8,warehouse-floor-two-,,Gi0/0,,"},
		{"NX-OS, two commands", `
core-1# show cdp neighbors
Device-ID          Local Intrfce  Hldtme Capability  Platform      Port ID
oob-1               mgmt0          179    R S I     X-3750        Fas1/0/9
leaf-2.example.com(ABC1234)
                    Eth1/1         133    R S s     N-9396        Eth1/1
core-1# show lldp neighbors
Device ID            Local Intf      Hold-time  Capability  Port ID
firewall-one 
                     Eth1/5          120                     ethernet1/9
leaf-3.example.com  Eth3/1          120        BR           Fo1/0/8
Total entries displayed: 2
core-1#`, "mgmt0,oob-1,,Fas1/0/9,,|Eth1/1,leaf-2.example.com(ABC1234),,Eth1/1,,|Eth1/5,firewall-one,,ethernet1/9,,|Eth3/1,leaf-3.example.com,,Fo1/0/8,,"},
		{"NX-OS, narrow columns", `
Device-ID             Local Intrfce Hldtme Capability  Platform         Port ID
server-1.example.com
                   Eth1/1/1       109    H         Linux              eth9
`, "Eth1/1/1,server-1.example.com,,eth9,,"},
		{"NX-OS, details after titles", `
Device ID            Local Intf      Hold-time  Capability  Port ID

Chassis id: 02ab.0000.0001
Port id: Eth1/9
Local Port id: mgmt0
System Name: oob-1
`, "mgmt0,oob-1,02ab.0000.0001,Eth1/9,,"},
		{"EOS", `
Port       Neighbor Device ID             Neighbor Port ID           TTL
Et1        spine-1.example.com            Ethernet3/2                120
Ma1        oob-1                          1/1                        120
`, "Et1,spine-1.example.com,,Ethernet3/2,,|Ma1,oob-1,,1/1,,"},
		{"EOS, a ruler", `
Port          Neighbor Device ID       Neighbor Port ID    TTL
---------- ------------------------ ---------------------- ---
Et2           spine-2                  Ethernet2           120
`, "Et2,spine-2,,Ethernet2,,"},
		{"EOS, details", `
Interface Ethernet1 detected 2 LLDP neighbors:

  Neighbor 02ab.0000.0001/"Ethernet7", age 12 seconds
  - Chassis ID type: MAC address (4)
    Chassis ID     : 02ab.0000.0001
  - Port ID type: Interface name (5)
    Port ID     : "Ethernet7"
  - Port Description: "to edge-1"
  - System Name: "spine-1"
  - Management Address Subtype: IPv4 (1)
    Management Address        : 192.0.2.7
  - IEEE802.1/IEEE802.3 Link Aggregation
    Port ID                : 0

  Neighbor 02ab.0000.0002/02ab.0000.0003, age 3 seconds
  - Chassis ID type: MAC address (4)
    Chassis ID     : 02ab.0000.0002
    Port ID     : 02ab.0000.0003

Interface Ethernet2 detected 0 LLDP neighbors:
`, "Ethernet1,spine-1,02ab.0000.0001,Ethernet7,to edge-1,192.0.2.7|Ethernet1,,02ab.0000.0002,02ab.0000.0003,,"},
		{"Junos", `
Local Interface    Parent Interface    Chassis Id          Port info          System Name
ge-0/0/1           -                   02:ab:00:00:00:01   ge-0/0/7           edge-1
xe-0/1/1           ae7                 02:ab:00:00:00:02   531                spine-1
`, "ge-0/0/1,edge-1,02:ab:00:00:00:01,ge-0/0/7,,|xe-0/1/1,spine-1,02:ab:00:00:00:02,531,,"},
		{"ICOS", `
Local
Interface  RemID   Chassis ID            Port ID             System Name
--------- -------  --------------------  ------------------  ------------------
0/1        17      02:AB:00:00:00:01     Gi0                 warehouse-floo ...
0/2
`, "0/1,warehouse-floo,02:AB:00:00:00:01,Gi0,,"},
		{"ProCurve", `
  LocalPort | ChassisId          PortId             PortDescr SysName           
  --------- + ------------------ ------------------ --------- ------------------
  1         | 02ab00-000001      1                  1         edge-1
  3         | 02ab00-000002      02 ab 00 00 00 03
`, "1,edge-1,02ab00-000001,1,1,|3,,02ab00-000002,02 ab 00 00 00 03,,"},
		{"ProCurve, details", `
  Local Port   : A8
  ChassisType  : mac-address
  ChassisId    : 02ab00-000001
  PortId       : 02 ab 00 00 00 01
  SysName      : ap-1
  PortDescr    : bond0
  Remote Management Address
     Type    : ipv4
     Address : 192.0.2.41
`, "A8,ap-1,02ab00-000001,02 ab 00 00 00 01,bond0,192.0.2.41"},
		{"ProCurve, CDP", `
  Port : 1
  Device ID : ap-1
  Address      : 192.0.2.16
  Device Port  : ge1

  Port : 1
  Device ID : 02 ab 00 00 00 01
  Device Port  : ge2
`, "1,ap-1,,ge1,,192.0.2.16|1,02 ab 00 00 00 01,02 ab 00 00 00 01,ge2,,"},
		{"OcNOS", `
LocalPort    RemoteDevice     RemotePortID    Capability    RemotePortDescr
-----------  ---------------  --------------  ------------  -----------------
Ethernet0    spine-1          fortyGigE0/20   BR            Ethernet20
`, "Ethernet0,spine-1,,fortyGigE0/20,Ethernet20,"},
		{"Comware, a name on two lines", `
System Name          Local Interface Chassis ID      Port ID
phone-in-the-lobby.e GE1/0/24        192.0.2.3       02AB00000001:P1
xample.com
-                    GE2/0/45        02ab-0000-0002  Port 1
`, "GE1/0/24,phone-in-the-lobby.example.com,192.0.2.3,02AB00000001:P1,,|GE2/0/45,,02ab-0000-0002,Port 1,,"},
		{"Comware, details", `
LLDP neighbor-information of port 1[Ten-GigabitEthernet1/0/0/1]:
LLDP agent nearest-bridge:
 LLDP neighbor index : 1
 Chassis ID          : 02ab-0000-0001
 Port ID             : GigabitEthernet0/0/1
 System name         : edge-1
`, "Ten-GigabitEthernet1/0/0/1,edge-1,02ab-0000-0001,GigabitEthernet0/0/1,,"},
		{"S300, values on several lines", `
  Port        Device ID        Port ID       System Name    Capabilities  TTL
--------- ----------------- ------------- ----------------- ------------ -----
gi10      02:ab:00:00:00:01 02:ab:00:00:0                        O       3482
                            0:01
gi21      02:ab:00:00:00:02      Gi0      meeting-room-ap-1      B        105
                                          .example.com
`, "gi10,,02:ab:00:00:00:01,02:ab:00:00:00:01,,|gi21,meeting-room-ap-1.example.com,02:ab:00:00:00:02,Gi0,,"},
		{"AOS-CX", `
Port                           : 1/1/1
Neighbor Chassis-Name          : ap-1
Neighbor Chassis-ID            : 02:ab:00:00:00:01
Neighbor Management-Address    : 192.0.2.12
Neighbor Port-ID               : 02:ab:00:00:00:01
Neighbor Port-Desc             : eth0
`, "1/1/1,ap-1,02:ab:00:00:00:01,02:ab:00:00:00:01,eth0,192.0.2.12"},
		{"Alcatel", `
Remote LLDP nearest-bridge Agents on Local Port 1/1/1:

    Chassis 02:ab:00:00:00:01, Port 1025:
      Remote ID                   = 1,
      Port Description            = GNI 1/1/4,
      System Name                 = edge-1,
      Management IP Address       = 192.0.2.1

    Chassis 02:ab:00:00:00:02, Port uplink:
      System Name                 = (null),
`, "1/1/1,edge-1,02:ab:00:00:00:01,1025,GNI 1/1/4,192.0.2.1|1/1/1,,02:ab:00:00:00:02,uplink,,"},
		{"PAN-OS", `
Local information:
Local interface: ethernet1/11
Local Port ID: 11
Neighbor information:

Chassis ID: 02:ab:00:00:00:01
Port ID: 1/1/4
System name: edge-1

Local information:
Local interface: ethernet1/12
Local Port ID: 12
Neighbor information:
`, "ethernet1/11,edge-1,02:ab:00:00:00:01,1/1/4,,"},
		{"FortiSwitch", `
1 port: 6
1 port.txt: lan1
1 chassis.data: 02:ab:00:00:00:01
1 port.id.data: GigabitEthernet1/0/5
1 system.name.data: edge-1
1 address.1.addr: 192.0.2.1
`, "lan1,edge-1,02:ab:00:00:00:01,GigabitEthernet1/0/5,,192.0.2.1"},
		{"XR, CDP", `
Device ID: edge-1.example.com(ABC123)
SysName : edge-1
Entry address(es):
  IPv4 address: 192.0.2.54
Interface: MgmtEth0/RSP0/CPU0/0
Port ID (outgoing port): GigabitEthernet1/9
`, "MgmtEth0/RSP0/CPU0/0,edge-1,,GigabitEthernet1/9,,192.0.2.54"},
		{"titles alone", "Port  Neighbor Device ID  Neighbor Port ID  TTL\n", ""},
		{"nothing heard", "GE1/0/1 has 0 neighbors\n\nGE1/0/2 has 0 neighbors\n", ""},
	} {
		found, err := discovery.ParseText(strings.ReplaceAll(c.text, "\n", "\r\n"))
		var lines []string
		for _, n := range found {
			lines = append(lines, strings.Join([]string{n.Interface, n.Name, n.ChassisID, n.Port, n.PortDescription, n.Address}, ","))
		}
		if got := strings.Join(lines, "|"); err != nil || got != c.want {
			t.Errorf("%s: %v\n%s, want\n%s", c.name, err, got, c.want)
		}
	}
	ios := "Device ID           Local Intf     Hold-time  Capability      Port ID\n"
	for text, want := range map[string]string{
		"AP Name  AP IP  Neighbor Name  Neighbor IP  Neighbor Port\nap-1  192.0.2.1  edge-1  192.0.2.2  Gi1/0/1\n": "line 1: table local interface",
		ios + "edge-1 and more\nedge-2              Gi0/13         120        B,R             Gi0/2\n":             "line 3: columns",
		ios + "edge-1\nedge-2\n":                        "line 3: columns",
		ios + "edge-1\n":                                "columns",
		"LocalPort  ChassisId  PortId\n1      02ab00":   "line 2: columns",
		"LocalPort  ChassisId  PortId\n              2": "line 2: columns",
	} {
		if _, err := discovery.ParseText(text); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("%.60q: the error is %v, want %s", text, err, want)
		}
	}
}

// TestPortNames: the description has the name of a port whose ID is no whole name.
func TestPortNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		port, description string
		want              []string
	}{
		{"Ten-GigabitEther", "Ten-GigabitEthernet1/0/49 Interface", []string{"Ten-GigabitEthernet1/0/49"}},
		{"TenGigabitEthernet1/", "TenGigabitEthernet1/0/49", []string{"TenGigabitEthernet1/0/49"}},
		{"35684352", `1/1/c1/1, 10-Gig Ethernet, "to leaf"`, []string{"1/1/c1/1"}},
		{"02ab.0000.0001", "GNI 1/1/4", []string{"1/1/4"}},
		{"GigabitEthernet0/0/5", "HUAWEI, GigabitEthernet0/0/5 Interface", []string{"GigabitEthernet0/0/5"}},
		{"Gi0/1", "to edge-1 Gi0/7", nil},
		{"1/1/4", "uplink 1/17", nil},
		{"", "", nil},
	} {
		n := discovery.Neighbor{Port: c.port, PortDescription: c.description}
		got := n.PortNames()
		if c.port != "" && (len(got) < 2 || got[0] != c.port || got[1] != c.description) {
			t.Errorf("%s, %s: the first names are %q", c.port, c.description, got)
		}
		for _, word := range strings.FieldsFunc(c.description, func(r rune) bool { return r == ' ' || r == ',' }) {
			if strings.Contains(word, "/") && slices.Contains(got, word) != slices.Contains(c.want, word) {
				t.Errorf("%s, %s: %q, want %q", c.port, c.description, got, c.want)
			}
		}
	}
}

// TestCutNames: the beginning of a name that fills its column is no other neighbour.
func TestCutNames(t *testing.T) {
	t.Parallel()
	found, err := discovery.ParseText("Device ID           Local Intf     Hold-time  Capability      Port ID\n" +
		"warehouse-floor-two-Gi1/0/8        110        R               Gi0/0\n")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"warehouse-floor-two-b.example.com": 0, "warehouse-floor-one-b": 1} {
		expected := []discovery.Expected{{Interface: "GigabitEthernet1/0/8", Host: host, Port: "GigabitEthernet0/0"}}
		if all := discovery.Compare(found, expected); len(all) != want {
			t.Errorf("%s: %+v, want %d differences", host, all, want)
		}
	}
}
