// Package collect reads the interfaces, LLDP neighbours and hardware of network devices over SNMP, once for
// each call. It stores nothing and polls nothing by itself.
//
//	c, err := collect.New(collect.Credentials{Community: community}, collect.Defaults())
//	if err != nil {
//		return err
//	}
//	r, err := c.Collect(ctx, "192.0.2.1")
//	if err != nil {
//		return err
//	}
//	for _, table := range r.Tables() {
//		fmt.Println(table.Device, table.Kind)
//	}
//
// # What is read
//
// The system group and ifTable (RFC 1213, RFC 2863), ifXTable (RFC 2863), the tables of local ports, remote
// systems and their management addresses of LLDP-MIB (IEEE 802.1AB), and the chassis in ENTITY-MIB (RFC 6933).
// A MIB that a device does not have is listed in [Result.Absent]; it is no error.
//
// [Result.Tables] returns tables with the field names of ntc-templates, which package discovery parses.
// [Result.Records] returns rows for package importer.
//
// # Bounds
//
// A device can not make the collector wait or grow without end: the time and the number of attempts of a
// request, the time for a device, the rows of a table, the length of a string and the size of all values
// are bounded, and the indexes of a table must increase. Which bound was exceeded is in the error. A
// device has a whole result or none, because a part of a table looks like missing interfaces.
//
// # Design notes
//
// Tables are read by columns with GETBULK. The walk of the client library is not used: it takes an error
// response for the end of a table.
//
// Strings of devices are untrusted: bytes that are not UTF-8 and control characters become spaces.
//
// SNMPv1 is not supported: it has no GETBULK and no 64-bit counters, and devices that speak it alone have
// no LLDP-MIB.
package collect
