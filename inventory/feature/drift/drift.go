package drift

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ashlar-go/ashlar/internal/discovery"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of a comparison. [Compare] returns an error of kind [records.Invalid] beyond them.
const (
	// maxRecords is the maximum number of interfaces, and of links, of the devices of the tables.
	maxRecords = 20_000
	// maxDifferences is the maximum number of differences.
	maxDifferences = 10_000
)

// Kind is the subject of a table.
type Kind string

// The kinds of tables.
const (
	Neighbors  Kind = "neighbors"
	Interfaces Kind = "interfaces"
)

// Table is one report of a device. It is complete: what it lacks, the device does not have. Tables of one device
// and kind count as one, such as those of LLDP and CDP.
type Table struct {
	DeviceID   string
	Kind       Kind
	Neighbors  []discovery.Neighbor // of the kind Neighbors
	Protocol   string               // of the neighbours, such as lldp: the discovery of new links
	Interfaces []discovery.Port     // of the kind Interfaces
}

// Difference is a difference between a table and the inventory.
type Difference struct {
	ID        string         `json:"id"` // of the same difference in later reports too
	Type      discovery.Kind `json:"type"`
	Resource  string         `json:"resource"` // links or interfaces
	DeviceID  string         `json:"device_id"`
	Hostname  string         `json:"hostname"`
	Interface string         `json:"interface"` // as the inventory names it, or else as the device does
	Fields    []string       `json:"fields"`    // what is different
	Expected  map[string]any `json:"expected"`  // by the inventory; nil if unexpected
	Observed  map[string]any `json:"observed"`  // nil if missing
	Change    *Change        `json:"change"`    // that removes the difference; nil if there is none
	Reason    string         `json:"reason"`    // why there is none
}

// The actions of changes.
const (
	Create = "create"
	Update = "update"
	Delete = "delete"
)

// Change is a change of the inventory. Values are fields, with natural keys (REFERENCE.md, 1.9).
type Change struct {
	Action   string         `json:"action"`
	Resource string         `json:"resource"`
	RecordID string         `json:"record_id"` // empty for a new record
	Values   map[string]any `json:"values"`

	version  int64  // of the record that is changed or deleted
	ends     pair   // of the link that shall be there
	protocol string // of a new link
	deviceID string // of a new interface
}

// pair are the interfaces of a link, in order.
type pair [2]string

// comparison holds the state of Compare.
type comparison struct {
	from       records.Reader
	devices    map[string]*inventory.Device    // of the tables, and those that are linked to them
	interfaces map[string]*inventory.Interface // of these devices, all or those that are linked
	own        map[string][]*inventory.Interface
	links      map[string][]*inventory.Link // by the id of an interface
	byMAC      map[string][]*inventory.Interface
	found      []*Difference
}

