package collect_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/snmptest"
)

// TestSwitch reads a switch with all MIBs. Package discovery parses its tables.
func TestSwitch(t *testing.T) {
	t.Parallel()
	r, err := collectFrom(t, snmptest.Serve(t, snmptest.Values(community, switchValues()...)), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"access-1", "Example OS 15.2", "1.3.6.1.4.1.9.1.2", "room 4"}, []string{r.Name, r.Description, r.ObjectID, r.Location})
	require.Equal(t, []string{"Cisco", "WS-C2960X-48FPD-L", "FOC1234X0AB", "15.2(7)E"}, []string{r.Vendor, r.Model, r.SerialNumber, r.SoftwareVersion})
	require.Empty(t, r.Absent)

	tables := r.Tables()
	require.Len(t, tables, 2)
	ports, err := discovery.ParseInterfaces(rowsOf(t, tables[0], "interfaces"))
	require.NoError(t, err)
	require.Equal(t, []discovery.Port{
		{Name: "Gi1/0/1", Description: "to core [2J 1", MAC: "00:1a:2b:3c:4d:01", MTU: 9198, State: "up"},
		{Name: "Gi1/0/2", State: "down"},
		{Name: "Gi1/0/3", MAC: "00:1a:2b:3c:4d:03", State: "down"},
		{Name: "Port-channel1"},
	}, ports)
	neighbors, err := discovery.ParseJSON(rowsOf(t, tables[1], "neighbors"))
	require.NoError(t, err)
	require.Equal(t, []discovery.Neighbor{
		{Interface: "Port-channel1", Name: "core-3", ChassisID: "00:1a:2b:3c:4d:61", Port: "Eth1/4"},
		{Interface: "Gi1/0/1", Name: "core-1.example.com", ChassisID: "00:1a:2b:3c:4d:5e", Port: "Ethernet1/2", Address: "192.0.2.11"},
		{Interface: "Gi1/0/2", ChassisID: "192.0.2.12", Port: "00:1a:2b:3c:4d:60", PortDescription: "eth0", Address: "2001:db8::1"},
		{Interface: "Gi1/0/3", Name: "phone", ChassisID: "0102ff", Port: "phone", PortDescription: "SW PORT"},
		{Interface: "Port-channel1", Name: "core-2", ChassisID: "00:1a:2b:3c:4d:5f", Port: "Eth1/3"},
		{Interface: "999", Name: "core-4", ChassisID: "00:1a:2b:3c:4d:62", Port: "Eth1/5"},
	}, neighbors)

	speeds := []int64{}
	for _, i := range r.Interfaces {
		speeds = append(speeds, i.SpeedMbps)
	}
	require.Equal(t, []int64{10_000, 100, 0, 0}, speeds)
}

// rowsOf returns the rows of a table as JSON.
func rowsOf(t *testing.T, table collect.Table, kind string) []byte {
	t.Helper()
	require.Equal(t, "access-1", table.Device)
	require.Equal(t, kind, table.Kind)
	doc, err := json.Marshal(table.Rows)
	require.NoError(t, err)
	return doc
}

// TestAbsent: a device without a MIB has no table of it, because an empty one would say that everything is
// missing; one that has the MIB and hears nobody has an empty one.
func TestAbsent(t *testing.T) {
	t.Parallel()
	r, err := collectFrom(t, snmptest.Serve(t, snmptest.Values(community, system("")...)), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"IF-MIB", "LLDP-MIB", "ENTITY-MIB"}, r.Absent)
	require.Empty(t, r.Tables())
	require.Equal(t, "127.0.0.1", r.DeviceName())

	alone := append(system("alone"), number(locPort+"2.1", 5), text(locPort+"3.1", "1"))
	r, err = collectFrom(t, snmptest.Serve(t, snmptest.Values(community, alone...)), nil)
	require.NoError(t, err)
	require.Equal(t, []collect.Table{{Device: "alone", Kind: "neighbors", Protocol: "lldp", Rows: []collect.NeighborRow{}}}, r.Tables())
}

