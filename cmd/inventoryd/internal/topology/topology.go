package topology

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxNodes bounds the nodes of a topology.
const maxNodes = 100_000

// Topology has the nodes and links of a network.
type Topology struct {
	file      string
	name      string   // of the location that nodes without another one are at
	locations []values // the outer ones first
	nodes     []*node  // in the order of the file
	byName    map[string]*node
	ports     []*port
	links     []link
	counts    map[string]int64
}

// node is a device.
type node struct {
	name, location                             string
	kind, image, variant, group, role, address string

	line   int
	labels map[string]string
}

// port is an interface that a link ends at.
type port struct {
	node                   *node
	name, mac, description string
	line                   int
}

type link struct {
	ends [2]*port
	line int
}

func newTopology(file string) *Topology {
	return &Topology{file: path.Base(filepath.ToSlash(file)), byName: map[string]*node{}, counts: map[string]int64{}}
}

// fail returns the error for a topology that is wrong.
func (t *Topology) fail(line int, format string, args ...any) error {
	return importer.Fail(t.file, line, format, args...)
}

// shown returns a text of the file for messages.
func shown(text string) string { return printable.Truncate(text, 64) }

// Unplaced returns what has no counterpart in the inventory, the most objects first.
func (t *Topology) Unplaced() []importer.Count { return importer.Counts(t.counts) }

// Source returns the rows for a schema, which has locations, devices, interfaces and links.
func (t *Topology) Source(schema *records.Schema) importer.Source {
	all := t.values()
	return importer.Rows(len(all), func(i int) (*importer.Row, error) {
		r, _ := schema.Named(all[i].resource)
		return importer.NewRow(t.file, all[i].line, r, all[i].fields)
	})
}

// object has values by name.
type object = map[string]any

// values are those of a row.
type values struct {
	resource string
	line     int
	fields   object
}

// values returns those of all rows. References are natural keys.
func (t *Topology) values() []values {
	all := t.locations
	for _, n := range t.nodes {
		all = append(all, values{"devices", n.line, n.device()})
	}
	for _, p := range t.ports {
		fields := p.key()
		for name, value := range map[string]string{"mac_address": p.mac, "description": p.description} {
			if value != "" {
				fields[name] = value
			}
		}
		all = append(all, values{"interfaces", p.line, fields})
	}
	for _, k := range t.links {
		all = append(all, values{"links", k.line, object{"a_interface": k.ends[0].key(), "b_interface": k.ends[1].key()}})
	}
	return all
}

func (n *node) key() object {
	return object{"hostname": n.name, "location": object{"name": n.location}}
}

func (p *port) key() object { return object{"device": p.node.key(), "name": p.name} }

// device returns the fields of a node that the topology has. The others stay as they are in the inventory.
func (n *node) device() object {
	product := products[n.kind]
	fields := n.key()
	for name, value := range map[string]string{
		"ip": n.address, "vendor": product.vendor, "os": product.os, "os_version": n.version(product),
		"model": cmp.Or(n.variant, n.kind), "role": cmp.Or(n.role, n.group),
	} {
		if value != "" {
			fields[name] = value
		}
	}
	if tags := n.tags(); len(tags) > 0 {
		fields["tags"] = tags
	}
	return fields
}

// version returns the version that the tag of an image of a network operating system has, "" for none.
func (n *node) version(of product) string {
	_, tag, _ := strings.Cut(n.image[strings.LastIndexByte(n.image, '/')+1:], ":")
	tag, _, _ = strings.Cut(tag, "@")
	if of.vendor == "" || tag == "" || tag[0] < '0' || tag[0] > '9' {
		return ""
	}
	return tag
}

// drawing are the prefixes of labels that say how tools draw a node.
var drawing = []string{"graph-", "topoViewer-"}

