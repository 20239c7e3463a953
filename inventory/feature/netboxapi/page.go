package netboxapi

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// page is the part of a list that a request asks for.
type page struct {
	ctx   context.Context
	r     *feature.Request
	base  string // the address of the API
	list  *list
	cache *cache

	query         *records.Query // nil for a list that has nothing here
	limit, offset int
	cursor        bool                // whether the page begins at an id
	one           bool                // whether the object with an id is asked for
	brief         bool                // whether objects have few members
	only, without []string            // the members of objects to return, and to leave out; none is all
	none          bool                // whether a filter matches nothing
	wanted        map[string][]string // the filters of a list of texts

	found []records.Record
	total int64
	more  bool

	known  map[string]records.Record       // that the objects refer to, by id; nil for one that the sender may not see
	nested map[string]raw                  // the brief objects of these
	texts  map[[2]string]raw               // those of texts, by the path of their list
	extra  []*records.Field                // the custom fields of the list; nil before they are known
	has    map[string]*of                  // what interfaces and devices have, by their id
	ports  map[string]*inventory.Interface // with an address, if they are wanted

	locations []records.Record // all, once they are known
	prefixes  map[string]int64 // their number by location
}

// of is what an interface or a device has.
type of struct {
	vlans     []string // tagged ones
	addresses int
	cable     *inventory.Cable
	primary   *inventory.Address
}

// raw is a value in JSON.
type raw string

const null raw = "null"

// read reads the records of the page, and what they refer to.
func (p *page) read(l *list) error {
	if p.query == nil || p.none {
		return nil
	}
	if l.read != nil {
		if err := l.read(p); err != nil {
			return err
		}
	} else {
		found, err := p.r.Inventory.Records().List(p.ctx, p.query)
		if err != nil {
			return err
		}
		p.found, p.total, p.more = found.Records, found.Total, found.More
	}
	if err := p.load(p.found); err != nil || p.brief || len(p.found) == 0 {
		return err
	}
	p.has = map[string]*of{}
	for _, rec := range p.found {
		p.has[rec.Meta().ID] = &of{}
	}
	switch p.found[0].(type) {
	case *inventory.Device:
		return p.cache.primaries(p)
	case *inventory.Interface:
		return p.loadPorts()
	}
	return nil
}

// maxLookup is the number of ids of one query.
const maxLookup = 500

// where calls f with the records that the sender may see whose field has one of some values.
func (p *page) where(resource, field string, values []string, f func(records.Record), more ...records.Filter) error {
	r, _ := p.r.Inventory.Records().Schema().Named(resource)
	if r == nil || p.r.Inventory.May(r, records.RouteList) != nil {
		return nil
	}
	for some := range slices.Chunk(values, maxLookup) {
		q := (&records.Query{Resource: r, Limit: 2 * maxLimit}).WhereIn(field, some)
		if field != "host" {
			q.Sort = []records.SortKey{{Field: q.Filters[0].Field}} // in the order of its index
		}
		q.Filters = append(q.Filters, more...)
		for rec, err := range records.All(p.ctx, p.r.Inventory.Records(), q) {
			if err != nil {
				return err
			}
			f(rec)
		}
	}
	return nil
}

