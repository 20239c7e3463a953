package demo

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// The spans that are looked back at.
const (
	eventSpan  = 30 * 24 * time.Hour
	metricSpan = time.Hour
)

// happening is a kind of event. Its message is made of the words, the port (with port
// only), the words after it, and a detail that is one of several.
type happening struct {
	severity inventory.Severity
	kind     string
	before   string
	port     bool
	after    string
	details  []string
	share    int
}

var happenings = [...]happening{
	{inventory.SeverityWarning, "interface", "Interface ", true, " is down: ", []string{"loss of signal", "remote fault", "carrier transitions"}, 14},
	{inventory.SeverityInfo, "interface", "Interface ", true, " is up again after ", []string{"12 s", "48 s", "3 min", "17 min"}, 18},
	{inventory.SeverityMedium, "interface", "Interface ", true, " has input errors: ", []string{"0.02 %", "0.3 %", "1.1 %"}, 6},
	{inventory.SeverityInfo, "system", "Configuration saved by ", false, "", []string{"jane", "ansible", "netops"}, 20},
	{inventory.SeverityLow, "system", "Clock is out of step by ", false, "", []string{"210 ms", "1.4 s"}, 6},
	{inventory.SeverityMedium, "system", "Fan ", false, "", []string{"1 runs too slowly", "2 runs too slowly", "tray was replaced"}, 5},
	{inventory.SeverityHigh, "system", "Power supply ", false, "", []string{"1 has failed", "2 has failed", "2 has no input"}, 4},
	{inventory.SeverityHigh, "system", "Restarted: ", false, "", []string{"watchdog", "power cycle", "new software"}, 5},
	{inventory.SeverityLow, "security", "Login failed for ", false, " over SSH", []string{"admin", "root", "backup"}, 14},
	{inventory.SeverityHigh, "security", "Many failed logins, last for ", false, "", []string{"admin", "root"}, 3},
	{inventory.SeverityCritical, "security", "Running configuration differs from the approved one: ", false, "", []string{"access lists", "SNMP", "local users"}, 2},
	{inventory.SeverityCritical, "system", "Device can't be reached: ", false, "", []string{"no answer to ICMP", "no answer to SNMP"}, 3},
}

// events are what has happened to the devices of a part, in the order of time.
func (n *network) events(ctx context.Context, p *part, _ int) error {
	watched := func(h *host) bool { return h.works || h.Status == inventory.DeviceOffline }
	for range n.due(n.plan.Events, n.made.Events) {
		e := n.event(n.pick(p, watched))
		e.LocationID = &p.site.id
		at := n.moment(eventSpan, n.made.Events, n.plan.Events)
		if n.now.Sub(at) > 7*24*time.Hour && n.rng.IntN(4) > 0 {
			known := at.Add(time.Duration(1+n.rng.IntN(240)) * time.Minute)
			e.AcknowledgedAt = &known
		}
		if err := n.add(ctx, e, at); err != nil {
			return err
		}
		n.made.Events++
	}
	return nil
}

func (n *network) event(h *host) *inventory.Event {
	kind := &happenings[len(happenings)-1]
	if h.works {
		kind = n.happening()
	}
	e := &inventory.Event{Severity: kind.severity, Type: kind.kind, DeviceID: &h.ID}
	detail := kind.details[n.rng.IntN(len(kind.details))]
	switch {
	case kind.port:
		e.InterfaceID = &h.uplink.ID
		e.Message = kind.before + h.uplink.Name + kind.after + detail
	default:
		e.Message = kind.before + detail + kind.after
	}
	return e
}

// happening picks a kind of event by its share.
func (n *network) happening() *happening {
	place := n.rng.IntN(100)
	for i := range happenings {
		if place -= happenings[i].share; place < 0 {
			return &happenings[i]
		}
	}
	return &happenings[0]
}

// metrics are the last measurements of devices that work.
func (n *network) metrics(ctx context.Context, p *part, _ int) error {
	works := func(h *host) bool { return h.works }
	for range n.due(n.plan.Metrics, n.made.Metrics) {
		at := n.moment(metricSpan, n.made.Metrics, n.plan.Metrics)
		if err := n.add(ctx, n.metric(n.pick(p, works), at), at); err != nil {
			return err
		}
		n.made.Metrics++
	}
	return nil
}

// pick is one of the hosts that are right, or any if none is.
func (n *network) pick(p *part, right func(*host) bool) *host {
	i := n.rng.IntN(len(p.hosts))
	for range p.hosts {
		if right(&p.hosts[i]) {
			break
		}
		i = (i + 1) % len(p.hosts)
	}
	return &p.hosts[i]
}

func (n *network) metric(h *host, at time.Time) *inventory.Metric {
	cpu, memory, temp := n.tenths(3, 45), n.tenths(25, 80), n.tenths(28, 55)
	if n.rng.IntN(30) == 0 { // busy
		cpu, memory, temp = n.tenths(85, 100), n.tenths(80, 98), n.tenths(55, 78)
	}
	age := max(int64(at.Sub(h.CreatedAt)/time.Second), 0)
	uptime := n.rng.Int64N(min(age, 400*24*3600) + 1)
	return &inventory.Metric{DeviceID: h.ID, CPU: &cpu, Memory: &memory, Temp: &temp, UptimeSeconds: &uptime, TS: &at}
}

// tenths is a number with one place, from one to below the other.
func (n *network) tenths(from, to int) float64 {
	return float64(10*from+n.rng.IntN(10*(to-from))) / 10
}

// earlier is the first of two times, of which none is known if one is not.
func earlier(a, b *time.Time) *time.Time {
	switch {
	case a == nil || b == nil:
		return nil
	case b.Before(*a):
		return b
	}
	return a
}
