package racks

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// rackUnit is a row of a rack.
type rackUnit struct {
	Unit        int64
	Front, Back *slot // nil below the first row of a device
	Target      bool  // a device would move here
}

// slot is a cell of a rack: a device, or nothing.
type slot struct {
	ID, Hostname string
	Status, Role string
	Unit, Face   string // empty without
	Height       int
	Marked       bool // the device that the address names
}

// Position says where the device is.
func (s *slot) Position() string {
	if s.Face == "" {
		return "unit " + s.Unit
	}
	return "unit " + s.Unit + ", " + s.Face
}

// Tone returns the meaning of the status of the device.
func (s *slot) Tone() string { return ui.Tone(s.Status) }

// move is the position that a device is to have.
type move struct {
	Device, Unit, Face string // a unit of "out" takes the device out of the rack, an empty one leaves the unit open
	Version            string
	Rec                site.Record
	Changes            []site.Diff
	Problem            string
	Items              []string
}

// rackPage is the data of a rack.
type rackPage struct {
	Rack     site.Record
	Location string
	Height   int64
	Units    []rackUnit
	Free     int
	Used     float64 // share
	Inside   []*slot // devices with a unit
	Loose    []*slot // devices of the rack without a unit
	Others   []*slot // devices of the location without a rack
	More     bool    // there are more of these
	Numbers  []int64 // of units
	May      bool    // move devices
	Marked   string  // the device that the address names
	Move     *move   // to confirm
	Unit     string  // that the form proposes
	Face     string  // as above
}

// readMove returns the move of a form.
func readMove(values url.Values) *move {
	return &move{Device: values.Get("device"), Unit: values.Get("unit"), Face: values.Get("face"), Version: values.Get("version")}
}

func showElevation(q *site.Request) error { return rackResponse(q, http.StatusOK, nil) }

// rackResponse responds with the page of a rack, or with the panel to confirm a move.
func rackResponse(q *site.Request, status int, m *move) error {
	if m != nil && ui.IsPart(q.R) {
		return q.Part("elevation.html", "maps-confirm", &rackPage{Rack: site.Record{"id": q.R.PathValue("rack")}, Move: m})
	}
	p := &rackPage{Move: m, Marked: q.R.URL.Query().Get("device"), May: q.May("devices", records.RouteChange)}
	var err error
	if p.Rack, _, err = q.One("racks", q.R.PathValue("rack")); err != nil {
		return err
	}
	if m != nil {
		p.Marked = m.Device
	}
	if err := p.read(q); err != nil {
		return err
	}
	if m != nil {
		p.propose(m)
	}
	return q.PageStatus(status, "elevation.html", "Rack "+p.Rack.Text("name"), p)
}

// propose shows a move in the form, and where the device would be.
func (p *rackPage) propose(m *move) {
	p.Unit, p.Face = m.Unit, m.Face
	first, err := strconv.ParseInt(m.Unit, 10, 64)
	if err != nil || m.Problem != "" {
		return
	}
	height := int64(slotFrom(m.Rec).Height)
	for i := range p.Units {
		p.Units[i].Target = p.Units[i].Unit >= first && p.Units[i].Unit < first+height
	}
}

// read reads the units and the devices.
func (p *rackPage) read(q *site.Request) error {
	var answer elevationAnswer
	if err := q.Get("/racks/"+p.Rack.ID()+"/elevation", nil, &answer); err != nil {
		return err
	}
	devices, err := p.devices(q)
	if err != nil {
		return err
	}
	slotOf := func(m *mountedDevice) *slot {
		if m == nil {
			return &slot{Height: 1}
		}
		s := slot{ID: m.ID, Hostname: m.Hostname}
		if known := devices[m.ID]; known != nil {
			s = *known
		}
		s.Height, s.Marked = 1, m.ID == p.Marked
		return &s
	}
	var front, back *slot // the slots that the current unit may belong to
	for _, u := range answer.Units {
		row := rackUnit{Unit: u.Unit}
		for _, side := range []struct {
			is   *mountedDevice
			last **slot
			cell **slot
		}{{u.Front, &front, &row.Front}, {u.Back, &back, &row.Back}} {
			if side.is != nil && *side.last != nil && (*side.last).ID == side.is.ID {
				(*side.last).Height++
				continue
			}
			*side.last = slotOf(side.is)
			*side.cell = *side.last
		}
		p.Units, p.Numbers = append(p.Units, row), append(p.Numbers, u.Unit)
	}
	p.Height, p.Free = int64(len(p.Units)), answer.Free
	p.Used = 1 - float64(p.Free)/float64(max(p.Height, 1))
	return p.readDevices(q)
}