// load reads what records refer to: of these the locations around them and the devices that they belong to.
func (p *page) load(recs []records.Record) error {
	for first := true; len(recs) > 0; first = false {
		wanted := map[string][]string{}
		for _, rec := range recs {
			r, err := p.r.Inventory.Records().Schema().Of(rec)
			if err != nil {
				continue // a text
			}
			for _, f := range r.Fields() {
				if f.Ref == nil || !first && f.Name != "parent_id" && f.Name != "device_id" && f.Name != "location_id" {
					continue
				}
				if id, ok := f.Value(rec).(string); ok {
					if _, known := p.known[id]; !known {
						p.known[id], wanted[f.Ref.To] = nil, append(wanted[f.Ref.To], id)
					}
				}
			}
		}
		recs = nil
		for resource, ids := range wanted {
			if err := p.where(resource, "id", ids, func(rec records.Record) {
				p.known[rec.Meta().ID], recs = rec, append(recs, rec)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ids returns those of records.
func ids(recs []records.Record) (all []string) {
	for _, rec := range recs {
		all = append(all, idOf(rec))
	}
	return all
}

// isNull returns the condition that a field has no value, or that it has one.
func (p *page) isNull(resource, field string, is bool) records.Filter {
	r, _ := p.r.Inventory.Records().Schema().Named(resource)
	f, _ := r.Field(field)
	return records.Filter{Field: f, Op: records.IsNull, Value: is}
}

// maxTagged is the maximum number of tagged VLANs of the interfaces of a page.
const maxTagged = 100_000

// loadPorts reads the tagged VLANs, cables and numbers of addresses of interfaces.
func (p *page) loadPorts() error {
	all := ids(p.found)
	var vlans []records.Record
	err := p.where("tagged-vlans", "interface_id", all, func(rec records.Record) {
		if v := rec.(*inventory.TaggedVLAN); len(vlans) <= maxTagged {
			p.has[v.InterfaceID].vlans, vlans = append(p.has[v.InterfaceID].vlans, v.VLANID), append(vlans, v)
		}
	})
	if len(vlans) > maxTagged {
		err = records.Refuse("limit", records.TooMany(maxTagged, "tagged VLANs of a page: ask for fewer interfaces"))
	}
	if err == nil {
		err = p.load(vlans)
	}
	for _, field := range []string{"a_interface_id", "b_interface_id"} {
		if err == nil {
			err = p.where("cables", field, all, func(rec records.Record) {
				c := rec.(*inventory.Cable)
				p.known[c.ID] = c
				for _, id := range []*string{c.AInterfaceID, c.BInterfaceID} {
					if id != nil && p.has[*id] != nil {
						p.has[*id].cable = c
					}
				}
			})
		}
	}
	if err == nil {
		err = p.where("addresses", "interface_id", all, func(rec records.Record) {
			p.has[*rec.(*inventory.Address).InterfaceID].addresses++
		})
	}
	for _, rec := range p.found {
		if i := rec.(*inventory.Interface); i.IPAddress != "" { // which may have no record of its own
			p.has[i.ID].addresses = max(p.has[i.ID].addresses, 1)
		}
	}
	return err
}

// loadPrimary reads the primary addresses of devices: of an interface with the address if there is one, and then the
// record of the address.
func (p *page) loadPrimary() error {
	want := map[string]string{} // addresses by device
	for _, rec := range p.found {
		if d := rec.(*inventory.Device); d.IP != "" {
			want[d.ID] = d.IP
			p.has[d.ID].primary = &inventory.Address{Base: records.Base{ID: d.ID, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt}, Address: d.IP, Status: inventory.AddressActive}
		}
	}
	ports := map[string]*inventory.Interface{}
	err := p.where("interfaces", "device_id", ids(p.found), func(rec records.Record) {
		i := rec.(*inventory.Interface)
		if p.ports != nil {
			p.ports[i.ID] = i
		}
		if hostOf(i.IPAddress) == want[i.DeviceID] && want[i.DeviceID] != "" {
			ports[i.ID], p.known[i.ID] = i, i
			p.has[i.DeviceID].primary = addressOf(i)
			delete(want, i.DeviceID)
		}
	}, p.isNull("interfaces", "ip_address", false))
	if err != nil {
		return err
	}
	found := func(rec records.Record) {
		a := rec.(*inventory.Address)
		if i, _ := p.known[*a.InterfaceID].(*inventory.Interface); i != nil && p.has[i.DeviceID] != nil && p.has[i.DeviceID].primary != nil {
			if primary := p.has[i.DeviceID].primary; hostOf(a.Address) == hostOf(primary.Address) {
				p.has[i.DeviceID].primary = a
			}
		}
	}
	if err = p.where("addresses", "interface_id", slices.Collect(maps.Keys(ports)), found); err != nil || len(want) == 0 {
		return err
	}
	var hosts []string // of further addresses of interfaces, which are no primary ones
	for _, ip := range want {
		hosts = append(hosts, "/"+ip)
	}
	var others []records.Record
	err = p.where("addresses", "host", hosts, func(rec records.Record) {
		if rec.(*inventory.Address).InterfaceID != nil {
			others = append(others, rec)
		}
	})
	if err == nil {
		err = p.load(others)
	}
	for _, rec := range others {
		found(rec)
	}
	return err
}

// addressOf returns the address of an interface that has no record of its own.
func addressOf(i *inventory.Interface) *inventory.Address {
	return &inventory.Address{
		Base: records.Base{ID: i.ID, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt}, Address: i.IPAddress, InterfaceID: &i.ID, Status: inventory.AddressActive,
	}
}

// hostOf returns an address without its prefix length.
func hostOf(address string) string {
	host, _, _ := strings.Cut(address, "/")
	return host
}

// withLength returns an address with its prefix length, and its family.
func withLength(address string) (text string, family raw) {
	addr, err := netip.ParseAddr(hostOf(address))
	family = raw(`{"value":4,"label":"IPv4"}`)
	length := "/32"
	if err == nil && addr.Is6() {
		family, length = raw(`{"value":6,"label":"IPv6"}`), "/128"
	}
	if !strings.Contains(address, "/") {
		address += length
	}
	return address, family
}

// members appends members with their values, without braces, and without those that the request leaves out.
func (p *page) members(b []byte, pairs ...any) []byte {
	for i := 0; i < len(pairs); i += 2 {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		// Names need no escapes.
		b = append(append(append(b, '"'), pairs[i].(string)...), `":`...)
		switch v := pairs[i+1].(type) { // #nosec G602 -- they come in pairs
		case raw:
			b = append(b, v...)
		case string:
			b = encode.String(b, v)
		case time.Time:
			b = encode.Time(b, v)
		default:
			b = encode.JSON(b, v)
		}
	}
	return b
}

// choice returns a value of NetBox with its label, null for none.
func choice(value string, names map[string]string) raw {
	if value == "" {
		return null
	}
	if name := names[value]; name != "" {
		value = name
	}
	label := strings.ReplaceAll(value, "-", " ")
	label = strings.ToUpper(label[:1]) + label[1:]
	return raw(append(encode.String(append(encode.String([]byte(`{"value":`), value), `,"label":`...), label), '}'))
}

// ref returns the brief object of a record, null for none and for one that the sender may not see.
func (p *page) ref(id *string) raw {
	if id == nil || p.known[*id] == nil {
		return null
	}
	return p.refTo(p.known[*id])
}

// refTo returns the brief object of a record.
func (p *page) refTo(rec records.Record) raw {
	id := rec.Meta().ID
	if p.nested[id] == "" {
		p.nested[id] = raw(p.append(nil, rec, false))
	}
	return p.nested[id]
}

// tags returns tags as objects.
func (p *page) tags(names []string) raw {
	b := []byte("[")
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.text("extras/tags", name)...)
	}
	return raw(append(b, ']'))
}

// text returns the brief object of a text, null for none.
func (p *page) text(path, name string) raw {
	key := [2]string{path, name}
	switch {
	case name == "":
		return null
	case p.texts[key] == "":
		p.texts[key] = raw(p.append(nil, newText(path, name), false))
	}
	return p.texts[key]
}
