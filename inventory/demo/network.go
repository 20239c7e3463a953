package demo

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

const (
	// history is how far back the first device goes, and recent is what has no new ones: it
	// is when the events are, which so are all younger than their devices.
	history = 3 * 365 * 24 * time.Hour
	recent  = 31 * 24 * time.Hour
	// partSize is how many devices are in memory at once. It is even, as links need pairs.
	partSize = 500
)

// network is what is made, and how far that is.
type network struct {
	*writer
	rng  *rand.Rand
	now  time.Time
	seed uint64
	plan Counts
	made Counts // so far; those that are still in the batch included
}

// part is some devices of a site, with all that is made for them.
type part struct {
	site   *site
	hosts  []host
	cables []bool    // of the links: whether they are good
	begun  time.Time // when the first device came
}

// host is a device with what its neighbours need to know of it.
type host struct {
	*inventory.Device
	role   *role
	model  *model
	works  bool                 // it runs and can be reached
	uplink *inventory.Interface // the port of its link
}

func (n *network) build(ctx context.Context) error {
	sites, err := n.sites(ctx)
	if err != nil {
		return err
	}
	for _, s := range sites {
		for left := s.devices; left > 0; left -= partSize {
			if err := n.part(ctx, s, min(left, partSize)); err != nil {
				return err
			}
		}
	}
	entry, err := inventory.New(n.store, nil).AuditEntry(inventory.Caller{Name: "demo"}, "fill", "inventory", "",
		inventory.Changes{"devices": {After: int64(n.plan.Devices)}})
	if err != nil {
		return err
	}
	if err := n.add(ctx, entry, n.now); err != nil {
		return err
	}
	return n.flush(ctx)
}

// part writes some devices of a site and all that belongs to them.
func (n *network) part(ctx context.Context, s *site, size int) error {
	p := &part{site: s, begun: n.since(n.made.Devices)}
	for _, step := range []func(context.Context, *part, int) error{
		n.devices, n.interfaces, n.vlans, n.links, n.metrics, n.events,
	} {
		if err := step(ctx, p, size); err != nil {
			return err
		}
	}
	return nil
}

// since is when the device of an index came to be.
func (n *network) since(device int) time.Time {
	return n.moment(history-recent, device, n.plan.Devices).Add(-recent)
}

// moment is the time of the first of so many things, in order, within a span before now.
func (n *network) moment(span time.Duration, i, of int) time.Time {
	return n.now.Add(-span + span/time.Duration(max(of, 1))*time.Duration(i)).Truncate(time.Microsecond)
}

// due is how many things of a kind a part has, for them to be so many in the end.
func (n *network) due(total, made int) int {
	return total*n.made.Devices/n.plan.Devices - made
}

func (n *network) devices(ctx context.Context, p *part, size int) error {
	p.hosts = make([]host, size)
	for i := range p.hosts {
		h := n.host(p.site, roleAt(i, size))
		if err := n.add(ctx, h.Device, n.since(n.made.Devices)); err != nil {
			return err
		}
		n.made.Devices++
		p.hosts[i] = h
	}
	return nil
}

// host makes the next device of a site.
func (n *network) host(s *site, r int) host {
	role := &roles[r]
	m := &role.models[n.rng.IntN(len(role.models))]
	s.numbers[r]++
	d := &inventory.Device{
		Hostname: s.code + "-" + role.short + "-" + padded(s.numbers[r], 4),
		IP:       deviceIP(n.made.Devices), Model: m.name, Vendor: m.vendor, OS: m.os,
		OSVersion: m.versions[n.rng.IntN(len(m.versions))], Status: n.status(), Role: role.name,
		SerialNumber: n.serial(m), LocationID: &s.id, Tags: n.tags(),
		RackPosition: "R" + padded(1+n.rng.IntN(40), 2) + "-U" + padded(1+n.rng.IntN(42), 2),
	}
	d.LastSeen = n.lastSeen(d.Status)
	if d.Status == inventory.DeviceMaintenance {
		d.Notes = "Maintenance window: new software and a check of the power supplies."
	}
	works := d.Status == inventory.DeviceActive || d.Status == inventory.DeviceMaintenance
	return host{Device: d, role: role, model: m, works: works}
}

func (n *network) status() inventory.DeviceStatus {
	switch place := n.rng.IntN(100); {
	case place < 90:
		return inventory.DeviceActive
	case place < 93:
		return inventory.DeviceMaintenance
	case place < 96:
		return inventory.DeviceOffline
	case place < 98:
		return inventory.DeviceProvisioning
	}
	return inventory.DeviceDecommissioned
}

// lastSeen is minutes ago for what works, and longer ago for what does not. What is not
// in service yet has never been seen.
func (n *network) lastSeen(s inventory.DeviceStatus) *time.Time {
	ago := n.rng.Int64N(int64(10 * time.Minute))
	switch s {
	case inventory.DeviceProvisioning:
		return nil
	case inventory.DeviceOffline:
		ago = int64(time.Hour) + n.rng.Int64N(int64(3*24*time.Hour))
	case inventory.DeviceDecommissioned:
		ago = int64(30*24*time.Hour) + n.rng.Int64N(int64(365*24*time.Hour))
	}
	// A device may be younger than that.
	seen := n.now.Add(-time.Duration(ago))
	if created := n.since(n.made.Devices); seen.Before(created) {
		seen = created
	}
	seen = seen.Truncate(time.Microsecond)
	return &seen
}

// serial is a serial number that no other device of the network has: the factor has no part
// in common with 36, so that the numbers below 36^8 are only put in another order.
func (n *network) serial(m *model) string {
	const numbers = 36 * 36 * 36 * 36 * 36 * 36 * 36 * 36
	number := (uint64(n.made.Devices)*1_000_003_349 + n.seed%numbers) % numbers
	text := strconv.FormatUint(number, 36)
	var digits [8]byte
	for i := range digits {
		digits[i] = '0'
		if from := len(text) - len(digits) + i; from >= 0 {
			digits[i] = text[from]
		}
		if digits[i] >= 'a' {
			digits[i] -= 'a' - 'A'
		}
	}
	return m.serial + string(digits[:])
}

func (n *network) tags() []string {
	switch n.rng.IntN(8) {
	case 0:
		return []string{"production", "monitored"}
	case 1:
		return []string{"lab"}
	case 2:
		return []string{"production", "pci"}
	case 3, 4, 5:
		return []string{"production"}
	}
	return []string{}
}

// decimal is a number as text.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// padded is a number with zeros before it.
func padded(n, width int) string {
	text := strconv.Itoa(n)
	if len(text) >= width {
		return text
	}
	return "0000"[:width-len(text)] + text
}
