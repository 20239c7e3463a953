package collect_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/gosnmp/gosnmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
	"github.com/ashlar-go/ashlar/internal/snmptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const community = "lab-secret"

// newCollector returns a collector, with the defaults for nil and for values that are 0, but for Retries.
func newCollector(t *testing.T, credentials collect.Credentials, opts *collect.Options) *collect.Collector {
	t.Helper()
	o := collect.Defaults()
	if opts != nil {
		o.Timeout, o.DeviceTime, o.Retries = cmp.Or(opts.Timeout, o.Timeout), cmp.Or(opts.DeviceTime, o.DeviceTime), opts.Retries
		o.Concurrency, o.MaxRows = cmp.Or(opts.Concurrency, o.Concurrency), cmp.Or(opts.MaxRows, o.MaxRows)
	}
	c, err := collect.New(credentials, o)
	require.NoError(t, err)
	return c
}

// collectFrom reads an agent by SNMPv2c.
func collectFrom(t *testing.T, addr string, opts *collect.Options) (*collect.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return newCollector(t, collect.Credentials{Community: community}, opts).Collect(ctx, addr)
}

const (
	ifDescr = "1.3.6.1.2.1.2.2.1.2."
	ifTable = "1.3.6.1.2.1.2.2.1."
	ifX     = "1.3.6.1.2.1.31.1.1.1."
	locPort = "1.0.8802.1.1.2.1.3.7.1."
	remote  = "1.0.8802.1.1.2.1.4.1.1."
	address = "1.0.8802.1.1.2.1.4.2.1.3."
	entity  = "1.3.6.1.2.1.47.1.1.1.1."
)

var (
	text   = snmptest.Text
	number = snmptest.Number
)

// system are the objects of the system group.
func system(name string) []gosnmp.SnmpPDU {
	return []gosnmp.SnmpPDU{
		text("1.3.6.1.2.1.1.1.0", "Example OS\r\n15.2"),
		{Name: "1.3.6.1.2.1.1.2.0", Type: gosnmp.ObjectIdentifier, Value: "1.3.6.1.4.1.9.1.2"},
		text("1.3.6.1.2.1.1.5.0", name), text("1.3.6.1.2.1.1.6.0", "room 4"),
	}
}

// switchValues are the objects of a switch with neighbours. Its ports are known to LLDP in different ways.
func switchValues() []gosnmp.SnmpPDU {
	gauge := func(oid string, n uint32) gosnmp.SnmpPDU {
		return gosnmp.SnmpPDU{Name: oid, Type: gosnmp.Gauge32, Value: n}
	}
	values := append(
		system("access-1"),
		text(ifDescr+"1", "GigabitEthernet1/0/1"), text(ifDescr+"2", "GigabitEthernet1/0/2"), text(ifDescr+"3", "GigabitEthernet1/0/3"),
		text(ifDescr+"10", "Port-channel1"), text(ifDescr+"11", "\x00"),
		number(ifTable+"3.1", 6), number(ifTable+"3.10", 161),
		number(ifTable+"4.1", 9198), number(ifTable+"4.10", 0),
		gauge(ifTable+"5.1", 4294967295), gauge(ifTable+"5.2", 100_000_000),
		text(ifTable+"6.1", "\x00\x1a\x2b\x3c\x4d\x01"), text(ifTable+"6.3", "\x00\x1a\x2b\x3c\x4d\x03"), text(ifTable+"6.10", "\x00\x00\x00\x00\x00\x00"),
		number(ifTable+"7.1", 1), number(ifTable+"7.2", 2), number(ifTable+"7.10", 9),
		number(ifTable+"8.1", 1), number(ifTable+"8.2", 2), number(ifTable+"8.3", 7), number(ifTable+"8.10", 5),
		text(ifX+"1.1", "Gi1/0/1"), text(ifX+"1.2", "Gi1/0/2"), text(ifX+"1.3", "Gi1/0/3"),
		gauge(ifX+"15.1", 10_000), gauge(ifX+"15.2", 0),
		text(ifX+"18.1", "to core\x1b[2J \xff1"),
		// LLDP: the name, the ifIndex as a local ID, an address, the name as the description, the number of the port.
		number(locPort+"2.101", 5), text(locPort+"3.101", "Gi1/0/1"), text(locPort+"4.101", "GigabitEthernet1/0/1"),
		number(locPort+"2.102", 7), text(locPort+"3.102", "2"), text(locPort+"4.102", "uplink"),
		number(locPort+"2.103", 3), text(locPort+"3.103", "\x00\x1a\x2b\x3c\x4d\x03"), text(locPort+"4.103", "x"),
		number(locPort+"2.104", 7), text(locPort+"3.104", "a"), text(locPort+"4.104", "Port-channel1"),
		text(address+"0.101.1.1.4.192.0.2.11", ""), number(address+"0.102.1.2.16.32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.1", 2),
		number(address+"0.102.1.9.200.1", 2),
		number(entity+"5.1", 11), number(entity+"5.1000", 3), number(entity+"5.1001", 9), number(entity+"5.2000", 3),
		text(entity+"10.1001", "15.2(7)E"), text(entity+"11.1000", "FOC1234X0AB"), text(entity+"12.1000", "Cisco"), text(entity+"13.1000", "WS-C2960X-48FPD-L"),
		text(entity+"11.2000", "FOC9999"),
	)
	for _, n := range []struct {
		key               string
		chassisKind, kind int
		chassis, port     string
		description, name string
	}{
		{"0.101.1", 4, 5, "\x00\x1a\x2b\x3c\x4d\x5e", "Ethernet1/2", "", "core-1.example.com"},
		{"0.102.1", 5, 3, "\x01\xc0\x00\x02\x0c", "\x00\x1a\x2b\x3c\x4d\x60", "eth0", ""},
		{"50.103.7", 7, 7, "\x01\x02\xff", "phone\x00", "SW PORT", "phone"},
		{"50.104.2", 4, 5, "\x00\x1a\x2b\x3c\x4d\x5f", "Eth1/3", "", "core-2"},
		{"50.10.1", 4, 1, "\x00\x1a\x2b\x3c\x4d\x61", "Eth1/4", "", "core-3"},
		{"50.999.1", 4, 5, "\x00\x1a\x2b\x3c\x4d\x62", "Eth1/5", "", "core-4"},
	} {
		values = append(
			values, number(remote+"4."+n.key, n.chassisKind), text(remote+"5."+n.key, n.chassis), number(remote+"6."+n.key, n.kind),
			text(remote+"7."+n.key, n.port), text(remote+"8."+n.key, n.description), text(remote+"9."+n.key, n.name),
		)
	}
	return values
}
