package netboxapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// text is an object of NetBox that is a text here, such as a role.
type text struct {
	records.Base
	path, name, slug string
}

func newText(path, name string) *text {
	return &text{Base: records.Base{ID: madeID(path, name)}, path: path, name: name, slug: slug(name)}
}

// madeID returns the id of an object that has no record.
func madeID(path, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(path+"/"+name)).String()
}

// texts are the fields with the objects of a list, as resource.field.
var texts = map[string][]string{
	"dcim/device-roles":  {"devices.role"},
	"dcim/platforms":     {"devices.os"},
	"dcim/manufacturers": {"devices.vendor", "device-types.manufacturer"},
	"dcim/device-types":  {"devices.model", "device-types.model"},
	"tenancy/tenants":    {"devices.tenant", "racks.tenant"},
}

// textsOf returns the objects of a list of texts by name: of each field the 1,000 values that most records have.
func (p *page) textsOf(path string) (all []*text, err error) {
	names := map[string]bool{}
	for _, field := range texts[path] {
		resource, name, _ := strings.Cut(field, ".")
		r, _ := p.r.Inventory.Records().Schema().Named(resource)
		if r == nil || p.r.Inventory.May(r, records.RouteList) != nil {
			continue
		}
		f, _ := r.Field(name)
		if !f.Counted {
			recs, err := p.readAll(resource)
			if err != nil {
				return nil, err
			}
			for _, rec := range recs {
				names[f.Value(rec).(string)] = true
			}
			continue
		}
		s, err := records.Summarize(p.ctx, p.r.Inventory.Records(), r, []*records.Field{f})
		if err != nil {
			return nil, err
		}
		for _, v := range s.Fields[0].Values {
			names[v.Value] = true
		}
	}
	delete(names, "")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, newText(path, name))
	}
	return all, nil
}

// textsWith returns the texts of which a key is one of some values.
func (p *page) textsWith(path string, values []string, key func(*text) string) (names []string, err error) {
	all, err := p.textsOf(path)
	for _, t := range all {
		if slices.Contains(values, key(t)) {
			names = append(names, t.name)
		}
	}
	return names, err
}

// readTexts reads the page of a list of texts.
func (p *page) readTexts() error {
	all, err := p.textsOf(p.list.path)
	var kept []records.Record
	for _, t := range all {
		is := func(name, value string) bool { return p.wanted[name] == nil || slices.Contains(p.wanted[name], value) }
		if is("id", t.ID) && is("name", t.name) && is("slug", t.slug) && strings.Contains(strings.ToLower(t.name), strings.ToLower(p.query.Text)) {
			kept = append(kept, t)
		}
	}
	p.cut(kept)
	return err
}

// cut makes the page of all records of a list.
func (p *page) cut(all []records.Record) {
	p.total = int64(len(all))
	all = all[min(p.offset, len(all)):]
	p.found = all[:min(p.limit, len(all))]
}

// selected makes the page of those of all records of a list that match the query, in its order.
func (p *page) selected(all []records.Record) {
	q := *p.query
	q.Offset, q.Limit = 0, 0
	p.cut(q.Select(all).Records)
}

