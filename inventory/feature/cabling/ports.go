package cabling

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// portFields are the resources of ports, and how fields of cables name them.
var portFields = map[string]string{"interfaces": "interface", "front-ports": "front_port", "rear-ports": "rear_port", "terminations": "termination"}

// portResources are the resources of ports in the order of pages.
var portResources = []string{"interfaces", "front-ports", "rear-ports", "terminations"}

// port is a port of a device.
type port struct {
	Name, DeviceID, Device string
	URL, DeviceURL         string
	DeviceStatus           string
	Down                   bool // of an interface
}

// portFieldsOf returns the fields of a port that pages need.
func portFieldsOf(resource string) string {
	fields := "id,name,device_id"
	if resource == "interfaces" {
		fields += ",status,admin_status,oper_status"
	}
	return fields
}

// down reports whether a status of an interface or link says that it passes nothing on (REFERENCE.md, 2.13).
func down(rec site.Record) bool {
	return slices.ContainsFunc([]string{"status", "admin_status", "oper_status"}, func(name string) bool {
		return inventory.LinkStatus(rec.Text(name)).Stops()
	})
}

// readPorts returns the ports with some ids, by resource, that the sender may see.
func readPorts(q *site.Request, wanted map[string][]string) (map[string]port, error) {
	found := map[string]port{}
	var ids []string
	for resource := range wanted {
		recs, err := q.ByIDs(resource, wanted[resource], portFieldsOf(resource))
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			found[rec.ID()] = port{
				Name: rec.Text("name"), DeviceID: rec.Text("device_id"), URL: q.RecordURL(resource, rec.ID()), Down: resource == "interfaces" && down(rec),
			}
			ids = append(ids, rec.Text("device_id"))
		}
	}
	devices, err := q.ByIDs("devices", ids, "id", "hostname", "status")
	if err != nil {
		return nil, err
	}
	byID := map[string]site.Record{}
	for _, rec := range devices {
		byID[rec.ID()] = rec
	}
	for id, p := range found {
		if rec := byID[p.DeviceID]; rec != nil {
			p.Device, p.DeviceStatus, p.DeviceURL = rec.Text("hostname"), rec.Text("status"), q.RecordURL("devices", p.DeviceID)
		}
		found[id] = p
	}
	return found, nil
}

// connection is a cable or link of a port.
type connection struct {
	Resource, URL      string
	Rec                site.Record
	Status             string
	Far                port // its name is empty if the sender may not see it
	down               bool
	farID, farResource string
}

// Name returns what people call the cable or link.
func (c connection) Name() string {
	if c.Resource == "cables" {
		return cmp.Or(c.Rec.Text("label"), "Cable")
	}
	return "Link"
}

// connections returns the cables and links of up to 100 ports of a resource, by their ids. Of a cable and its
// link only the cable is there, with the status of the link, which is observed.
func connections(q *site.Request, resource string, ids []string) (map[string][]connection, error) {
	all := map[string][]connection{}
	if len(ids) == 0 {
		return all, nil
	}
	for _, source := range []string{"cables", "links"} {
		for _, side := range []string{"a", "b"} {
			if source == "links" && resource != "interfaces" || !q.MaySee(source) {
				continue
			}
			if err := connectionsAt(q, source, side, resource, ids, all); err != nil {
				return nil, err
			}
		}
	}
	wanted := map[string][]string{}
	for _, list := range all {
		for _, c := range list {
			wanted[c.farResource] = append(wanted[c.farResource], c.farID)
		}
	}
	far, err := readPorts(q, wanted)
	if err != nil {
		return nil, err
	}
	for _, list := range all {
		for i := range list {
			list[i].Far = far[list[i].farID]
		}
	}
	return all, nil
}

// connectionsAt adds the cables or links that have one of some ports at a side.
func connectionsAt(q *site.Request, source, side, resource string, ids []string, all map[string][]connection) error {
	near := side + "_" + portFields[resource] + "_id"
	page, err := q.Some(source, records.MaxLimit, url.Values{near + "__in": {strings.Join(ids, ",")}})
	if err != nil {
		return err
	}
	other := map[string]string{"a": "b", "b": "a"}[side]
	for _, rec := range page.Data {
		c := connection{Resource: source, URL: q.RecordURL(source, rec.ID()), Rec: rec, Status: rec.Text("status"), down: source == "links" && down(rec)}
		for of, field := range portFields {
			if id := rec.Text(other + "_" + field + "_id"); id != "" {
				c.farID, c.farResource = id, of
			}
		}
		id := rec.Text(near)
		same := slices.IndexFunc(all[id], func(known connection) bool { return known.farID == c.farID })
		if same >= 0 { // the link of a cable
			all[id][same].Status, all[id][same].down = c.Status, c.down
			continue
		}
		all[id] = append(all[id], c)
	}
	return nil
}

// portRow is a port of a device in its list.
type portRow struct {
	Rec       site.Record
	URL       string
	Trace     string // the address of its trace, if it has a cable or link
	Connect   string // the address of the page that connects it, if it has no cable
	VLANs     []vlan
	Addresses []string
	Rear      string // of a front port
	Far       []connection
	Links     []site.Action // to what the port may get
}

// vlan is a VLAN of an interface.
type vlan struct {
	Label, URL string
	Tagged     bool
}

// portTable is the data of a list of ports.
type portTable struct {
	Resource string
	Rows     []portRow
	Plate    [][]portRow // the ports that have a socket, as on the front of the device
	Rest     int64       // how many more there are
	RestURL  string
}

