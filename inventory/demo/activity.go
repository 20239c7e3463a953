package demo

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// seriesPoints is the number of points of a series of metrics, in 24 hours.
const seriesPoints = 72

// metrics writes a series of the last 24 hours for the first devices of a site.
func (s *site) metrics() {
	left := min(s.size, max(1, s.size/100))
	for i := 0; left > 0; i++ {
		h := s.hosts[i%len(s.hosts)]
		if !h.works || h.kind >= accessPoint && i < len(s.hosts) {
			continue
		}
		left--
		load, memory, uptime := 12+35*s.rng.Float64(), 35+40*s.rng.Float64(), s.rng.Int64N(400*24*3600)
		for point := range seriesPoints {
			ago := 24 * time.Hour / seriesPoints * time.Duration(seriesPoints-1-point)
			at := s.Now.Add(-ago - time.Duration(s.rng.IntN(30))*time.Second)
			hour := float64(at.Hour()) + float64(at.Minute())/60
			day := max(0, math.Sin((hour-6)*math.Pi/14)) // work from 6 to 20 o'clock
			value := func(v float64) *float64 {
				return new(math.Round(10*min(max(v+2*s.rng.NormFloat64(), 1), 99)) / 10)
			}
			s.add(&inventory.Metric{
				DeviceID: h.ID, CPU: value(load * (0.5 + day)), Memory: value(memory + 6*day), Temp: value(31 + load/4 + 7*day), UptimeSeconds: new(uptime + int64((24*time.Hour-ago)/time.Second)), TS: &at,
			}, at)
		}
	}
}

// events writes an event for each device that cannot be reached, and events of others up to one for five devices.
func (s *site) events() {
	for _, h := range s.hosts {
		if h.Status == inventory.DeviceOffline {
			s.event(h, &s.Events[0], *h.LastSeen)
		}
	}
	for s.err == nil && s.made["events"] < s.made["devices"]/5 {
		h, ago := pick(s.rng, s.hosts), s.rng.Float64()
		if !h.works || h.kind == panel {
			continue
		}
		frequency := s.rng.Float64()
		kind := &s.Events[1+int(frequency*frequency*float64(len(s.Events)-1))]
		s.event(h, kind, s.Now.Add(-time.Duration(ago*ago*float64(eventSpan))).Truncate(time.Microsecond))
	}
}

func (s *site) event(h *host, kind *eventKind, at time.Time) {
	e := &inventory.Event{Severity: kind.Severity, Type: kind.Type, DeviceID: &h.ID, LocationID: h.LocationID}
	text := strings.NewReplacer("{port}", h.uplink.Name, "{detail}", pick(s.rng, kind.Details))
	if e.Message = text.Replace(kind.Message); kind.Type == "interface" {
		e.InterfaceID = &h.uplink.ID
	}
	if s.Now.Sub(at) > 7*24*time.Hour && s.rng.IntN(4) > 0 {
		e.AcknowledgedAt = new(at.Add(time.Duration(1+s.rng.IntN(240)) * time.Minute))
	}
	s.add(e, at)
}

// The history: the last changes of some devices, by people who are no users.
const (
	historySpan  = 6 * 24 * time.Hour
	historyEdits = 36
)

var people = []string{"ann", "bob", "carla"}

// history writes entries of the audit log for changes that led to what some devices are now.
func (n *network) history() {
	edits := min(historyEdits, len(n.changed))
	for i, h := range n.changed[:edits] {
		at := n.Now.Add(-historySpan + historySpan/time.Duration(edits+1)*time.Duration(i+1)).Truncate(time.Microsecond)
		by := records.Caller{Name: people[n.rng.IntN(len(people))], RequestID: "demo-" + strconv.Itoa(i)}
		edit := func(kind, id string, changes records.Changes) {
			entry, err := records.New(n.store, nil).AuditEntry(by, "update", kind, id, changes)
			if err != nil {
				n.err = errors.Join(n.err, err)
				return
			}
			n.add(entry, at)
		}
		switch i % 3 {
		case 0:
			before := inventory.DeviceMaintenance
			if h.Status == before {
				before = inventory.DeviceActive
			}
			edit("device", h.ID, records.Changes{"status": {Before: string(before), After: string(h.Status)}})
		case 1:
			edit("device", h.ID, records.Changes{"serial_number": {Before: "", After: h.SerialNumber}})
		default:
			edit("device", h.ID, records.Changes{"os_version": {Before: "unknown", After: h.OSVersion}, "tags": {Before: []string{}, After: h.Tags}})
		}
	}
}
