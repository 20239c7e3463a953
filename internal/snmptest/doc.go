// Package snmptest starts SNMP agents for tests: the snmpd of Net-SNMP, and agents that answer from values
// of a test.
//
//	agent := snmptest.Start(t, "rocommunity secret", "sysName core-1")
//	addr := snmptest.Serve(t, snmptest.Values("secret", snmptest.Text("1.3.6.1.2.1.1.5.0", "core-1")))
//
// Agents listen on free UDP ports of the loopback interface and end with the test. If snmpd is not on the
// PATH, a test of it is skipped, or fails if ASHLAR_REQUIRE_SERVICES is 1.
//
// # Design notes
//
// A real agent shows that requests and credentials are understood. It has few objects of switches and never
// breaks the protocol, which the second kind is for.
package snmptest
