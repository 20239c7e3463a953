// Command inventory-collect reads the interfaces, LLDP neighbours and hardware of network devices over
// SNMP once, and prints them for the network inventory:
//
//	export SNMP_COMMUNITY=...
//	inventory-collect 192.0.2.1 core-2.example.com:1161
//	inventory-collect -targets devices.txt -output tables.json
//	inventory-collect -targets devices.txt -format jsonl -output collected.jsonl
//
// -format json prints the tables of interfaces and neighbours as a body for POST /drift. -format jsonl prints
// rows of devices and interfaces for POST /import and inventoryd import. Devices are printed in the order in
// which they finish.
//
// Targets are arguments or the lines of a file: host, host:port, or [address]:port, with comments after #.
//
// # Credentials
//
// SNMPv2c needs a community: SNMP_COMMUNITY, or the file that -community-file names. SNMPv3 needs a
// user: SNMP_USER, SNMP_AUTH_PROTOCOL (md5, sha, sha224, sha256, sha384, sha512; default sha256),
// SNMP_AUTH_PASSPHRASE, SNMP_PRIV_PROTOCOL (des, aes, aes192, aes256, aes192c, aes256c; default aes) and
// SNMP_PRIV_PASSPHRASE. They are environment variables, or lines NAME=value of the file that
// -credentials-file names, which then has all of them. Other users must not be able to read these files
// (mode 0600). There are no flags for secrets, because other users can read the command lines of processes.
//
// # Failures
//
// A device that fails is reported on standard error with the reason, and the others are printed. The exit
// code is then 1. MIBs that a device does not have are reported there too, and are no failure; neither are interfaces
// without a name, nor a serial number that another device has, which are left out. Two devices with one name are a
// failure of the second one, because the inventory would take them for one device.
// Invalid flags, targets and credentials exit with 2.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("inventory-collect", run) }