// TestAgent reads a real agent with SNMPv2c, and with SNMPv3 by several protocols.
func TestAgent(t *testing.T) {
	t.Parallel()
	agent := snmptest.Start(
		t, "rocommunity "+community, "sysName server-1", "sysLocation room 4",
		`createUser ann SHA-256 "authentication" AES "privacy words"`, "rouser ann priv",
		`createUser bob SHA "authentication" DES "privacy words"`, "rouser bob priv",
		`createUser joe SHA-512 "authentication"`, "rouser joe auth",
	)
	for name, credentials := range map[string]collect.Credentials{
		"community":          {Community: community},
		"SHA-256 and AES":    {User: "ann", AuthPassphrase: "authentication", PrivPassphrase: "privacy words"},
		"SHA and DES":        {User: "bob", AuthProtocol: "sha", AuthPassphrase: "authentication", PrivProtocol: "DES", PrivPassphrase: "privacy words"},
		"SHA-512 without it": {User: "joe", AuthProtocol: "SHA-512", AuthPassphrase: "authentication"},
	} {
		r, err := newCollector(t, credentials, nil).Collect(t.Context(), agent.Addr)
		require.NoError(t, err, name)
		require.Equal(t, "server-1", r.Name, name)
		require.Equal(t, "room 4", r.Location, name)
		require.Contains(t, r.Absent, "LLDP-MIB", name)
		lo := r.Interfaces[0]
		require.Equal(t, []any{"lo", "up", "up", int64(24), int64(65536)}, []any{lo.Name, lo.AdminStatus, lo.OperStatus, lo.Type, lo.MTU}, name)
	}
	short := &collect.Options{Timeout: netTimeout, Retries: 0}
	for _, c := range []struct {
		want        string
		credentials collect.Credentials
	}{
		{"1 300ms address credentials", collect.Credentials{Community: "wrong-secret"}},
		{"user protocols phrases", collect.Credentials{User: "eve", AuthPassphrase: "authentication", PrivPassphrase: "privacy words"}},
		{"user protocols phrases", collect.Credentials{User: "ann", AuthPassphrase: "wrong-secret", PrivPassphrase: "privacy words"}},
		{"no response to 1 requests", collect.Credentials{User: "ann", AuthPassphrase: "authentication", PrivPassphrase: "wrong-secret"}},
		{"refuses access", collect.Credentials{User: "ann", AuthPassphrase: "authentication"}},
	} {
		_, err := newCollector(t, c.credentials, short).Collect(t.Context(), agent.Addr)
		errtest.Want(t, err, c.want)
		require.NotContains(t, err.Error(), "wrong-secret")
	}
	addr := agent.Addr
	agent.Kill()
	_, err := collectFrom(t, addr, short)
	require.ErrorContains(t, err, "refused")
}

// TestAll reads each device once, and reports one at a time.
func TestAll(t *testing.T) {
	t.Parallel()
	var targets []string
	for range 8 {
		targets = append(targets, snmptest.Serve(t, snmptest.Values(community, system("x")...)))
	}
	targets = append(targets, "a b")
	c := newCollector(t, collect.Credentials{Community: community}, &collect.Options{Concurrency: 3})
	seen := map[string]int{}
	var inside atomic.Int32
	require.NoError(t, c.All(t.Context(), targets, func(target string, r *collect.Result, err error) error {
		assert.Equal(t, int32(1), inside.Add(1), "one call at a time")
		defer inside.Add(-1)
		assert.Equal(t, target == "a b", err != nil)
		assert.Equal(t, target == "a b", r == nil)
		seen[target]++
		return nil
	}))
	require.Len(t, seen, len(targets))

	full := errors.New("the disk is full")
	calls := 0
	require.ErrorIs(t, c.All(t.Context(), targets, func(string, *collect.Result, error) error { calls++; return full }), full)
	require.Equal(t, 1, calls)
}

// TestRecords: rows of an import leave out what is not known.
func TestRecords(t *testing.T) {
	t.Parallel()
	r, err := collectFrom(t, snmptest.Serve(t, snmptest.Values(community, switchValues()...)), nil)
	require.NoError(t, err)
	var lines []string
	for _, row := range r.Records() {
		doc, err := json.Marshal(row)
		require.NoError(t, err)
		lines = append(lines, string(doc))
	}
	require.Equal(t, []string{
		`{"_resource":"devices","hostname":"access-1","ip":"127.0.0.1","vendor":"Cisco","model":"WS-C2960X-48FPD-L","os_version":"15.2(7)E","serial_number":"FOC1234X0AB"}`,
		`{"_resource":"interfaces","device":"access-1","name":"Gi1/0/1","description":"to core [2J 1","admin_status":"up","oper_status":"up","speed_mbps":10000,"mtu":9198,"mac_address":"00:1a:2b:3c:4d:01","ifindex":1}`,
		`{"_resource":"interfaces","device":"access-1","name":"Gi1/0/2","admin_status":"down","oper_status":"down","speed_mbps":100,"ifindex":2}`,
		`{"_resource":"interfaces","device":"access-1","name":"Gi1/0/3","oper_status":"lowerlayerdown","mac_address":"00:1a:2b:3c:4d:03","ifindex":3}`,
		`{"_resource":"interfaces","device":"access-1","name":"Port-channel1","type":"lag","oper_status":"dormant","ifindex":10}`,
	}, lines)
}

