package racks

import (
	"cmp"
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// pages returns the page of an elevation, and the drawings on the pages of racks and devices.
func pages() site.Pages {
	needs := []string{"racks", "devices"}
	return site.Pages{
		Files: files, Style: "style-racks.css",
		Routes: []site.Route{
			{Pattern: "GET /elevation/{rack}", Handle: showElevation},
			{Pattern: "GET /elevation/{rack}/move", Handle: previewMove},
			{Pattern: "POST /elevation/{rack}/move", Handle: moveDevice},
		},
		Computed: []site.Computed{{Resource: "racks", Label: "Units", Needs: needs, Load: loadUnits}},
		Links: []site.RecordLink{{
			Resource: "racks", Label: "Elevation", Icon: "rack", Path: func(id string) string { return "/elevation/" + id },
			Show: func(q *site.Request) bool { return q.MaySee("devices") },
		}},
		Edits: map[string]site.Edit{"devices": {
			First: "device_type_id", Fills: map[string]string{"manufacturer": "vendor", "model": "model", "height": "rack_height"},
			Hints:    map[string]string{"device_type_id": "Sets vendor, model and height where they are empty."},
			Replaced: map[string]string{"rack_position": "rack_unit"},
		}},
		Sections: []site.Section{
			{
				On: "racks", ID: "rack-units", Title: "Units", Template: "racks-drawing", Column: site.Side, Order: 10, Follow: needs, Needs: needs,
				Load: func(p *site.Part) error { return loadRack(p, p.Rec.ID(), "") },
			},
			{
				On: "devices", ID: "device-rack", Title: "Rack", Template: "racks-drawing", Column: site.Side, Order: 20, Follow: []string{"devices"}, Needs: needs,
				Load: func(p *site.Part) error {
					if rack := p.Rec.Text("rack_id"); rack != "" {
						return loadRack(p, rack, p.Rec.ID())
					}
					return nil
				},
			},
		},
	}
}

// maxInRacks is the maximum number of devices that are read for a list of racks.
const maxInRacks = 5000

// loadUnits returns how many units of racks are used, on one face or both, and how many are free, as the cells of a
// column of the list.
func loadUnits(q *site.Request, recs []site.Record) ([]site.Cell, error) {
	query := url.Values{"rack_id__in": {strings.Join(site.IDs(recs), ",")}, "fields": {"rack_id,rack_unit,rack_height"}}
	devices, err := q.All("devices", query, maxInRacks)
	if err != nil || len(devices) == maxInRacks {
		return make([]site.Cell, len(recs)), err
	}
	used := map[string]map[int64]bool{}
	for _, d := range devices {
		first, rack := int64(d.Number("rack_unit")), d.Text("rack_id")
		if used[rack] == nil {
			used[rack] = map[int64]bool{}
		}
		for u := first; first > 0 && u < first+max(1, int64(d.Number("rack_height"))); u++ {
			used[rack][u] = true
		}
	}
	cells := make([]site.Cell, len(recs))
	for i, rec := range recs {
		n := len(used[rec.ID()])
		cells[i] = site.Cell{Kind: "text", Text: fmt.Sprintf("%d used, %d free", n, max(0, int(rec.Number("height"))-n))}
	}
	return cells, nil
}

// drawing is a drawing of the units of a rack.
type drawing struct {
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

type rackMark struct {
	Unit int64
	Y    int
}

// unitHeight is the height of a unit of a rack in the drawing.
const unitHeight = 13

// loadRack reads the units of a rack, and marks a device.
func loadRack(q *site.Part, id, device string) error {
	var found elevationAnswer
	if err := q.Get("/racks/"+url.PathEscape(id)+"/elevation", nil, &found); err != nil {
		return err
	}
	labels, err := q.Labels("racks", []string{id})
	if err != nil {
		return err
	}
	r := drawing{Name: cmp.Or(labels[id], "Rack"), URL: q.RecordURL("racks", id), Elevation: q.UI.URL("/elevation/" + id), Free: found.Free, Height: len(found.Units)}
	if device != "" {
		r.Elevation += "?device=" + device
	}
	at := func(blocks []rackBlock, i int, m *mountedDevice) []rackBlock {
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
	q.Data = r
	return nil
}
