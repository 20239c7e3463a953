package hosts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory/feature/hosts"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
)

// accepts requires that a program accepts a document as a file.
func accepts(t *testing.T, document, program string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "document")
	require.NoError(t, os.WriteFile(file, []byte(document), 0o644))
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE", file)
	}
	cmd := exec.CommandContext(t.Context(), servertest.Find(t, program), args...)
	cmd.Env = append(os.Environ(), "KEA_LOCKFILE_DIR=none", "KEA_PIDFILE_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, document)
}

// TestDHCP: the real servers accept the reservations of ports, each address and MAC address of a subnet once.
func TestDHCP(t *testing.T) { featuretest.OnStores(t, testDHCP, hosts.New) }

func testDHCP(t *testing.T, g *featuretest.API) {
	for _, p := range []object{{"prefix": "10.0.0.0/8", "status": "container"}, {"prefix": "10.1.2.0/24"}, {"prefix": "10.1.2.128/25"}, {"prefix": "2001:db8::/64"}} {
		g.Create("/prefixes", p)
	}
	port := func(device, name, mac, ip string) {
		g.Create("/interfaces", object{"device": object{"hostname": device}, "name": name, "mac_address": mac, "ip_address": ip})
	}
	g.Create("/devices", object{"hostname": "Phone-1", "ip": "10.1.2.10"})
	g.Create("/devices", object{"hostname": "evil\"; x", "ip": "10.1.2.200"})
	g.Create("/devices", object{"hostname": "printer", "ip": "2001:db8::7"})
	port("Phone-1", "eth0", "02:00:00:00:00:01", "10.1.2.10/24")
	port("Phone-1", "eth1", "02:00:00:00:00:02", "10.1.2.11")
	port("evil\"; x", "eth0", "02:00:00:00:00:03", "10.1.2.200")
	port("printer", "a", "02:00:00:00:00:04", "2001:db8::7/64")
	port("printer", "b", "02:00:00:00:00:05", "10.9.9.9/16")                                                                                        // the interface knows its network
	port("printer", "c", "02:00:00:00:00:06", "10.200.0.1")                                                                                         // nothing does
	port("printer", "d", "02:00:00:00:00:01", "10.1.2.12")                                                                                          // a MAC address twice in a subnet
	port("printer", "e", "", "10.1.2.13")                                                                                                           // without a MAC address
	g.Create("/devices", object{"hostname": "later", "ip": "10.1.2.10", "location_id": g.Create("/locations", featuretest.Location("Graz"))["id"]}) // an address twice
	port("later", "eth0", "02:00:00:00:00:07", "10.1.2.10/24")

	kea := g.As("viewer").Send("GET", "/sd/kea", nil).Want(200).Body.String()
	var read struct {
		Dhcp4 struct {
			Subnet4 []struct {
				ID           uint32
				Subnet       string
				Reservations []map[string]string
			}
			Context map[string]int `json:"user-context"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(kea), &read))
	got := map[string]string{}
	for _, s := range read.Dhcp4.Subnet4 {
		got[s.Subnet] = fmt.Sprint(s.Reservations)
	}
	require.Equal(t, map[string]string{
		"10.1.2.0/24":   "[map[hostname:phone-1 hw-address:02:00:00:00:00:01 ip-address:10.1.2.10] map[hw-address:02:00:00:00:00:02 ip-address:10.1.2.11]]",
		"10.1.2.128/25": "[map[hw-address:02:00:00:00:00:03 ip-address:10.1.2.200]]",
		"10.9.0.0/16":   "[map[hw-address:02:00:00:00:00:05 ip-address:10.9.9.9]]",
	}, got)
	require.Equal(t, map[string]int{"left-out-as-taken": 2, "left-out-without-a-prefix": 1}, read.Dhcp4.Context)
	accepts(t, kea, "kea-dhcp4", "-t", "FILE")
	accepts(t, g.As("viewer").Send("GET", "/sd/kea?hostname=nothing", nil).Want(200).Body.String(), "kea-dhcp4", "-t", "FILE")
	six := g.As("viewer").Send("GET", "/sd/kea?family=6", nil).Want(200).Body.String()
	require.Contains(t, six, `"hostname": "printer"`)
	accepts(t, six, "kea-dhcp6", "-t", "FILE")
	g.As("viewer").Send("GET", "/sd/kea?family=5", nil).WantError(400, "family")

	dnsmasq := g.As("viewer").Send("GET", "/sd/dnsmasq", nil).Want(200).Body.String()
	for _, line := range []string{"host-record=phone-1,10.1.2.10", "dhcp-host=02:00:00:00:00:01,10.1.2.10,phone-1", "dhcp-host=02:00:00:00:00:02,10.1.2.11", "dhcp-host=02:00:00:00:00:04,[2001:db8::7],printer", "dhcp-host=02:00:00:00:00:03,10.1.2.200"} {
		require.Contains(t, dnsmasq, line+"\n")
	}
	require.NotContains(t, dnsmasq, "evil")
	accepts(t, dnsmasq, "dnsmasq", "--test", "--conf-file=FILE")
	tag := g.As("viewer").Send("GET", "/sd/dnsmasq", nil).Header().Get("Etag")
	viewer := g.As("viewer")
	viewer.Header.Set("If-None-Match", tag)
	viewer.Send("GET", "/sd/dnsmasq", nil).Want(304)
}

// TestZones: a real name server accepts the records of a zone and of those for the names of its addresses.
func TestZones(t *testing.T) {
	t.Parallel()
	g := network(t)
	const head = "@ 3600 IN SOA ns.example.org. root.example.org. 1 3600 600 86400 60\n@ 3600 IN NS ns.example.org.\n"
	for origin, row := range map[string]struct{ query, want string }{
		"example.org":              {"", "core-1\tIN\tA\t192.0.2.1\n"},
		"2.0.192.in-addr.arpa":     {"&domain=example.org", "1\tIN\tPTR\tcore-1.example.org.\n3\tIN\tPTR\tcore-1.example.org.\n"},
		"192.in-addr.arpa":         {"&domain=example.org", "1.2.0\tIN\tPTR\tcore-1.example.org.\n"},
		"8.b.d.0.1.0.0.2.ip6.arpa": {"&domain=example.org", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0\tIN\tPTR\tedge.example.org.\n"},
		"3.0.192.in-addr.arpa":     {"&domain=example.org", "$TTL 3600\n; left out"},
	} {
		text := g.As("root").Send("GET", "/sd/zone?origin="+origin+row.query, nil).Want(200).Body.String()
		require.Contains(t, text, row.want)
		first, rest, _ := strings.Cut(text, "$TTL")
		ttl, rest, _ := strings.Cut(rest, "\n")
		glue := ""
		if origin == "example.org" {
			glue = "ns 3600 IN A 192.0.2.53\n"
		}
		accepts(t, first+"$TTL"+ttl+"\n"+head+glue+rest, "named-checkzone", "-i", "local", origin, "FILE")
	}
	for _, wrong := range []string{"origin=2.0.192.in-addr.arpa", "origin=2.0.192.in-addr.arpa&domain=a..b", "origin=example.org&domain=example.com", "origin=", "origin=a_b"} {
		g.As("root").Send("GET", "/sd/zone?"+wrong, nil).WantError(400, "origin")
	}
}