// readAll returns all records of a resource that the sender may see.
func (p *page) readAll(resource string) (all []records.Record, err error) {
	r, _ := p.r.Inventory.Records().Schema().Named(resource)
	if r == nil || p.r.Inventory.May(r, records.RouteList) != nil {
		return nil, nil
	}
	for rec, err := range records.All(p.ctx, p.r.Inventory.Records(), &records.Query{Resource: r, Limit: maxLimit}) {
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

// places returns all locations that the sender may see, which are known then.
func (p *page) places() ([]records.Record, error) {
	if p.locations == nil {
		all, err := p.readAll("locations")
		if err != nil {
			return nil, err
		}
		for _, rec := range all {
			p.known[idOf(rec)] = rec
		}
		p.locations = all
	}
	return p.locations, nil
}

// readPlaces reads the page of a list of locations.
func (p *page) readPlaces() error {
	all, err := p.places()
	p.selected(slices.DeleteFunc(slices.Clone(all), func(rec records.Record) bool {
		kind, _, _, _ := p.place(rec.(*inventory.Location))
		return "dcim/"+kind+"s" != p.list.path
	}))
	return err
}

// placesWith returns the ids of the locations of which a key is one of some values.
func (p *page) placesWith(values []string, key func(*inventory.Location) string) (found []string, err error) {
	all, err := p.places()
	for _, rec := range all {
		if slices.Contains(values, key(rec.(*inventory.Location))) {
			found = append(found, idOf(rec))
		}
	}
	return found, err
}

// below returns the ids of the regions, sites or locations with a key, and of the locations within them.
func (p *page) below(kind string, values []string, key func(*inventory.Location) string) (found []string, err error) {
	all, err := p.places()
	for _, rec := range all {
		l, steps := rec.(*inventory.Location), 0
		for ; l != nil && steps < inventory.MaxBelow; steps++ {
			if is, _, _, _ := p.place(l); is == kind && slices.Contains(values, key(l)) {
				found = append(found, idOf(rec))
				break
			}
			l, _ = p.known[inventoryID(l.ParentID)].(*inventory.Location)
		}
	}
	if len(found) > inventory.MaxBelow {
		err = records.Refuse(kind, records.TooMany(inventory.MaxBelow, "locations: choose one of them"))
	}
	return found, err
}

// readSites reads the page of the sites, and how many prefixes each has.
func (p *page) readSites() error {
	r, ok := p.r.Inventory.Records().Schema().Named("prefixes")
	if ok && p.r.Inventory.May(r, records.RouteList) == nil {
		f, _ := r.Field("location_id")
		s, err := records.Summarize(p.ctx, p.r.Inventory.Records(), r, []*records.Field{f})
		if err != nil {
			return err
		}
		p.prefixes = map[string]int64{}
		for _, v := range s.Fields[0].Values {
			p.prefixes[v.Value] = v.Count
		}
	}
	return p.readPlaces()
}

// newType returns the type of a device without a record of it.
func newType(d *inventory.Device) *inventory.DeviceType {
	return &inventory.DeviceType{Base: records.Base{ID: madeID("dcim/device-types", d.Model)}, Manufacturer: d.Vendor, Model: d.Model}
}

// types returns all device types, and then those of devices that have none by the name of their model.
func (p *page) types() ([]records.Record, error) {
	all, err := p.readAll("device-types")
	if err != nil {
		return nil, err
	}
	models, err := p.textsOf("dcim/device-types")
	for _, model := range models {
		d, err := records.First[inventory.Device](p.ctx, p.r.Inventory.Records(), "model", model.name, "device_type_id", records.Condition{Op: records.IsNull, Value: true})
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, newType(d))
		}
	}
	return all, err
}

// readTypes reads the page of the device types.
func (p *page) readTypes() error {
	all, err := p.types()
	p.selected(all)
	return err
}

// typesWith returns what the types of which a key is one of some values have as another one.
func (p *page) typesWith(values []string, key, other func(*inventory.DeviceType) string) (found []string, err error) {
	all, err := p.types()
	for _, rec := range all {
		if t := rec.(*inventory.DeviceType); slices.Contains(values, key(t)) {
			found = append(found, other(t))
		}
	}
	return found, err
}

// readAddresses reads the page of the addresses: first those with a record.
func (p *page) readAddresses() error {
	page, err := p.r.Inventory.Records().List(p.ctx, p.query)
	if err != nil {
		return err
	}
	p.found, p.total = page.Records, page.Total
	if p.one && len(p.found) > 0 {
		return nil
	}
	more, err := p.cache.addresses(p)
	if err != nil {
		return err
	}
	q := *p.query
	q.Offset, q.Limit, q.Count = 0, 0, true
	others := q.Select(slices.Clone(more))
	p.total += others.Total
	from := min(max(int64(p.offset)-page.Total, 0), others.Total)
	p.found = append(p.found, others.Records[from:min(from+int64(p.limit-len(p.found)), others.Total)]...)
	return nil
}