// tags returns the labels that can be tags, as name=value.
func (n *node) tags() (tags []string) {
	for _, name := range slices.Sorted(maps.Keys(n.labels)) {
		if n.isTag(name) && len(tags) < importer.MaxTags {
			tags = append(tags, n.tag(name))
		}
	}
	return tags
}

func (n *node) tag(name string) string { return strings.TrimSuffix(name+"="+n.labels[name], "=") }

// isTag reports whether a label can be a tag: it is a short line of text, and not for drawings.
func (n *node) isTag(name string) bool {
	tag := n.tag(name)
	draws := slices.ContainsFunc(drawing, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	return !draws && !hasVariable(tag) && importer.IsTag(tag)
}

// product names the product of a kind of nodes.
type product struct{ vendor, os string }

// products are the kinds whose vendor and system are known, older names included.
var products = map[string]product{
	"nokia_srlinux": {"Nokia", "SR Linux"}, "srl": {"Nokia", "SR Linux"},
	"nokia_sros": {"Nokia", "SR OS"}, "vr-sros": {"Nokia", "SR OS"}, "vr-nokia_sros": {"Nokia", "SR OS"}, "nokia_srsim": {"Nokia", "SR OS"},
	"arista_ceos": {"Arista", "EOS"}, "ceos": {"Arista", "EOS"}, "arista_veos": {"Arista", "EOS"}, "vr-veos": {"Arista", "EOS"},
	"juniper_crpd": {"Juniper", "Junos"}, "crpd": {"Juniper", "Junos"}, "juniper_vmx": {"Juniper", "Junos"}, "vr-vmx": {"Juniper", "Junos"},
	"juniper_vqfx": {"Juniper", "Junos"}, "vr-vqfx": {"Juniper", "Junos"}, "juniper_vsrx": {"Juniper", "Junos"}, "vr-vsrx": {"Juniper", "Junos"},
	"juniper_vjunosrouter": {"Juniper", "Junos"}, "juniper_vjunosswitch": {"Juniper", "Junos"}, "juniper_cjunosevolved": {"Juniper", "Junos Evolved"},
	"juniper_vjunosevolved": {"Juniper", "Junos Evolved"},
	"cisco_xrd":             {"Cisco", "IOS XR"}, "xrd": {"Cisco", "IOS XR"}, "cisco_xrv": {"Cisco", "IOS XR"}, "vr-xrv": {"Cisco", "IOS XR"},
	"cisco_xrv9k": {"Cisco", "IOS XR"}, "vr-xrv9k": {"Cisco", "IOS XR"}, "cisco_c8000": {"Cisco", "IOS XR"},
	"cisco_csr1000v": {"Cisco", "IOS XE"}, "vr-csr": {"Cisco", "IOS XE"}, "cisco_c8000v": {"Cisco", "IOS XE"}, "cisco_cat9kv": {"Cisco", "IOS XE"},
	"cisco_iol": {"Cisco", "IOS"}, "cisco_vios": {"Cisco", "IOS"}, "cisco_n9kv": {"Cisco", "NX-OS"}, "vr-n9kv": {"Cisco", "NX-OS"},
	"cisco_asav": {"Cisco", "ASA"}, "cisco_ftdv": {"Cisco", "FTD"},
	"cvx": {"NVIDIA", "Cumulus Linux"}, "cumulus_cvx": {"NVIDIA", "Cumulus Linux"}, "aruba_aoscx": {"Aruba", "AOS-CX"},
	"mikrotik_ros": {"MikroTik", "RouterOS"}, "huawei_vrp": {"Huawei", "VRP"}, "fortinet_fortigate": {"Fortinet", "FortiOS"},
	"paloalto_panos": {"Palo Alto Networks", "PAN-OS"}, "vyosnetworks_vyos": {"VyOS Networks", "VyOS"}, "dell_ftosv": {"Dell", "OS10"},
	"sonic-vs": {"", "SONiC"}, "sonic-vm": {"", "SONiC"}, "dell_sonic": {"Dell", "SONiC"}, "linux": {"", "Linux"},
}