// loadPorts lists the first ports of a device.
func loadPorts(q *site.Part, resource string) error {
	device := q.Rec.ID()
	r, _ := q.Schema.Named(resource)
	query := url.Values{"device_id": {device}, "sortby": {"name:asc"}}
	list := q.ListURL(resource) + "?" + query.Encode()
	page, err := q.List(resource, url.Values{"device_id": {device}, "sortby": {"name:asc"}, "limit": {strconv.Itoa(records.MaxLimit)}, "count": {"estimated"}})
	if err != nil || len(page.Data) == 0 && resource != "interfaces" {
		return err
	}
	if len(page.Data) > 0 && q.May("cables", records.RouteCreate) {
		q.Act("Connect several", connectURL(q.Request, "device", device), "link")
	}
	q.Act("All", list, "")
	q.ActNew(resource, "device_id")
	t := &portTable{Resource: resource, Rest: page.Meta.Total - int64(len(page.Data)), RestURL: list}
	q.Note, q.Data = site.CountOf(page, r), t
	if t.Rows, err = portRows(q.Request, resource, page.Data); err != nil {
		return err
	}
	t.Plate, err = plate(q, resource, t.Rows)
	return err
}

// portRows returns how lists show ports.
func portRows(q *site.Request, resource string, recs []site.Record) ([]portRow, error) {
	ids := site.IDs(recs)
	far, err := connections(q, resource, ids)
	if err != nil {
		return nil, err
	}
	vlans, addresses, rears := map[string][]vlan{}, map[string][]string{}, map[string]string{}
	switch resource {
	case "interfaces":
		if vlans, err = vlansOf(q, recs, ids); err == nil {
			addresses, err = addressesOf(q, recs, ids)
		}
	case "front-ports":
		r, _ := q.Schema.Named(resource)
		f, _ := r.Field("rear_port_id")
		rears, err = q.RefLabels([]*records.Field{f}, recs)
	}
	if err != nil {
		return nil, err
	}
	rows := make([]portRow, len(recs))
	for i, rec := range recs {
		id := rec.ID()
		rows[i] = portRow{Rec: rec, URL: q.RecordURL(resource, id), VLANs: vlans[id], Addresses: addresses[id], Rear: rears[rec.Text("rear_port_id")], Far: far[id]}
		for _, l := range q.Site.Links {
			if l.Row && l.Resource == resource && l.Show(q) {
				rows[i].Links = append(rows[i].Links, site.Action{Label: l.Label, Icon: l.Icon, URL: q.UI.URL(l.Path(id))})
			}
		}
		cabled := slices.ContainsFunc(far[id], func(c connection) bool { return c.Resource == "cables" })
		if len(far[id]) > 0 && q.MaySee(traced...) {
			rows[i].Trace = q.UI.URL("/trace/" + resource + "/" + id)
		}
		if !cabled && q.May("cables", records.RouteCreate) && !(resource == "interfaces" && virtual(rec)) {
			rows[i].Connect = connectURL(q, "port", resource+"/"+id)
		}
	}
	return rows, nil
}

// vlansOf returns the VLANs of interfaces, the untagged one first.
func vlansOf(q *site.Request, recs []site.Record, ids []string) (map[string][]vlan, error) {
	all, tagged := map[string][]vlan{}, &site.Page{}
	if len(ids) == 0 || !q.MaySee("vlans") {
		return all, nil
	}
	var err error
	if q.MaySee("tagged-vlans") {
		if tagged, err = q.Some("tagged-vlans", records.MaxLimit, url.Values{"interface_id__in": {strings.Join(ids, ",")}}); err != nil {
			return nil, err
		}
	}
	var wanted []string
	for _, rec := range slices.Concat(recs, tagged.Data) {
		wanted = append(wanted, rec.Text("untagged_vlan_id"), rec.Text("vlan_id"))
	}
	labels, err := q.Labels("vlans", wanted)
	add := func(to, id string, tagged bool) {
		if label := labels[id]; label != "" {
			all[to] = append(all[to], vlan{Label: label, URL: q.RecordURL("vlans", id), Tagged: tagged})
		}
	}
	for _, rec := range recs {
		add(rec.ID(), rec.Text("untagged_vlan_id"), false)
	}
	for _, rec := range tagged.Data {
		add(rec.Text("interface_id"), rec.Text("vlan_id"), true)
	}
	return all, err
}

// addressesOf returns the addresses of interfaces, the primary one first.
func addressesOf(q *site.Request, recs []site.Record, ids []string) (map[string][]string, error) {
	all := map[string][]string{}
	for _, rec := range recs {
		if primary := rec.Text("ip_address"); primary != "" {
			all[rec.ID()] = []string{primary}
		}
	}
	if len(ids) == 0 || !q.May("addresses", records.RouteList) {
		return all, nil
	}
	page, err := q.Some("addresses", records.MaxLimit, url.Values{"interface_id__in": {strings.Join(ids, ",")}, "fields": {"id,address,interface_id"}})
	if err != nil {
		return nil, err
	}
	for _, rec := range page.Data {
		at, address := rec.Text("interface_id"), rec.Text("address")
		if !slices.Contains(all[at], address) {
			all[at] = append(all[at], address)
		}
	}
	return all, nil
}

// loadConnection reads the cables and links of a port.
func loadConnection(p *site.Part) error {
	rows, err := portRows(p.Request, p.On, []site.Record{p.Rec})
	if err != nil {
		return err
	}
	p.Data = rows[0]
	if rows[0].Trace != "" {
		p.Act("Trace", rows[0].Trace, "")
	}
	if rows[0].Connect != "" {
		p.Act("Connect", rows[0].Connect, "link")
	}
	return nil
}