// TestInterfaceNames: names are unique, by ifDescr or else the ifIndex, and no longer than those of the inventory.
// Interfaces without a name are counted; if none has one, there is no table.
func TestInterfaceNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Network Adapter ", 10)
	values := append(
		system("host-1"), text(ifDescr+"1", "loopback one"), text(ifDescr+"4", "LO 0"), text(ifDescr+"6", long), text(ifDescr+"7", long), text(ifDescr+"8", ""),
		text(ifX+"1.1", "lo0"), text(ifX+"1.2", "lo0"), text(ifX+"1.3", "LO0"), text(ifX+"1.4", "lo0"), text(ifX+"1.5", "loopback0"),
	)
	values = append(values, text(ifX+"1.9", "lo0"), text(ifDescr+"9", "lo nine"))
	r, err := collectFrom(t, snmptest.Serve(t, snmptest.Values(community, values...)), nil)
	require.NoError(t, err)
	var names []string
	for _, i := range r.Interfaces {
		names = append(names, i.Name)
	}
	cut := strings.TrimSpace(long)[:100]
	require.Equal(t, []string{"lo0", "lo0 (2)", "LO0 (3)", "lo0 (4)", "loopback0 (5)", cut, cut[:95] + " (7)", "lo nine"}, names)
	require.Equal(t, 1, r.Unnamed)

	r, err = collectFrom(t, snmptest.Serve(t, snmptest.Values(community, append(system("host-2"), text(ifDescr+"1", ""), text(ifDescr+"2", ""))...)), nil)
	require.NoError(t, err)
	require.Equal(t, 2, r.Unnamed)
	require.Empty(t, r.Tables())
}

// TestParseTarget: the forms of targets.
func TestParseTarget(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]netip.AddrPort{
		"192.0.2.1": netip.MustParseAddrPort("192.0.2.1:161"), "192.0.2.1:1161": netip.MustParseAddrPort("192.0.2.1:1161"),
		"2001:db8::1": netip.MustParseAddrPort("[2001:db8::1]:161"), "[2001:db8::1]:99": netip.MustParseAddrPort("[2001:db8::1]:99"),
	} {
		host, port, err := collect.ParseTarget(target)
		require.NoError(t, err)
		require.Equal(t, want, netip.AddrPortFrom(netip.MustParseAddr(host), port))
	}
	for target, want := range map[string]string{
		"": `""`, ":161": `":161"`, "a:b": `"a:b" port number`,
		"a:0": "the port must be", "a:65536": "the port must be", "a:1:2": "use host, host:port or [address]:port", "http://a": "the port must be", "a/b": "use a host name",
		"a b": "blanks", "\x1b": `target "\x1b"`,
	} {
		_, _, err := collect.ParseTarget(target)
		errtest.Want(t, err, want)
	}
}

// TestCredentials: what is invalid, without secrets in the errors.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]collect.Credentials{
		"credentials are missing":            {},
		"a community and a user":             {Community: "hunter2", User: "ann"},
		"without a user":                     {Community: "hunter2", AuthPassphrase: "hunter2hunter2"},
		"authentication is shorter than 8":   {User: "ann", AuthPassphrase: "hunter2"},
		"privacy without one for":            {User: "ann", PrivPassphrase: "hunter2hunter2"},
		`unknown authentication protocol`:    {User: "ann", AuthProtocol: "rot13", AuthPassphrase: "hunter2hunter2"},
		`unknown privacy protocol "caesar"`:  {User: "ann", AuthPassphrase: "hunter2hunter2", PrivProtocol: "caesar", PrivPassphrase: "hunter2hunter2"},
		"authentication protocol without a":  {User: "ann", AuthProtocol: "sha"},
		"use aes, aes128, aes192, aes192c, ": {User: "ann", PrivProtocol: "?"},
	} {
		_, err := collect.New(c, collect.Defaults())
		errtest.Want(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := collect.New(collect.Credentials{Community: community}, collect.Options{Concurrency: 257, Retries: -2})
	require.ErrorContains(t, err, "-concurrency is 257: use 1 to 256")
	require.ErrorContains(t, err, "-retries is -2")
}