// Compare returns the differences between tables and the records of a reader, in the order of the tables. Those
// of devices that the reader does not have are ignored. The error is of kind [records.Invalid] if there are too
// many.
func Compare(ctx context.Context, from records.Reader, tables []Table) ([]*Difference, error) {
	if err := records.CheckStore(from, new(inventory.Link)); err != nil {
		return nil, err
	}
	c := &comparison{
		from: from, devices: map[string]*inventory.Device{}, interfaces: map[string]*inventory.Interface{},
		own: map[string][]*inventory.Interface{}, links: map[string][]*inventory.Link{}, byMAC: map[string][]*inventory.Interface{},
	}
	tables = merge(tables)
	if err := c.readOwn(ctx, tables); err != nil {
		return nil, err
	}
	var heard []*neighbor
	for _, t := range tables {
		switch device := c.devices[t.DeviceID]; {
		case device == nil: // it was deleted, or the caller may not see it
		case t.Kind == Interfaces:
			c.compareInterfaces(device, t.Interfaces)
		default:
			heard = append(heard, c.compareNeighbors(device, &t)...)
		}
		if len(c.found) > maxDifferences {
			return nil, tooMany(fmt.Sprintf("there are more than %d differences", maxDifferences))
		}
	}
	if err := c.explain(ctx, heard); err != nil {
		return nil, err
	}
	for _, d := range c.found {
		if err := d.identify(); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// merge joins the tables of one device and kind, in the order of the first of each.
func merge(tables []Table) []Table {
	type key struct{ device, kind string }
	at := map[key]int{}
	var all []Table
	for _, t := range tables {
		t.Neighbors = slices.Clone(t.Neighbors)
		for i := range t.Neighbors {
			t.Neighbors[i].Protocol = t.Protocol
		}
		k := key{t.DeviceID, string(t.Kind)}
		i, ok := at[k]
		if !ok {
			at[k] = len(all)
			all = append(all, t)
			continue
		}
		all[i].Neighbors = append(all[i].Neighbors, t.Neighbors...)
		all[i].Interfaces = slices.Concat(all[i].Interfaces, t.Interfaces)
	}
	return all
}

// identify sets the id of a difference.
func (d *Difference) identify() error {
	d.ID = ""
	doc, err := json.Marshal(d)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(doc)
	d.ID = base64.RawURLEncoding.EncodeToString(sum[:16])
	return nil
}

// tooMany returns the error for tables of too many records.
func tooMany(what string) *records.Error {
	return &records.Error{Kind: records.Invalid, Message: "Too many records: " + what + ": send fewer tables in one request"}
}

// Apply makes the changes of differences, in the transaction of [records.Engine.Together], in which [Compare] has
// found them. Differences without a change are ignored. may is called before the first change of each kind and
// returns an error to refuse it; nil allows all. The error is of kind [records.Conflict] if one of the records
// has changed since.
func Apply(ctx context.Context, in *records.Engine, by records.Caller, chosen []*Difference, may func(r *records.Resource, does records.Routes) error) error {
	if in == nil {
		return errors.New("drift.Apply: the engine is nil")
	}
	schema := in.Store().Schema()
	links, interfaces := records.Of[inventory.Link](schema), records.Of[inventory.Interface](schema)
	ofLinks, ofInterfaces := planLinks(chosen), map[string][]*Difference{}
	for _, d := range chosen {
		if d.Change != nil && d.Change.Resource == "interfaces" {
			ofInterfaces[d.Change.Action] = append(ofInterfaces[d.Change.Action], d)
		}
	}
	for _, part := range []struct {
		r      *records.Resource
		action string
		of     map[string][]*Difference
	}{
		{links, Delete, ofLinks},
		{links, Update, ofLinks},
		{links, Create, ofLinks},
		{interfaces, Update, ofInterfaces},
		{interfaces, Create, ofInterfaces},
		{interfaces, Delete, ofInterfaces}, // with the links that are left
	} {
		if len(part.of[part.action]) == 0 {
			continue
		}
		if may != nil {
			does := map[string]records.Routes{Create: records.RouteCreate, Update: records.RouteChangeMany, Delete: records.RouteDeleteMany}[part.action]
			if err := may(part.r, does); err != nil {
				return err
			}
		}
		for some := range slices.Chunk(part.of[part.action], records.MaxItems) {
			if err := run(ctx, in, by, part.r, part.action, some); err != nil {
				return named(err, part.r, some)
			}
		}
	}
	return nil
}

// planLinks returns the changes of links by action. Both ends of a link may report the same difference, which makes one
// change. An expected link is created, or the first link that differs from it is changed; all others are deleted.
func planLinks(chosen []*Difference) map[string][]*Difference {
	plan := map[string][]*Difference{}
	becomes, wanted, gone := map[string]bool{}, map[pair]bool{}, map[string]bool{}
	each := func(action string, do func(d *Difference)) {
		for _, d := range chosen {
			if d.Change != nil && d.Change.Resource == "links" && d.Change.Action == action {
				do(d)
			}
		}
	}
	each(Update, func(d *Difference) {
		if ends := d.Change.ends; !becomes[d.Change.RecordID] && !wanted[ends] {
			becomes[d.Change.RecordID], wanted[ends] = true, true
			plan[Update] = append(plan[Update], d)
		}
	})
	add := func(d *Difference) {
		if ends := d.Change.ends; !wanted[ends] {
			wanted[ends] = true
			plan[Create] = append(plan[Create], d)
		}
	}
	each(Update, add) // of a link that becomes another one
	each(Create, add)
	remove := func(d *Difference) {
		if id := d.Change.RecordID; !becomes[id] && !gone[id] {
			gone[id] = true
			plan[Delete] = append(plan[Delete], d)
		}
	}
	each(Update, remove) // another link becomes what this one should
	each(Delete, remove)
	return plan
}

// run performs an action on the records of differences.
func run(ctx context.Context, in *records.Engine, by records.Caller, r *records.Resource, action string, differences []*Difference) error {
	var recs []records.Record
	var edits []records.Edit
	for _, d := range differences {
		var patch records.Patch
		doc, err := json.Marshal(d.Change.Values)
		if err == nil {
			err = json.Unmarshal(doc, &patch)
		}
		if err != nil {
			return err
		}
		if action == Create {
			rec, err := d.Change.record(r, patch)
			if err != nil {
				return err
			}
			recs = append(recs, rec)
			continue
		}
		edits = append(edits, records.Edit{ID: d.Change.RecordID, Apply: func(rec records.Record) error {
			link, isLink := rec.(*inventory.Link)
			switch {
			case rec.Meta().Version != d.Change.version:
				return changed(r)
			case action == Delete:
				return nil
			case isLink:
				link.AInterfaceID, link.BInterfaceID = d.Change.ends[0], d.Change.ends[1]
				return nil
			}
			return r.Patch(patch)(rec)
		}})
	}
	switch action {
	case Create:
		return in.Create(ctx, by, recs...)
	case Update:
		_, err := in.Update(ctx, by, r, edits...)
		return err
	}
	return in.Delete(ctx, by, r, edits...)
}

// record returns the new record of a change.
func (c *Change) record(r *records.Resource, values records.Patch) (records.Record, error) {
	if c.Resource == "links" {
		return &inventory.Link{AInterfaceID: c.ends[0], BInterfaceID: c.ends[1], Discovery: c.protocol}, nil
	}
	delete(values, "device")
	i := &inventory.Interface{}
	err := r.Patch(values)(i)
	i.DeviceID = c.deviceID
	return i, err
}

func changed(r *records.Resource) *records.Error {
	return &records.Error{Kind: records.Conflict, Message: r.Label + " has changed since it was compared: compare again"}
}

// named names the differences of failed items by their ids.
func named(err error, r *records.Resource, differences []*Difference) error {
	e, ok := errors.AsType[*records.Error](err)
	if !ok {
		return err
	}
	if e.Kind == records.NotFound {
		return changed(r)
	}
	all := *e
	if len(differences) == 1 {
		all.Message = "Difference " + differences[0].ID + ": " + e.Message
	}
	all.Items = slices.Clone(e.Items)
	for i := range all.Items {
		if index := all.Items[i].Index; index < len(differences) {
			all.Items[i].ID = differences[index].ID
		}
	}
	return &all
}
