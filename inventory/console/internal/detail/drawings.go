package detail

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// rack is a drawing of the units of a rack.
type rack struct {
	Name, URL, Elevation string
	Free, Height         int
	Front, Back          []rackBlock
	Back2                bool // whether the faces differ
	Size                 int  // of the drawing, in units of it
	Marks                []rackMark
}

// rackBlock is a device, or the free units between two.
type rackBlock struct {
	ID, Name, URL string
	Y, Height     int
	Text          int // the y of the name
	Self          bool
}

type rackMark struct{ Unit, Y int }

// unitHeight is the height of a unit of a rack in the drawing.
const unitHeight = 13

// loadRack reads the units of a rack, and marks a device.
func loadRack(q *site.Request, s *section, id, device string) error {
	type mounted struct{ ID, Hostname string }
	var found struct {
		Free  int
		Units []struct {
			Unit        int
			Front, Back *mounted
		}
	}
	if err := q.Get("/racks/"+url.PathEscape(id)+"/elevation", nil, &found); err != nil {
		return err
	}
	labels, err := q.Labels("racks", []string{id})
	if err != nil {
		return err
	}
	r := rack{Name: cmp.Or(labels[id], "Rack"), URL: q.RecordURL("racks", id), Elevation: q.UI.URL("/elevation/" + id), Free: found.Free, Height: len(found.Units)}
	if device != "" {
		r.Elevation += "?device=" + device
	}
	at := func(blocks []rackBlock, i int, m *mounted) []rackBlock {
		if m == nil {
			return blocks
		}
		if n := len(blocks) - 1; n >= 0 && blocks[n].ID == m.ID && blocks[n].Y+blocks[n].Height == i*unitHeight {
			blocks[n].Height += unitHeight
			blocks[n].Text = blocks[n].Y + blocks[n].Height/2 + 3
			return blocks
		}
		return append(blocks, rackBlock{
			ID: m.ID, Name: m.Hostname, URL: q.RecordURL("devices", m.ID), Y: i * unitHeight, Height: unitHeight, Text: i*unitHeight + unitHeight/2 + 4, Self: m.ID == device,
		})
	}
	for i, u := range found.Units {
		r.Front, r.Back = at(r.Front, i, u.Front), at(r.Back, i, u.Back)
		if u.Unit%6 == 0 || u.Unit == 1 {
			r.Marks = append(r.Marks, rackMark{u.Unit, i*unitHeight + unitHeight - 3})
		}
	}
	r.Size, r.Back2 = len(found.Units)*unitHeight, !slices.Equal(r.Front, r.Back)
	s.Data = r
	return nil
}

// The drawing of neighbours: a column of rows, with the device itself beside it. They are found by the first
// interfaces of the device, of which the API returns 100 at a time.
const (
	maxNeighbours     = 16
	neighbourPages    = 5
	rowHeight         = 34
	maxNeighbourName  = 30
	maxNeighbourPorts = 40
)

// neighbours is the drawing of what a device has links and cables to.
type neighbours struct {
	Name   string
	Rows   []neighbour
	More   string // "and 3 more", or empty
	Height int
	Middle int // the y of the device itself
	MapURL string
}

// neighbour is a row of the drawing.
type neighbour struct {
	Name, URL, Status string
	Ports             string // of the links
	DeviceDown        bool
	LinkDown          bool
	Y                 int
	Curve             string // of an SVG path
}

// loadNeighbours reads the devices that this one has links and cables to. The API has neighbours of a graph of
// the whole network too, which it reads again after each change of a device.
func (p *page) loadNeighbours(s *section) error {
	rows := map[string]*neighbour{}
	cursor, more := "", false
	for range neighbourPages {
		list, err := p.q.Some("interfaces", records.MaxLimit, url.Values{"device_id": {p.Rec.ID()}, "cursor": {cursor}, "fields": {portFieldsOf("interfaces")}})
		if err != nil {
			return err
		}
		if err := p.neighboursOf(list.Data, rows); err != nil {
			return err
		}
		cursor = list.Meta.NextCursor
		if more = cursor != ""; !more || len(rows) > maxNeighbours {
			break
		}
	}
	if len(rows) == 0 {
		return nil
	}
	n := neighbours{Name: p.Rec.Text("hostname")}
	if p.q.Shows("/map") {
		n.MapURL = p.q.UI.URL("/map?device=" + p.Rec.ID())
	}
	for _, id := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Or(cmp.Compare(rows[a].Name, rows[b].Name), cmp.Compare(a, b)) }) {
		n.Rows = append(n.Rows, *rows[id])
	}
	switch left := len(n.Rows) - maxNeighbours; {
	case more:
		n.More = "and more"
	case left > 0:
		n.More = "and " + strconv.Itoa(left) + " more"
	}
	n.Rows = n.Rows[:min(len(n.Rows), maxNeighbours)]
	n.layout()
	s.Data = n
	return nil
}

// neighboursOf adds the devices at the far ends of interfaces.
func (p *page) neighboursOf(interfaces []site.Record, rows map[string]*neighbour) error {
	all, err := connections(p.q, "interfaces", site.IDs(interfaces))
	if err != nil {
		return err
	}
	for _, rec := range interfaces {
		for _, c := range all[rec.ID()] {
			if c.Far.Device == "" || c.Far.DeviceID == p.Rec.ID() {
				continue
			}
			row := rows[c.Far.DeviceID]
			if row == nil {
				status := c.Far.DeviceStatus
				row = &neighbour{Name: c.Far.Device, URL: c.Far.DeviceURL, Status: status, DeviceDown: status == "offline" || status == "decommissioned", LinkDown: true}
				rows[c.Far.DeviceID] = row
			} else {
				row.Ports += ", "
			}
			row.Ports += rec.Text("name") + " – " + c.Far.Name
			row.LinkDown = row.LinkDown && (c.down || c.Far.Down || down(rec))
		}
	}
	return nil
}

// layout places the rows, and draws a curve to each.
func (n *neighbours) layout() {
	n.Height = len(n.Rows) * rowHeight
	n.Middle = n.Height / 2
	for i := range n.Rows {
		row := &n.Rows[i]
		row.Y = i*rowHeight + rowHeight/2
		m, y := strconv.Itoa(n.Middle), strconv.Itoa(row.Y)
		row.Curve = "M8 " + m + "C40 " + m + " 30 " + y + " 61 " + y
		row.Name, row.Ports = clip(row.Name, maxNeighbourName), clip(row.Ports, maxNeighbourPorts)
	}
}
