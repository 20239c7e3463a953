package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/inventory/zone"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// keaConfig serves interfaces as reservations of the DHCP server Kea.
func keaConfig() feature.Operation {
	family := openapi.String("")
	family.Enum = []any{"4", "6"}
	return feature.Operation{
		Operation: openapi.Operation{
			Path: "/sd/kea", ID: "listKeaReservations", Summary: "List interfaces of devices as subnets with reservations of the DHCP server Kea",
			Parameters: []openapi.Parameter{{Name: "family", Schema: family, Description: "4 for DHCPv4, 6 for DHCPv6. Default: 4."}},
			Responses:  []openapi.Response{{Status: http.StatusOK, Schema: &openapi.Schema{Type: "object"}}},
		},
		Lists: []string{"interfaces", "prefixes"},
		Handle: serve("application/json", func(r *feature.Request) (document, bool, error) {
			v6 := r.Query.Get("family") == "6"
			if family := r.Query.Get("family"); r.Query.Has("family") && family != "4" && !v6 {
				return nil, false, records.Refuse("family", records.NotOneOf("", "4", "6"))
			}
			return &keaDocument{leases: newLeases(r), v6: v6, nets: map[netip.Prefix][]netip.Prefix{}, subnets: map[netip.Prefix][]keaReservation{}, macs: map[string]bool{}}, false, nil
		}),
	}
}

// dnsmasqConfig serves interfaces as lines of the configuration of dnsmasq.
func dnsmasqConfig() feature.Operation {
	op := plainLines("/sd/dnsmasq", "listDnsmasqHosts", "List devices and their interfaces as hosts of dnsmasq", "A line dhcp-host for each interface with a MAC address and an IP address, and host-record for each device.", nil)
	op.Lists = []string{"interfaces"}
	op.Handle = serve(plainText, func(r *feature.Request) (document, bool, error) {
		return &dnsmasqLines{hostLines{format: "host-record=%[2]s,%[1]s\n"}, newLeases(r)}, false, nil
	})
	return op
}

// leases are the interfaces of devices that get their address from a DHCP server: those with a MAC address and an IP
// address. An address is that of the first interface that has it.
type leases struct {
	reader records.Reader
	ports  map[string][]*inventory.Interface // by the id of the device
	taken  map[netip.Addr]bool
	left   int // the interfaces that are left out, because an earlier one has their address
}

func newLeases(r *feature.Request) leases {
	return leases{reader: r.Inventory.Records(), taken: map[netip.Addr]bool{}}
}

// prepare reads the interfaces of devices.
func (l *leases) prepare(ctx context.Context, devices []records.Record) error {
	ids := make([]string, len(devices))
	for i, d := range devices {
		ids[i] = d.Meta().ID
	}
	l.ports = map[string][]*inventory.Interface{}
	for some := range slices.Chunk(ids, maxLookup) {
		q := (&records.Query{Resource: records.Of[inventory.Interface](l.reader.Schema())}).WhereIn("device_id", some)
		found, err := records.Select[inventory.Interface](ctx, l.reader, q)
		if err != nil {
			return err
		}
		for _, port := range found {
			l.ports[port.DeviceID] = append(l.ports[port.DeviceID], port)
		}
	}
	return nil
}

func (l *leases) kept() int64 { return 512 * int64(len(l.taken)) }

// lease is the address of an interface.
type lease struct {
	mac  string
	addr netip.Addr
	net  netip.Prefix // the network that the interface names; the zero Prefix for none
	name string       // of the device, in lower case; empty for another address than that of the device, and if it is no host name
}

// of returns the addresses of the interfaces of a device.
func (l *leases) of(d *inventory.Device) (all []lease) {
	for _, port := range l.ports[d.ID] {
		text, _, _ := strings.Cut(port.IPAddress, "/")
		one := lease{mac: port.MACAddress}
		var err error
		if one.addr, err = netip.ParseAddr(text); err != nil || one.mac == "" {
			continue
		}
		if p, err := netip.ParsePrefix(port.IPAddress); err == nil && !p.IsSingleIP() {
			one.net = p.Masked()
		}
		if l.taken[one.addr] {
			l.left++
			continue
		}
		l.taken[one.addr] = true
		if name := strings.ToLower(d.Hostname); text == d.IP && zone.IsHostName(name) {
			one.name = name
		}
		all = append(all, one)
	}
	return all
}

// dnsmasqLines has lines for devices and for their interfaces.
type dnsmasqLines struct {
	hostLines
	leases
}

func (n *dnsmasqLines) kept() int64 { return n.leases.kept() }

func (n *dnsmasqLines) device(b []byte, d *inventory.Device, at *inventory.Location) []byte {
	b = n.hostLines.device(b, d, at)
	for _, one := range n.of(d) {
		addr := one.addr.String()
		if one.addr.Is6() {
			addr = "[" + addr + "]"
		}
		b = fmt.Appendf(b, "dhcp-host=%s,%s", one.mac, addr)
		if one.name != "" {
			b = append(append(b, ','), one.name...)
		}
		b = append(b, '\n')
	}
	return b
}

