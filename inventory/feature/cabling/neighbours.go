package cabling

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

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
func loadNeighbours(p *site.Part) error {
	rows := map[string]*neighbour{}
	cursor, more := "", false
	for range neighbourPages {
		list, err := p.Some("interfaces", records.MaxLimit, url.Values{"device_id": {p.Rec.ID()}, "cursor": {cursor}, "fields": {portFieldsOf("interfaces")}})
		if err != nil {
			return err
		}
		if err := neighboursOf(p, list.Data, rows); err != nil {
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
	if p.Shows("/map") {
		n.MapURL = p.UI.URL("/map?device=" + p.Rec.ID())
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
	n.Height = len(n.Rows) * rowHeight
	n.Middle = n.Height / 2
	for i := range n.Rows {
		row := &n.Rows[i]
		row.Y = i*rowHeight + rowHeight/2
		row.Curve = fmt.Sprintf("M8 %dC40 %[1]d 30 %[2]d 61 %[2]d", n.Middle, row.Y)
		row.Name, row.Ports = site.Clip(row.Name, maxNeighbourName), site.Clip(row.Ports, maxNeighbourPorts)
	}
	p.Data = n
	return nil
}

// neighboursOf adds the devices at the far ends of interfaces.
func neighboursOf(p *site.Part, interfaces []site.Record, rows map[string]*neighbour) error {
	all, err := connections(p.Request, "interfaces", site.IDs(interfaces))
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