// withoutRecord returns the addresses of interfaces and devices that have no record of their own.
func (p *page) withoutRecord() (all []records.Record, err error) {
	devices, err := p.readAll("devices")
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(devices, maxLimit) {
		if len(all) > maxRemembered {
			break
		}
		part := &page{ctx: p.ctx, r: p.r, found: some, known: map[string]records.Record{}, has: map[string]*of{}, ports: map[string]*inventory.Interface{}}
		for _, rec := range some {
			part.has[idOf(rec)] = &of{}
		}
		if err := part.loadPrimary(); err != nil {
			return nil, err
		}
		if err := part.where("addresses", "interface_id", slices.Collect(maps.Keys(part.ports)), func(rec records.Record) {
			a := rec.(*inventory.Address)
			if i := part.ports[*a.InterfaceID]; i != nil && hostOf(i.IPAddress) == hostOf(a.Address) {
				delete(part.ports, i.ID)
			}
		}); err != nil {
			return nil, err
		}
		for _, i := range part.ports {
			all = append(all, addressOf(i))
		}
		for id, has := range part.has {
			if has.primary != nil && has.primary.ID == id {
				all = append(all, has.primary)
			}
		}
	}
	if len(all) > maxRemembered {
		return nil, &records.Error{Kind: records.Invalid, Message: fmt.Sprintf("More than %d interfaces have an address without a record of its own: import these as addresses", maxRemembered)}
	}
	slices.SortFunc(all, func(a, b records.Record) int { return cmp.Compare(idOf(a), idOf(b)) })
	return all, nil
}

// maxReading bounds the reading of all addresses. It goes on when the request that began it gets 503, so that a later one
// finds them.
const maxReading = time.Minute

// maxRemembered is the maximum number of devices whose addresses are remembered.
const maxRemembered = 100_000

// cache remembers the addresses of devices, which take long to find, as long as nothing changes: what everybody sees who
// sees all.
type cache struct {
	chain records.AuditChain // nil for none

	reading chan struct{} // full while all addresses are read
	mu      sync.Mutex
	at      records.AuditPosition
	primary map[string]*inventory.Address // by device
	others  []records.Record              // without a record; nil if they are unknown
}

func newCache(store records.Store) *cache {
	chain, _ := store.(records.AuditChain)
	return &cache{chain: chain, reading: make(chan struct{}, 1)}
}

// now returns the end of the audit log, and forgets what was before it. ok is false if nothing may be remembered for the
// sender.
func (c *cache) now(p *page) (head records.AuditPosition, ok bool, err error) {
	ok = c.chain != nil && p.r.Inventory.SeesAll()
	for _, name := range []string{"devices", "interfaces", "addresses"} {
		r, _ := p.r.Inventory.Records().Schema().Named(name)
		ok = ok && p.r.Inventory.May(r, records.RouteList) == nil
	}
	if ok {
		head, err = c.chain.AuditHead(p.ctx)
	}
	if ok = ok && err == nil && len(head.Hash) > 0; ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !bytes.Equal(head.Hash, c.at.Hash) {
			c.at, c.primary, c.others = head, map[string]*inventory.Address{}, nil
		}
	}
	return head, ok, err
}

// primaries finds the primary addresses of the devices of a page.
func (c *cache) primaries(p *page) error {
	head, ok, err := c.now(p) // before the records, which may be newer
	if err != nil || !ok {
		return cmp.Or(err, p.loadPrimary())
	}
	c.mu.Lock()
	known := bytes.Equal(head.Hash, c.at.Hash)
	for _, rec := range p.found {
		a, found := c.primary[idOf(rec)]
		p.has[idOf(rec)].primary, known = a, known && found
	}
	c.mu.Unlock()
	if known {
		return nil
	}
	if err := p.loadPrimary(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(head.Hash, c.at.Hash) && len(c.primary)+len(p.found) <= maxRemembered {
		for _, rec := range p.found {
			c.primary[idOf(rec)] = p.has[idOf(rec)].primary
		}
	}
	return nil
}

// addresses returns the addresses without a record that the sender may see.
func (c *cache) addresses(p *page) ([]records.Record, error) {
	if _, ok, err := c.now(p); err != nil || !ok {
		if err != nil {
			return nil, err
		}
		return p.withoutRecord()
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	}
	head, _, err := c.now(p)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	found := c.others
	c.mu.Unlock()
	if found != nil {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), maxReading)
	defer cancel()
	reading := *p
	reading.ctx = ctx
	found, err = reading.withoutRecord()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && bytes.Equal(head.Hash, c.at.Hash) {
		c.others = append([]records.Record{}, found...)
	}
	return found, err
}
