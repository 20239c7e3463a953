package inventory_test

import (
	"strings"
	"testing"
	"time"

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
		want string // the fields that are wrong
	}{
		{"a device", device("a"), ""},
		{"no device at all", &inventory.Device{}, "hostname ip model os status vendor"},
		{"bad address", of(func(d *inventory.Device) { d.IP = "192.0.2.300" }), "ip"},
		{"address with a prefix", of(func(d *inventory.Device) { d.IP = "192.0.2.1/24" }), "ip"},
		{"address with a zone", of(func(d *inventory.Device) { d.IP = "fe80::1%eth0" }), "ip"},
		{"unknown status", of(func(d *inventory.Device) { d.Status = "broken" }), "status"},
		{"status of an interface", of(func(d *inventory.Device) { d.Status = "up" }), "status"},
		{"bad reference", of(func(d *inventory.Device) { d.LocationID = ptr("berlin") }), "location_id"},
		{"empty reference", of(func(d *inventory.Device) { d.LocationID = ptr("") }), "location_id"},
		{"reference in braces", of(func(d *inventory.Device) { d.LocationID = ptr("{" + id(1) + "}") }), "location_id"},
		{"long hostname", of(func(d *inventory.Device) { d.Hostname = strings.Repeat("ä", 254) }), "hostname"},
		{"hostname at its bound", of(func(d *inventory.Device) { d.Hostname = strings.Repeat("ä", 253) }), ""},
		{"blank hostname", of(func(d *inventory.Device) { d.Hostname = "  " }), "hostname"},
		{"forged line", of(func(d *inventory.Device) { d.Vendor = "a\nb" }), "vendor"},
		{"no UTF-8", of(func(d *inventory.Device) { d.Vendor = "a\xff" }), "vendor"},
		{"lines in notes", of(func(d *inventory.Device) { d.Notes = "a\nb\tc" }), ""},
		{"NUL in notes", of(func(d *inventory.Device) { d.Notes = "a\x00b" }), "notes"},
		{"bad tags", of(func(d *inventory.Device) { d.Tags = []string{"a", "", "a", strings.Repeat("x", 101)} }), "tags[1] tags[2] tags[3]"},
		{"many tags", of(func(d *inventory.Device) { d.Tags = make([]string, 51) }), "tags"},
		{"year 10000", of(func(d *inventory.Device) { d.LastSeen = ptr(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }), "last_seen"},

		{"an interface", iface(func(*inventory.Interface) {}), ""},
		{"no interface at all", &inventory.Interface{}, "device_id name type"},
		{"MAC of eight octets", iface(func(i *inventory.Interface) { i.MACAddress = "00:00:00:00:fe:80:00:00" }), "mac_address"},
		{"bad MAC", iface(func(i *inventory.Interface) { i.MACAddress = "00:1a:2b:3c:4d" }), "mac_address"},
		{"speeds that disagree", iface(func(i *inventory.Interface) { i.Speed, i.SpeedMbps = "10Gbps", ptr(int64(1000)) }), "speed_mbps"},
		{"speed without a unit", iface(func(i *inventory.Interface) { i.Speed = "1000" }), "speed"},
		{"no speed", iface(func(i *inventory.Interface) { i.SpeedMbps = ptr(int64(0)) }), "speed_mbps"},
		{"administratively up", iface(func(i *inventory.Interface) { i.Status = "administratively up" }), "status"},
		{"oper_status has no administrator", iface(func(i *inventory.Interface) { i.OperStatus = "administratively down" }), "oper_status"},
		{"small mtu", iface(func(i *inventory.Interface) { i.MTU, i.IfIndex = ptr(int64(1)), ptr(int64(0)) }), "ifindex mtu"},
		{"address with prefix", iface(func(i *inventory.Interface) { i.IPAddress = "192.0.2.1/24" }), ""},
		{"bad prefix", iface(func(i *inventory.Interface) { i.IPAddress = "192.0.2.1/33" }), "ip_address"},

		{"no location at all", &inventory.Location{}, "address city country name"},
		{"half a point", site(func(l *inventory.Location) { l.Lat = ptr(52.5) }), "lon"},
		{"the other half", site(func(l *inventory.Location) { l.Lon = ptr(13.4) }), "lat"},
		{"off the map", site(func(l *inventory.Location) { l.Lat, l.Lon = ptr(90.1), ptr(-180.5) }), "lat lon"},
		{"zone as a path", site(func(l *inventory.Location) { l.Timezone = "../../etc/passwd" }), "timezone"},
		{"a zone", site(func(l *inventory.Location) { l.Timezone = "America/Argentina/Buenos_Aires" }), ""},

		{"no VLAN at all", &inventory.VLAN{}, "name vlan_id"},
		{"VLAN 4094", vlan(func(v *inventory.VLAN) { v.VLANID = 4094 }), ""},
		{"VLAN 4095", vlan(func(v *inventory.VLAN) { v.VLANID = 4095 }), "vlan_id"},
		{"VLAN 5000", vlan(func(v *inventory.VLAN) { v.VLANID = 5000 }), "vlan_id"},
		{"VLAN -1", vlan(func(v *inventory.VLAN) { v.VLANID = -1 }), "vlan_id"},
		{"subnet with host bits", vlan(func(v *inventory.VLAN) { v.SubnetCIDR = "192.0.2.1/24" }), "subnet_cidr"},
		{"gateway elsewhere", vlan(func(v *inventory.VLAN) { v.SubnetCIDR, v.GatewayIP = "192.0.2.0/24", "198.51.100.1" }), "gateway_ip"},
		{"gateway of the subnet", vlan(func(v *inventory.VLAN) { v.SubnetCIDR, v.GatewayIP = "192.0.2.0/24", "192.0.2.1" }), ""},

		{"no link at all", &inventory.Link{}, "a_interface_id b_interface_id"},
		{"link to itself", &inventory.Link{AInterfaceID: id(1), BInterfaceID: id(1)}, "b_interface_id"},
		{"link to itself in capitals", &inventory.Link{AInterfaceID: strings.ToUpper(id(1)), BInterfaceID: id(1)}, "b_interface_id"},

		{"no event at all", &inventory.Event{}, "message severity type"},
		{"an event", &inventory.Event{Severity: "Critical", Type: "security", Message: "a\nb"}, ""},
		{"a metric", &inventory.Metric{DeviceID: id(1), CPU: ptr(99.5)}, ""},
		{"no percentage", &inventory.Metric{DeviceID: id(1), CPU: ptr(101.0), Memory: ptr(-1.0), UptimeSeconds: ptr(int64(-1))}, "cpu memory uptime_seconds"},
		{"no user at all", &inventory.User{}, "email role username"},
		{"bad user", &inventory.User{Username: "a", Email: "Jane <jane@example.org>", Role: "root"}, "email role"},
		{"user without a password to set", &inventory.User{Username: "a", Email: "jane@example.org", Role: "admin"}, ""},
		{"short password", &inventory.User{Username: "a", Email: "jane@example.org", Role: "admin", Password: "seven77"}, "password"},
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
			equal(t, "what is wrong", strings.Join(fields(t, err, records.Invalid), " "), c.want)
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
		"Invalid IP address format":                    bad,
		"Cannot link an interface to itself":           &inventory.Link{AInterfaceID: id(1), BInterfaceID: id(1)},
		"Invalid VLAN: vlan_id must be from 1 to 4094": &inventory.VLAN{VLANID: 5000, Name: "a"},
		"Invalid device: hostname must not be empty; ip must be an IP address such as 192.0.2.1 or 2001:db8::1, without a prefix length": empty,
	} {
		if err := resourceOf(rec).Check(rec); err == nil || err.Error() != want {
			t.Errorf("the message is\n%v, want\n%s", err, want)
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

	u := &inventory.User{Username: "Jane", Email: "Jane@Example.org", Role: "Viewer"}
	ok(t, resourceOf(u).Check(u))
	equal(t, "the user", u, &inventory.User{Username: "Jane", Email: "jane@example.org", Role: inventory.Viewer})

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
	for s, want := range map[string]int64{
		"10Gbps": 10000, "10 gbps": 10000, "2.5Gbps": 2500, "100Mbps": 100, "1.6Tbps": 1600000, "0.1Gbps": 100, "1.234Gbps": 1234,
		"": 0, "Gbps": 0, "10": 0, "-1Gbps": 0, "+1Gbps": 0, "0Gbps": 0, "1.Gbps": 0, ".5Gbps": 0, "1.5Mbps": 0, "1.2345Gbps": 0,
		"1e3Mbps": 0, "99999999999999999Tbps": 0, "10GbpsGbps": 0, "1_0Gbps": 0, "0x1Gbps": 0,
	} {
		got, err := records.ParseSpeed(s)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d, %v", s, got, err)
		}
	}
}

func FuzzParseSpeed(f *testing.F) {
	for _, s := range []string{"10Gbps", "2.5 gbps", "1.6Tbps", "..Mbps", "0.000001Tbps"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		mbps, err := records.ParseSpeed(s)
		if err != nil {
			return
		}
		again, err := records.ParseSpeed(records.FormatSpeed(mbps))
		if err != nil || again != mbps {
			t.Errorf("%q is %d, which is %q, which is %d, %v", s, mbps, records.FormatSpeed(mbps), again, err)
		}
	})
}
