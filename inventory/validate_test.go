package inventory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestCheck checks the valid values of each field, and that the error names every invalid field.
func TestCheck(t *testing.T) {
	t.Parallel()
	of := func(change func(*inventory.Device)) *inventory.Device {
		d := device("a")
		change(d)
		return d
	}
	iface := func(change func(*inventory.Interface)) *inventory.Interface {
		i := port(id(1), "xe-0/0/0")
		change(i)
		return i
	}
	vlan := func(change func(*inventory.VLAN)) *inventory.VLAN {
		v := &inventory.VLAN{VLANID: 10, Name: "voice"}
		change(v)
		return v
	}
	site := func(change func(*inventory.Location)) *inventory.Location {
		l := location("a")
		change(l)
		return l
	}
	cases := []struct {
		name string
		rec  records.Record
		want string // the fields that are wrong, with their codes
	}{
		{"a device", device("a"), ""},
		{"no device at all", &inventory.Device{}, "hostname:required"},
		{"bad address", of(func(d *inventory.Device) { d.IP = "192.0.2.300" }), "ip:bad_format"},
		{"address with a prefix", of(func(d *inventory.Device) { d.IP = "192.0.2.1/24" }), "ip:bad_format"},
		{"address with a zone", of(func(d *inventory.Device) { d.IP = "fe80::1%eth0" }), "ip:bad_format"},
		{"unknown status", of(func(d *inventory.Device) { d.Status = "broken" }), "status:not_one_of"},
		{"status of an interface", of(func(d *inventory.Device) { d.Status = "up" }), "status:not_one_of"},
		{"bad reference", of(func(d *inventory.Device) { d.LocationID = ptr("berlin") }), "location_id:bad_format"},
		{"reference in braces", of(func(d *inventory.Device) { d.LocationID = ptr("{" + id(1) + "}") }), "location_id:bad_format"},
		{"long hostname", of(func(d *inventory.Device) { d.Hostname = strings.Repeat("ä", 254) }), "hostname:too_long"},
		{"hostname at its bound", of(func(d *inventory.Device) { d.Hostname = strings.Repeat("ä", 253) }), ""},
		{"blank hostname", of(func(d *inventory.Device) { d.Hostname = "  " }), "hostname:bad_format"},
		{"forged line", of(func(d *inventory.Device) { d.Vendor = "a\nb" }), "vendor:bad_format"},
		{"no UTF-8", of(func(d *inventory.Device) { d.Vendor = "a\xff" }), "vendor:bad_format"},
		{"lines in notes", of(func(d *inventory.Device) { d.Notes = "a\nb\tc" }), ""},
		{"NUL in notes", of(func(d *inventory.Device) { d.Notes = "a\x00b" }), "notes:bad_format"},
		{"bad tags", of(func(d *inventory.Device) { d.Tags = []string{"a", "", "a", strings.Repeat("x", 101)} }), "tags[1]:bad_format tags[2]:repeated tags[3]:too_long"},
		{"many tags", of(func(d *inventory.Device) { d.Tags = make([]string, 51) }), "tags:too_many"},
		{"year 10000", of(func(d *inventory.Device) { d.LastSeen = ptr(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }), "last_seen:bad_format"},

		{"an interface", iface(func(*inventory.Interface) {}), ""},
		{"no interface at all", &inventory.Interface{}, "device_id:required name:required"},
		{"MAC of eight octets", iface(func(i *inventory.Interface) { i.MACAddress = "00:00:00:00:fe:80:00:00" }), "mac_address:bad_format"},
		{"bad MAC", iface(func(i *inventory.Interface) { i.MACAddress = "00:1a:2b:3c:4d" }), "mac_address:bad_format"},
		{"speeds that disagree", iface(func(i *inventory.Interface) { i.Speed, i.SpeedMbps = "10Gbps", ptr(int64(1000)) }), "speed_mbps:inconsistent"},
		{"speed in bytes", iface(func(i *inventory.Interface) { i.Speed = "1000 kB" }), "speed:bad_format"},
		{"speed that rounds to another", iface(func(i *inventory.Interface) { i.Speed, i.SpeedMbps = "64k", ptr(int64(1)) }), "speed_mbps:inconsistent"},
		{"speed that was rounded", iface(func(i *inventory.Interface) { i.Speed, i.SpeedMbps = "64k", ptr(int64(0)) }), ""},
		{"negotiated speed", iface(func(i *inventory.Interface) { i.Speed, i.SpeedMbps = "auto", ptr(int64(1000)) }), ""},
		{"mtu of 32 bits", iface(func(i *inventory.Interface) { i.MTU = ptr(int64(1<<32 - 1)) }), ""},
		{"larger mtu", iface(func(i *inventory.Interface) { i.MTU = ptr(int64(1 << 32)) }), "mtu:out_of_range"},
		{"unknown speed", iface(func(i *inventory.Interface) { i.SpeedMbps = ptr(int64(0)) }), ""},
		{"negative speed", iface(func(i *inventory.Interface) { i.SpeedMbps = ptr(int64(-1)) }), "speed_mbps:out_of_range"},
		{"administratively up", iface(func(i *inventory.Interface) { i.Status = "administratively up" }), "status:not_one_of"},
		{"oper_status has no administrator", iface(func(i *inventory.Interface) { i.OperStatus = "administratively down" }), "oper_status:not_one_of"},
		{"small mtu", iface(func(i *inventory.Interface) { i.MTU, i.IfIndex = ptr(int64(1)), ptr(int64(0)) }), "ifindex:out_of_range mtu:out_of_range"},
		{"address with prefix", iface(func(i *inventory.Interface) { i.IPAddress = "192.0.2.1/24" }), ""},
		{"bad prefix", iface(func(i *inventory.Interface) { i.IPAddress = "192.0.2.1/33" }), "ip_address:bad_format"},

		{"no location at all", &inventory.Location{}, "name:required"},
		{"half a point", site(func(l *inventory.Location) { l.Lat = ptr(52.5) }), "lon:required"},
		{"the other half", site(func(l *inventory.Location) { l.Lon = ptr(13.4) }), "lat:required"},
		{"off the map", site(func(l *inventory.Location) { l.Lat, l.Lon = ptr(90.1), ptr(-180.5) }), "lat:out_of_range lon:out_of_range"},
		{"zone as a path", site(func(l *inventory.Location) { l.Timezone = "../../etc/passwd" }), "timezone:bad_format"},
		{"a zone", site(func(l *inventory.Location) { l.Timezone = "America/Argentina/Buenos_Aires" }), ""},

		{"no VLAN at all", &inventory.VLAN{}, "name:required vlan_id:required"},
		{"VLAN 4094", vlan(func(v *inventory.VLAN) { v.VLANID = 4094 }), ""},
		{"VLAN 4095", vlan(func(v *inventory.VLAN) { v.VLANID = 4095 }), "vlan_id:out_of_range"},
		{"VLAN 5000", vlan(func(v *inventory.VLAN) { v.VLANID = 5000 }), "vlan_id:out_of_range"},
		{"VLAN -1", vlan(func(v *inventory.VLAN) { v.VLANID = -1 }), "vlan_id:out_of_range"},
		{"subnet with host bits", vlan(func(v *inventory.VLAN) { v.SubnetCIDR = "192.0.2.1/24" }), "subnet_cidr:bad_format"},
		{"gateway elsewhere", vlan(func(v *inventory.VLAN) { v.SubnetCIDR, v.GatewayIP = "192.0.2.0/24", "198.51.100.1" }), "gateway_ip:inconsistent"},
		{"gateway of the subnet", vlan(func(v *inventory.VLAN) { v.SubnetCIDR, v.GatewayIP = "192.0.2.0/24", "192.0.2.1" }), ""},

		{"no link at all", &inventory.Link{}, "a_interface_id:required b_interface_id:required"},
		{"link to itself", &inventory.Link{AInterfaceID: id(1), BInterfaceID: id(1)}, "b_interface_id:inconsistent"},
		{"link to itself in capitals", &inventory.Link{AInterfaceID: strings.ToUpper(id(1)), BInterfaceID: id(1)}, "b_interface_id:inconsistent"},

		{"no event at all", &inventory.Event{}, "message:required severity:required type:required"},
		{"an event", &inventory.Event{Severity: "Critical", Type: "security", Message: "a\nb"}, ""},
		{"a metric", &inventory.Metric{DeviceID: id(1), CPU: ptr(99.5)}, ""},
		{"no percentage", &inventory.Metric{DeviceID: id(1), CPU: ptr(101.0), Memory: ptr(-1.0), UptimeSeconds: ptr(int64(-1))}, "cpu:out_of_range memory:out_of_range uptime_seconds:out_of_range"},
		{"no user at all", &inventory.User{}, "email:required role:required username:required"},
		{"bad user", &inventory.User{Username: "a", Email: "Jane <jane@example.org>", Role: "root"}, "email:bad_format role:not_one_of"},
		{"user without a password to set", &inventory.User{Username: "a", Email: "jane@example.org", Role: "admin"}, ""},
		{"short password", &inventory.User{Username: "a", Email: "jane@example.org", Role: "admin", Password: "seven77"}, "password:too_short"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := resourceOf(c.rec).Check(c.rec)
			if c.want == "" {
				ok(t, err)
				ok(t, resourceOf(c.rec).Check(c.rec)) // what is in its form stays as it is
				return
			}
			isKind(t, err, records.Invalid)
			equal(t, "what is wrong", codes(t, err), c.want)
		})
	}
}

