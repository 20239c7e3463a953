package demo

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The time spans before Options.Now in which records are created.
const (
	deviceSpan = 3 * 365 * 24 * time.Hour
	eventSpan  = 30 * 24 * time.Hour // no device is younger
)

// network generates records in the order in which they are written.
type network struct {
	*writer
	*design
	plan    Counts
	types   map[string]string // the ids of device types by model
	vrfs    map[string]string // ids by name
	regions map[string]string // ids by name
	ports   [][2]*circuitPort // of the circuits
	blocks  int               // of management addresses
}

// site is a site that is being written.
type site struct {
	*shape
	code, name string
	placeIDs   []string
	rackIDs    []string
	vlans      []string // ids
	block      int      // the first one with its management addresses
	hosts      []host
	ends       [][2]*inventory.Interface // of each wire
	cables     int
}

// host is a device that is being written.
type host struct {
	*inventory.Device
	unit     *unit
	role     *role
	model    *model
	system   system
	works    bool
	down, up int64                // the numbers of ports used
	ports    int64                // interfaces
	lag      *inventory.Interface // nil without one
	uplink   *inventory.Interface // the first one
}

// circuitPort is the end of a circuit at a router.
type circuitPort struct {
	*inventory.Interface
	host *host
}

func (n *network) build(ctx context.Context) error {
	n.types, n.vrfs, n.regions = map[string]string{}, map[string]string{}, map[string]string{}
	begin := n.Now.Add(-deviceSpan - 48*time.Hour).Truncate(time.Microsecond)
	n.deviceTypes(ctx, begin)
	n.tables(ctx, begin)
	for _, name := range n.design.regions {
		region := &inventory.Location{Name: name, Kind: inventory.LocationRegion}
		n.add(ctx, region, begin)
		n.regions[name] = region.ID
	}
	for i := range n.sizes {
		n.site(ctx, i)
		if n.err != nil {
			return n.err
		}
	}
	entry, err := records.New(n.store, nil).AuditEntry(records.Caller{Name: "demo"}, "fill", "inventory", "",
		records.Changes{"devices": {After: int64(n.devices)}})
	if err != nil {
		return err
	}
	n.add(ctx, entry, n.Now)
	n.flush(ctx)
	return n.err
}

// deviceTypes writes the models with their ports.
func (n *network) deviceTypes(ctx context.Context, at time.Time) {
	for i := range n.Roles {
		r := &n.Roles[i]
		for j := range r.Models {
			m, height := &r.Models[j], max(1, heights[i])
			t := &inventory.DeviceType{Manufacturer: m.Vendor, Model: m.Name, Height: &height, Description: strings.ToUpper(r.Name[:1]) + strings.ReplaceAll(r.Name[1:], "-", " ")}
			n.add(ctx, t, at)
			n.types[m.Name] = t.ID
			for _, p := range n.templates(r, m) {
				p.DeviceTypeID = t.ID
				p.Normalize()
				n.add(ctx, p, at)
			}
		}
	}
}

// site writes a site with all that belongs to it.
func (n *network) site(ctx context.Context, index int) {
	city := &n.Cities[index%len(n.Cities)]
	number := index/len(n.Cities) + 1
	s := &site{shape: newShape(index, n.sizes[index]), code: city.Code + strconv.Itoa(number), name: city.Name, block: n.blocks}
	if number > 1 {
		s.name += " " + strconv.Itoa(number)
	}
	n.blocks += blocks(len(s.units))
	at := n.Now.Add(-deviceSpan - 24*time.Hour + time.Duration(index)*time.Second)
	n.locations(ctx, s, at)
	for _, r := range s.racks {
		height := r.height
		rack := &inventory.Rack{
			Name: r.name, LocationID: &s.placeIDs[r.place], Height: &height, Status: inventory.RackActive,
			AssetTag: fmt.Sprintf("RACK-%05d", n.made.Racks+1),
		}
		n.add(ctx, rack, at)
		s.rackIDs = append(s.rackIDs, rack.ID)
	}
	n.virtualNetworks(ctx, s, at)
	n.prefixes(ctx, s, at)
	n.hosts(ctx, s)
	n.interfaces(ctx, s)
	n.services(ctx, s)
	n.links(ctx, s)
	if s.documented {
		n.cabling(ctx, s)
	}
	n.circuits(ctx, s)
	n.metrics(ctx, s)
	n.events(ctx, s)
}