// devices reads the devices of the rack, by id, and the others that may be placed.
func (p *rackPage) devices(q *site.Request) (map[string]*slot, error) {
	recs, err := q.All("devices", url.Values{
		"rack_id": {p.Rack.ID()}, "sortby": {"hostname:asc"}, "fields": {"id,hostname,status,role,rack_unit,rack_height,rack_face"},
	}, maxInRack)
	if err != nil {
		return nil, err
	}
	all := map[string]*slot{}
	for _, rec := range recs {
		s := slotFrom(rec)
		all[s.ID] = s
		switch {
		case s.Unit == "":
			p.Loose = append(p.Loose, s)
			continue
		case s.ID == p.Marked:
			p.Unit, p.Face = s.Unit, s.Face
		}
		p.Inside = append(p.Inside, s)
	}
	return all, nil
}

// maxInRack bounds the devices of a rack that are read.
const maxInRack = 1000

func slotFrom(rec site.Record) *slot {
	height, err := strconv.Atoi(rec.Text("rack_height"))
	if err != nil {
		height = 1
	}
	return &slot{
		ID: rec.ID(), Hostname: rec.Text("hostname"), Status: rec.Text("status"), Role: rec.Text("role"),
		Unit: rec.Text("rack_unit"), Face: rec.Text("rack_face"), Height: height,
	}
}

// readDevices reads the name of the location, and its devices without a rack.
func (p *rackPage) readDevices(q *site.Request) error {
	location := p.Rack.Text("location_id")
	query := url.Values{"rack_id__isnull": {"true"}, "sortby": {"hostname:asc"}, "fields": {"id,hostname,status,role,rack_height"}}
	if location == "" {
		query.Set("location_id__isnull", "true")
	} else {
		query.Set("location_id", location)
		labels, err := q.Labels("locations", []string{location})
		if err != nil {
			return err
		}
		p.Location = labels[location]
	}
	page, err := q.Some("devices", records.MaxLimit, query)
	if err != nil {
		return err
	}
	for _, rec := range page.Data {
		p.Others = append(p.Others, slotFrom(rec))
	}
	p.More = page.Meta.NextCursor != ""
	return nil
}

// patch returns the change of a device for a move.
func (m *move) patch(q *site.Request, rack string) (map[string]any, error) {
	if m.Unit == "out" {
		return map[string]any{"rack_id": nil}, nil
	}
	patch := map[string]any{"rack_id": rack, "rack_unit": nil, "rack_face": m.Face}
	if m.Unit != "" {
		unit, err := strconv.Atoi(m.Unit)
		if err != nil {
			return nil, httpx.Errorf(http.StatusBadRequest, "The unit must be a number")
		}
		patch["rack_unit"] = unit
	}
	if kind := m.Rec.Text("device_type_id"); kind != "" && m.Rec.Text("rack_height") == "" && q.May("device-types", records.RouteGet) {
		of, _, err := q.One("device-types", kind)
		if err != nil {
			return nil, err
		}
		patch["rack_height"] = of["height"]
	}
	return patch, nil
}

// send sends the change of a move, or asks for what it would change.
func (m *move) send(q *site.Request, dry bool) error {
	var tag string
	var err error
	if m.Rec, tag, err = q.One("devices", m.Device); err != nil {
		return err
	}
	patch, err := m.patch(q, q.R.PathValue("rack"))
	if err != nil {
		return err
	}
	call := &site.Call{Method: http.MethodPatch, Path: "/devices/" + url.PathEscape(m.Device), Body: patch, Match: cmp.Or(m.Version, tag)}
	if !dry {
		_, err = q.Do(call, nil)
		return err
	}
	m.Version = tag
	preview, err := q.DryRun(call)
	if err != nil {
		return err
	}
	described, err := q.DescribeChanges(preview.Changes)
	for _, c := range described.Changed {
		m.Changes = append(m.Changes, c.Fields...)
	}
	return err
}

// respond shows a move, or why the API refuses it.
func (m *move) respond(q *site.Request, err error) error {
	f, refused := site.AsFault(err)
	switch {
	case err == nil:
		return rackResponse(q, http.StatusOK, m)
	case !refused:
		return err
	}
	m.Problem = f.Message
	for _, field := range f.Fields {
		if len(f.Fields) > 1 || f.Status != http.StatusConflict {
			m.Items = append(m.Items, field.Field+" "+field.Reason)
		}
	}
	return rackResponse(q, f.Status, m)
}

// previewMove shows what a move would change, to confirm it.
func previewMove(q *site.Request) error {
	m := readMove(q.R.URL.Query())
	m.Version = ""
	return m.respond(q, m.send(q, true))
}

// moveDevice moves a device.
func moveDevice(q *site.Request) error {
	if err := q.R.ParseForm(); err != nil {
		return httpx.Errorf(http.StatusBadRequest, "Invalid form")
	}
	m := readMove(q.R.PostForm)
	if err := m.send(q, false); err != nil {
		return m.respond(q, err)
	}
	return q.Redirect("/elevation/" + url.PathEscape(q.R.PathValue("rack")) + "?" + url.Values{"device": {m.Device}, "done": {"moved"}}.Encode())
}