// TestMessages checks the messages that clients may rely on.
func TestMessages(t *testing.T) {
	t.Parallel()
	bad := device("a")
	bad.IP = "10.0.0"
	empty := device("")
	empty.IP = "10.0.0"
	for want, rec := range map[string]records.Record{
		"Invalid IP address format":             bad,
		"link itself":                           &inventory.Link{AInterfaceID: id(1), BInterfaceID: id(1)},
		"Invalid VLAN: vlan_id 4094":            &inventory.VLAN{VLANID: 5000, Name: "a"},
		"Invalid device: hostname ip 192.0.2.1": empty,
	} {
		if err := resourceOf(rec).Check(rec); err == nil || !errtest.Names(err.Error(), want) {
			t.Errorf("the message is\n%v, want the words\n%s", err, want)
		}
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	u := &inventory.User{Username: "a", Email: "a@example.org", Role: "admin", Password: "hunter2"}
	if err := resourceOf(u).Check(u); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	u.Password = ""
	equal(t, "what a new user needs", fields(t, resourceOf(u).CheckNew(u), records.Invalid), []string{"password"})
	u.PasswordHash = "x"
	ok(t, resourceOf(u).CheckNew(u))
}

// TestForm checks that values are stored in their normal form.
func TestForm(t *testing.T) {
	t.Parallel()
	d := device("a")
	d.IP, d.Status, d.LocationID = "2001:DB8:0:0::1", "ACTIVE", ptr(strings.ToUpper(id(1)))
	d.LastSeen = ptr(time.Date(2026, 1, 31, 13, 1, 0, 1234567, time.FixedZone("", 3600)))
	ok(t, resourceOf(d).Check(d))
	want := device("a")
	want.IP, want.LocationID, want.Tags = "2001:db8::1", ptr(id(1)), []string{}
	want.LastSeen = ptr(at(1).Add(1234 * time.Microsecond))
	equal(t, "the device", d, want)

	i := port(strings.ToUpper(id(1)), "a")
	i.MACAddress, i.Speed, i.AdminStatus = "00-1A-2B-3C-4D-5E", "2500 mbps", "Down"
	ok(t, resourceOf(i).Check(i))
	equal(t, "the interface", []any{i.DeviceID, i.MACAddress, i.Speed, *i.SpeedMbps, i.Status, i.AdminStatus, i.OperStatus},
		[]any{id(1), "00:1a:2b:3c:4d:5e", "2.5Gbps", int64(2500), inventory.LinkUp, inventory.LinkDown, inventory.OperStatus("")})

	for _, s := range []string{"lowerLayerDown", "lower layer down", "Lower-Layer-Down", "LOWERLAYERDOWN", "lower_layer_down"} {
		i = port(id(1), "a")
		i.OperStatus, i.Status, i.AdminStatus = inventory.OperStatus(s), "notPresent", "Administratively-Down"
		ok(t, resourceOf(i).Check(i))
		equal(t, s, []any{i.OperStatus, i.Status, i.AdminStatus}, []any{inventory.OperLowerLayerDown, inventory.LinkNotPresent, inventory.LinkAdminDown})
	}

	d.LocationID = ptr("")
	ok(t, resourceOf(d).Check(d))
	equal(t, "the empty reference", d.LocationID, (*string)(nil))

	u := &inventory.User{Username: "Jane", Email: "Jane@Example.org", Role: "Viewer"}
	ok(t, resourceOf(u).Check(u))
	equal(t, "the user", u, &inventory.User{Username: "Jane", Email: "jane@example.org", Role: inventory.Viewer, LocationIDs: []string{}})

	i = port(id(1), "a")
	i.SpeedMbps = ptr(int64(100000))
	ok(t, resourceOf(i).Check(i))
	equal(t, "the speed", i.Speed, "100Gbps")

	l := &inventory.Link{AInterfaceID: strings.ToUpper("018f4c2e-7b1a-7c3d-9e4f-00000000000b"), BInterfaceID: id(1)}
	ok(t, resourceOf(l).Check(l))
	equal(t, "the ends", []string{l.AInterfaceID, l.BInterfaceID, l.Discovery}, []string{id(1), "018f4c2e-7b1a-7c3d-9e4f-00000000000b", "manual"})
}

func TestCheckInvalidRecord(t *testing.T) {
	t.Parallel()
	type stranger struct{ records.Base }
	for _, rec := range []records.Record{nil, (*inventory.Device)(nil), &stranger{}} {
		for _, err := range []error{records.Of[inventory.VLAN](schema).Check(rec), func() error { _, err := schema.Of(rec); return err }()} {
			if err == nil || records.KindOf(err) != 0 {
				t.Errorf("%T: %v", rec, err)
			}
		}
	}
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{ // the stored form and speed_mbps
		"10Gbps": "10Gbps 10000", "10 gbps": "10Gbps 10000", "2.5Gbps": "2.5Gbps 2500", "100Mbps": "100Mbps 100", "1.6Tbps": "1600Gbps 1600000",
		"0.1Gbps": "100Mbps 100", "1.2345Gbps": "1.2345Gbps 1235", "10G": "10Gbps 10000", "10 Gb/s": "10Gbps 10000", "25 gbit/s": "25Gbps 25000",
		"1000.0": "1Gbps 1000", "1e3": "1Gbps 1000", "1.0E+3": "1Gbps 1000", "2500": "2.5Gbps 2500", "1e9": "1000000Gbps 1000000000",
		"64kbit": "64kbps 0", "64k": "64kbps 0", "9.6kbps": "9.6kbps 0", "9600 bps": "9.6kbps 0", "512 Kbit": "512kbps 1", "300bits/sec": "300bps 0",
		"1544 Kbit": "1.544Mbps 2", "1000000 Kbit": "1Gbps 1000", "1bps": "1bps 0",
		"20Gbps-speed": "20Gbps 20000", "auto-speed": "auto nil", "AUTO": "auto nil",
		"Gbps": "", "-1Gbps": "", "+1Gbps": "", "0Gbps": "", "0 Kbit": "", "1.Gbps": "", ".5Gbps": "", "0.5bps": "", "1e-7": "", "e3": "", "1e": "",
		"1e1e1": "", "1e99": "", "1e400": "", "99999999999999999Tbps": "", "1000001Gbps": "", "10GbpsGbps": "", "1_0Gbps": "", "0x1Gbps": "",
		"10GB": "", "10 minutes": "", "Unknown-speed": "", "inf": "", "1,5G": "",
	} {
		i := port(id(1), "a")
		i.Speed = s
		got := ""
		if err := resourceOf(i).Check(i); err == nil {
			got = i.Speed + " nil"
			if i.SpeedMbps != nil {
				got = fmt.Sprint(i.Speed, " ", *i.SpeedMbps)
			}
		}
		equal(t, "the speed "+s, got, want)
	}
}

func FuzzSpeed(f *testing.F) {
	for _, s := range []string{"10Gbps", "2.5 gbps", "1.6Tbps", "..Mbps", "0.000001Tbps", "1e3", "auto", "64k", "9.6 kbit/s", "1000.0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i := port(id(1), "a")
		i.Speed = s
		if s == "" || resourceOf(i).Check(i) != nil {
			return
		}
		mbps, err := records.ParseSpeed(s)
		if err != nil || mbps < 0 || mbps > 1_000_000_000 || i.SpeedMbps != nil && *i.SpeedMbps != mbps {
			t.Errorf("%q is %d, %v", s, mbps, err)
		}
		again := records.Clone(i)
		ok(t, resourceOf(again).Check(again))
		equal(t, "the stored form of "+s, again, i)
	})
}

func TestMAC(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"b076-1b65-6a40": "b0:76:1b:65:6a:40", "b0761b656a40": "b0:76:1b:65:6a:40", "B0:76:1B:65:6A:40": "b0:76:1b:65:6a:40",
		"b076.1b65.6a40": "b0:76:1b:65:6a:40", "b0-76-1b-65-6a-40": "b0:76:1b:65:6a:40", "b0761b-656a40": "b0:76:1b:65:6a:40",
		"b0 76 1b 65 6a 40": "b0:76:1b:65:6a:40", "0:1A:2b:3:4:f": "00:1a:2b:03:04:0f", "b0.76.1b.65.6a.40": "b0:76:1b:65:6a:40",
		"00de.333.111": "", "b076-1b65:6a40": "", "b0:76:1b:65:6a:": "", "b0:76:1b:65:6a": "", "b0761b656a4": "", "g0761b656a40": "",
		"00:00:00:00:fe:80:00:00": "", "b0:761:b:65:6a:40": "",
	} {
		i := port(id(1), "a")
		i.MACAddress = s
		if resourceOf(i).Check(i) != nil {
			i.MACAddress = ""
		}
		equal(t, "the address "+s, i.MACAddress, want)
	}
}