func (n *dnsmasqLines) end(b []byte) []byte {
	b = n.hostLines.end(b)
	if n.leases.left > 0 {
		b = fmt.Appendf(b, "# left out: %d interfaces with the address of an earlier one\n", n.leases.left)
	}
	return b
}

// keaDocument is a configuration of Kea with the subnets that have reservations.
type keaDocument struct {
	leases
	v6      bool
	nets    map[netip.Prefix][]netip.Prefix // what the inventory has around and within blocks of addresses
	subnets map[netip.Prefix][]keaReservation
	macs    map[string]bool // a subnet and a MAC address that it has
	without int             // the interfaces in no prefix
}

type keaReservation struct {
	MAC       string   `json:"hw-address"`
	Address   string   `json:"ip-address,omitempty"`
	Addresses []string `json:"ip-addresses,omitempty"`
	Name      string   `json:"hostname,omitempty"`
}

type keaSubnet struct {
	ID           uint32           `json:"id"`
	Subnet       string           `json:"subnet"`
	Reservations []keaReservation `json:"reservations"`
}

func (k *keaDocument) begin(b []byte) []byte { return b }

// prepare finds the networks of the interfaces of devices: the longest one of the prefixes of the inventory that are no
// container, and of what the interface says.
func (k *keaDocument) prepare(ctx context.Context, devices []records.Record) error {
	if err := k.leases.prepare(ctx, devices); err != nil {
		return err
	}
	for _, d := range devices {
		for _, one := range k.of(d.(*inventory.Device)) {
			if one.addr.Is6() != k.v6 {
				continue
			}
			known, err := k.around(ctx, one.addr)
			if err != nil {
				return err
			}
			for _, p := range known {
				if p.Contains(one.addr) && p.Bits() > one.net.Bits() {
					one.net = p
				}
			}
			r := keaReservation{MAC: one.mac, Address: one.addr.String(), Name: one.name}
			if k.v6 {
				r.Address, r.Addresses = "", []string{r.Address}
			}
			switch {
			case !one.net.IsValid():
				k.without++
			case k.macs[one.net.String()+one.mac]:
				k.left++
			default:
				k.macs[one.net.String()+one.mac] = true
				k.subnets[one.net] = append(k.subnets[one.net], r)
			}
		}
	}
	return nil
}

// around returns the prefixes in the global table that contain the block of an address, or are within it.
func (k *keaDocument) around(ctx context.Context, addr netip.Addr) ([]netip.Prefix, error) {
	bits := 24
	if k.v6 {
		bits = 64
	}
	block, _ := addr.Prefix(bits)
	if known, ok := k.nets[block]; ok {
		return known, nil
	}
	if len(k.nets) > maxPlaceNames {
		clear(k.nets)
	}
	var above []any
	for ; bits >= 0; bits-- {
		p, _ := addr.Prefix(bits)
		above = append(above, p.String())
	}
	var found []netip.Prefix
	for _, is := range []records.Condition{{Op: records.In, Value: above}, {Op: records.Within, Value: block}} {
		q := &records.Query{Resource: records.Of[inventory.Prefix](k.reader.Schema()), Limit: records.MaxItems}
		q = q.Where("prefix", is).Where("vrf_id", records.Condition{Op: records.IsNull, Value: true})
		prefixes, err := records.Select[inventory.Prefix](ctx, k.reader, q.Where("status", records.Condition{Op: records.Ne, Value: string(inventory.PrefixContainer)}))
		if err != nil {
			return nil, err
		}
		for _, p := range prefixes {
			if network, err := netip.ParsePrefix(p.Prefix); err == nil && !network.IsSingleIP() {
				found = append(found, network)
			}
		}
	}
	k.nets[block] = found
	return found, nil
}

func (k *keaDocument) device(b []byte, _ *inventory.Device, _ *inventory.Location) []byte { return b }

// end appends the subnets. The number of one follows from its prefix, so that it stays when others come and go.
func (k *keaDocument) end(b []byte) []byte {
	all := []keaSubnet{}
	ids := map[uint32]bool{0: true}
	for _, network := range slices.SortedFunc(maps.Keys(k.subnets), netip.Prefix.Compare) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(network.String())) // never fails
		id := h.Sum32() >> 1
		for ; ids[id]; id++ {
		}
		ids[id] = true
		all = append(all, keaSubnet{id, network.String(), k.subnets[network]})
	}
	name, family := "Dhcp4", map[string]any{"subnet4": all}
	if k.v6 {
		name, family = "Dhcp6", map[string]any{"subnet6": all}
	}
	if k.left+k.without > 0 {
		family["user-context"] = map[string]int{"left-out-as-taken": k.left, "left-out-without-a-prefix": k.without}
	}
	doc, _ := json.MarshalIndent(map[string]any{name: family}, "", " ") // of texts and numbers, which never fails
	return append(append(b, doc...), '\n')
}
