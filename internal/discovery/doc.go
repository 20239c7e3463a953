// Package discovery reads what devices report about their neighbours, and compares it with what is
// expected. It imports the standard library only, knows no records, and polls nothing: others hand in
// the neighbour tables of LLDP and CDP, and tables of interfaces.
//
//	found, err := discovery.ParseText(output) // of "show lldp neighbors detail"
//	if err != nil {
//		return err
//	}
//	for _, d := range discovery.Compare(found, expected) {
//		fmt.Println(d.Interface, d.Kind, d.Fields)
//	}
//
// # Forms
//
// [ParseText] reads detailed outputs: LLDP and CDP of IOS, IOS XE, IOS XR and NX-OS, CDP of AireOS and ProCurve,
// and LLDP of EOS, VRP, Comware, AOS-CX, ProCurve, FastIron, NetIron, AlliedWare Plus, Alcatel AOS, PAN-OS and
// FortiSwitch. It reads tables, such as those of "show lldp neighbors": LLDP and CDP of IOS and NX-OS, and LLDP of
// IOS XR, EOS, Junos, Comware, ProCurve, FastIron, OcNOS, ICOS and Cisco S300. Refused are outputs without local
// interfaces, as some versions of IOS have them, and those of the ports of the device itself. [ParseJSON] reads the
// parsed tables of ntc-templates, and those of NAPALM (get_lldp_neighbors, get_lldp_neighbors_detail).
// [ParseInterfaces] reads the parsed tables of interfaces of both.
//
// # Names
//
// Devices abbreviate names, so names are compared by keys: Gi1/0/1 is GigabitEthernet1/0/1
// ([InterfaceKey]), 001a.2b3c.4d5e is 00:1a:2b:3c:4d:5e ([MAC]), and core-1.example.com is core-1
// ([SameHost]). A table that has cut a name has its beginning. The description has the name of a port whose ID is
// cut, a number or a MAC address ([Neighbor.PortNames]).
package discovery
