package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
)

//go:embed catalog.json
var catalogJSON []byte

// catalog is the data that networks are composed of.
type catalog struct {
	Cities []struct {
		Code, Name, Region, Country, Zone string
		Lat, Lon                          float64
	}
	Streets []string
	Systems map[string]system
	Roles   []role
	VLANs   []string
	Events  []eventKind
}

// system is an operating system with its interface names.
type system struct {
	Versions   []string
	Management string // the management port
	LAG        string // the names of link aggregation groups, without the number
	First      int64  // the number of the first port
	Ports      []struct {
		Mbps   int64 // the highest speed with this prefix; 0 for all higher ones
		Prefix string
	}
}

// role is the function of a device.
type role struct {
	Name, Short string
	Ports       int64 // of a device type
	Models      []model
}

type model struct {
	Vendor, Name, OS string
	Serial           string // prefix of serial numbers
	Management       string // replaces that of the system
}

type eventKind struct {
	Severity      inventory.Severity
	Type, Message string
	Details       []string
	Share         int // percent of the events of working devices
}

// design is what [Plan] counts and [Fill] writes: the sites, and how they are connected.
type design struct {
	catalog
	devices int
	sizes   []int    // of the sites, in devices
	regions []string // that have sites
	wan     []circuit
}

// circuit connects routers of two sites.
type circuit struct{ ends [2]circuitEnd }

type circuitEnd struct{ site, router int }

// newDesign returns the design of a network.
func newDesign(devices int) (*design, error) {
	d := &design{devices: devices}
	if err := json.Unmarshal(catalogJSON, &d.catalog); err != nil {
		return nil, fmt.Errorf("demo: catalog.json: %w", err)
	}
	if devices <= 0 {
		return d, nil
	}
	sites := max(1, min(60, devices/50), devices/2500)
	weights, total := make([]int, sites), 0
	for i := range weights {
		switch weights[i] = []int{4, 5, 3, 2, 6}[i%5]; {
		case i == 0:
			weights[i] = 22 // the headquarters
		case i%10 == 0 || i == 5 || i == 8:
			weights[i] = 11
		}
		total += weights[i]
	}
	left := devices
	for i, weight := range weights {
		size := devices * weight / total
		if i == sites-1 {
			size = left
		}
		d.sizes = append(d.sizes, size)
		left -= size
	}
	d.connect()
	return d, nil
}

// connect plans the wide area network: the sites of a region are a ring, and the first sites of the regions are
// connected with each other.
func (d *design) connect() {
	rings := map[string][]int{}
	for i := range d.sizes {
		region := d.Cities[i%len(d.Cities)].Region
		if rings[region] == nil {
			d.regions = append(d.regions, region)
		}
		rings[region] = append(rings[region], i)
	}
	join := func(a, b, routerA, routerB int) {
		if a > b {
			a, b, routerA, routerB = b, a, routerB, routerA
		}
		d.wan = append(d.wan, circuit{[2]circuitEnd{{a, min(routerA, d.routers(a)-1)}, {b, min(routerB, d.routers(b)-1)}}})
	}
	for i, region := range d.regions {
		for _, other := range d.regions[:i] {
			join(rings[other][0], rings[region][0], 0, 0)
		}
		ring := rings[region]
		for at := range ring {
			switch next := (at + 1) % len(ring); {
			case len(ring) == 2 && at == 1:
				join(ring[0], ring[1], 0, 0)
			case next != at:
				join(ring[at], ring[next], 1, 0)
			}
		}
	}
}

// routers returns the number of routers of a site.
func (d *design) routers(site int) int {
	if d.sizes[site] >= redundant {
		return 2
	}
	return 1
}

// count returns the numbers of all records.
func (d *design) count() Counts {
	c := Counts{}
	if d.devices <= 0 {
		return c
	}
	c.Locations, c.VRFs, c.Prefixes = len(d.regions), len(routingTables), len(containers)
	for _, r := range d.Roles {
		c.DeviceTypes += len(r.Models)
		for _, m := range r.Models {
			c.PortTemplates += len(d.templates(&r, &m))
		}
	}
	for i, size := range d.sizes {
		c.add(newShape(i, size).count())
	}
	c.Events = d.devices / 5
	c.Links += len(d.wan)
	c.Interfaces += 2 * len(d.wan)
	for _, w := range d.wan {
		for _, end := range w.ends {
			if end.site < documentedSites {
				c.Terminations++
				c.Cables++
				c.CableEnds += 2
			}
		}
	}
	return c
}

// templates returns the port templates of a device type.
func (d *design) templates(r *role, m *model) (all []*inventory.PortTemplate) {
	add := func(kind inventory.PortType, name, of string, set func(*inventory.PortTemplate)) {
		p := &inventory.PortTemplate{Kind: kind, Name: name, Type: of}
		if set != nil {
			set(p)
		}
		all = append(all, p)
	}
	if r.Ports == 0 { // a patch panel
		add(inventory.PortRear, "[1-4]", "mpo-12", func(p *inventory.PortTemplate) { p.Positions = new(int64(positions)) })
		for rear := range 4 {
			add(inventory.PortFront, fmt.Sprintf("[%d-%d]", rear*positions+1, (rear+1)*positions), "lc", func(p *inventory.PortTemplate) {
				p.RearPort = fmt.Sprint(rear + 1)
			})
		}
		return all
	}
	s := d.Systems[m.OS]
	add(inventory.PortInterface, managementPort(m, &s), "copper", nil)
	prefix := s.portPrefix(gigabit)
	add(inventory.PortInterface, fmt.Sprintf("%s[%d-%d]", prefix, s.First, s.First+r.Ports-1), "copper", nil)
	return all
}

// portPrefix returns the names of ports with a speed, without the number.
func (s *system) portPrefix(mbps int64) string {
	for _, p := range s.Ports {
		if mbps <= p.Mbps || p.Mbps == 0 {
			return p.Prefix
		}
	}
	return ""
}

// managementPort returns the name of the management port of a model.
func managementPort(m *model, s *system) string {
	if m.Management != "" {
		return m.Management
	}
	return s.Management
}