// locations writes the places of a site.
func (n *network) locations(ctx context.Context, s *site, at time.Time) {
	city := &n.Cities[s.index%len(n.Cities)]
	near := func(degrees float64) *float64 {
		degrees = math.Round(degrees*10_000+float64(n.rng.IntN(1001)-500)) / 10_000
		return &degrees
	}
	names, codes := make([]string, len(s.places)), make([]string, len(s.places))
	for i, p := range s.places {
		l := &inventory.Location{City: city.Name, Country: city.Country, Timezone: city.Zone, Kind: p.kind}
		switch {
		case i == 0:
			region := n.regions[city.Region]
			names[i], codes[i], l.ParentID = s.name, s.code, &region
			l.Address = strconv.Itoa(1+n.rng.IntN(200)) + " " + pick(n, n.Streets)
			l.Lat, l.Lon = near(city.Lat), near(city.Lon)
		default:
			label := ", " + p.name
			switch p.kind {
			case inventory.LocationBuilding:
				label = " " + p.name
			case inventory.LocationFloor:
				label = ", floor " + p.name
			}
			names[i], codes[i] = names[p.parent]+label, codes[p.parent]+"-"+strings.ToLower(strings.ReplaceAll(p.name, " ", "-"))
			l.ParentID = &s.placeIDs[p.parent]
		}
		l.Name, l.SiteCode = names[i], codes[i]
		n.add(ctx, l, at)
		s.placeIDs = append(s.placeIDs, l.ID)
	}
}

// created returns the creation time of a device.
func (n *network) created(device int) time.Time {
	span := deviceSpan - eventSpan - 24*time.Hour
	return n.Now.Add(-deviceSpan + span/time.Duration(n.devices)*time.Duration(device)).Truncate(time.Microsecond)
}

func pick[T any](n *network, from []T) T { return from[n.rng.IntN(len(from))] }

// metrics writes a series of the last 24 hours for the first devices of a site.
func (n *network) metrics(ctx context.Context, s *site) {
	const step = 20 * time.Minute
	left := seriesOf(len(s.units))
	for i := 0; left > 0; i++ {
		h := &s.hosts[i%len(s.hosts)]
		if !h.works || !managed(h.unit.role) && i < len(s.hosts) {
			continue
		}
		left--
		load, memory := 12+35*n.rng.Float64(), 35+40*n.rng.Float64()
		uptime := n.rng.Int64N(400 * 24 * 3600)
		for point := range seriesPoints {
			at := n.Now.Add(-step*time.Duration(seriesPoints-1-point) - time.Duration(n.rng.IntN(30))*time.Second).Truncate(time.Microsecond)
			hour := float64(at.Hour()) + float64(at.Minute())/60
			day := max(0, math.Sin((hour-6)*math.Pi/14)) // work from 6 to 20 o'clock
			value := func(v float64) *float64 {
				v = math.Round(10*min(max(v+2*n.rng.NormFloat64(), 1), 99)) / 10
				return &v
			}
			up := uptime + int64(step/time.Second)*int64(point)
			m := &inventory.Metric{
				DeviceID: h.ID, CPU: value(load * (0.5 + day)), Memory: value(memory + 6*day), Temp: value(31 + load/4 + 7*day), UptimeSeconds: &up, TS: &at,
			}
			n.add(ctx, m, at)
		}
	}
}

// The series of metrics.
const seriesPoints = 72 // in 24 hours

// seriesOf returns the number of devices of a site that have metrics.
func seriesOf(devices int) int {
	if devices == 0 {
		return 0
	}
	return max(1, devices/100)
}

// events writes the share of the events that a site has: first those of devices that cannot be reached.
func (n *network) events(ctx context.Context, s *site) {
	var offline []*host
	var others []*host
	for i := range s.hosts {
		switch h := &s.hosts[i]; {
		case h.Status == inventory.DeviceOffline && h.LastSeen != nil:
			offline = append(offline, h)
		case h.works && h.unit.role != panel:
			others = append(others, h)
		}
	}
	for i := range n.plan.Events*n.made.Devices/n.devices - n.made.Events {
		if i < len(offline) {
			n.event(ctx, offline[i], &n.Events[len(n.Events)-1], *offline[i].LastSeen)
			continue
		}
		kinds := n.Events[:len(n.Events)-1] // without that of devices that cannot be reached
		percent := n.rng.IntN(100 - n.Events[len(kinds)].Share)
		kind := &kinds[0]
		for k := range kinds {
			if kind = &kinds[k]; percent < kind.Share {
				break
			}
			percent -= kind.Share
		}
		ago := n.rng.Float64()
		n.event(ctx, pick(n, others), kind, n.Now.Add(-time.Duration(ago*ago*float64(eventSpan))).Truncate(time.Microsecond))
	}
}

func (n *network) event(ctx context.Context, h *host, kind *eventKind, at time.Time) {
	e := &inventory.Event{Severity: kind.Severity, Type: kind.Type, DeviceID: &h.ID, LocationID: h.LocationID}
	name := "management"
	if h.uplink != nil {
		name = h.uplink.Name
	}
	e.Message = strings.NewReplacer("{port}", name, "{detail}", pick(n, kind.Details)).Replace(kind.Message)
	if h.uplink != nil && strings.Contains(kind.Message, "{port}") {
		e.InterfaceID = &h.uplink.ID
	}
	if n.Now.Sub(at) > 7*24*time.Hour && n.rng.IntN(4) > 0 {
		acknowledged := at.Add(time.Duration(1+n.rng.IntN(240)) * time.Minute)
		e.AcknowledgedAt = &acknowledged
	}
	n.add(ctx, e, at)
}
