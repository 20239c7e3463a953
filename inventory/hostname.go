package inventory

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// fillHostnameKeys sets the keys of the devices of an earlier version: of names that are equal but for case the first
// has the key, and others have keys of their own.
const fillHostnameKeys = `UPDATE {prefix}devices SET hostname_key = CASE WHEN id IN (
	SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY location_id, tenant, lower(hostname) ORDER BY id) AS number FROM {prefix}devices) AS numbered
	WHERE number > 1) THEN ' ' || hostname ELSE lower(hostname) END || '` + "\n" + `' || tenant`

// placeholders are serial numbers that are none, in lower case.
var placeholders = strings.Fields("n/a na none null unknown tbd tba todo default - -- ? . 0 xxx")

// PlaceholderSerial reports whether a text stands for a missing serial number, such as N/A.
func PlaceholderSerial(serial string) bool {
	return slices.Contains(placeholders, strings.ToLower(serial)) || strings.Contains(strings.ToLower(serial), "not specified")
}

// Normalize removes blanks around the hostname, and a serial number that is none, and sets HostnameKey.
func (d *Device) Normalize() {
	d.Hostname = cmp.Or(strings.TrimSpace(d.Hostname), d.Hostname)
	if PlaceholderSerial(strings.TrimSpace(d.SerialNumber)) {
		d.SerialNumber = ""
	}
	if d.HostnameKey != d.exactKey() {
		d.HostnameKey = d.foldedKey()
	}
}

// foldedKey returns the key of names that are equal but for case. Its end tells tenants apart.
func (d *Device) foldedKey() string { return records.FoldASCII(d.Hostname) + "\n" + d.Tenant }

// exactKey returns the key of one name of several that are equal but for case. No hostname begins with a blank.
func (d *Device) exactKey() string { return " " + d.Hostname + "\n" + d.Tenant }

// namesake returns the other device at the location that has a key, nil for none.
func (d *Device) namesake(ctx context.Context, tx records.Tx, key string) (*Device, error) {
	var location any = records.Condition{Op: records.IsNull, Value: true}
	if d.LocationID != nil {
		location = *d.LocationID
	}
	other, err := records.First[Device](ctx, tx, "location_id", location, "hostname_key", key)
	if err != nil || other == nil || other.ID == d.ID {
		return nil, err
	}
	return other, nil
}

// validateName applies the options for hostnames.
func (d *Device) validateName(ctx context.Context, tx records.Tx, before *Device) error {
	devices := records.Of[Device](tx.Schema())
	hostname, uniques := devices.KeyField("hostname"), devices.Uniques()
	global := slices.IndexFunc(uniques, func(u records.Unique) bool { return slices.Equal(u.Fields, []string{"hostname"}) })
	switch {
	case hostname.CaseSensitive && d.Hostname != records.FoldASCII(d.Hostname):
		d.HostnameKey = d.exactKey()
	case hostname.CaseSensitive:
		other, err := d.namesake(ctx, tx, d.HostnameKey)
		if err != nil || other == nil || other.Hostname == d.Hostname {
			return err
		}
		other.HostnameKey = other.exactKey() // it is of before the option
		return tx.Update(ctx, other, other.Version)
	case global >= 0 && d.Hostname != before.Hostname:
		q := &records.Query{Resource: devices, Sort: []records.SortKey{{Field: hostname}}, After: &records.Place{Values: []any{d.Hostname}}, Limit: 10}
		for rec, err := range records.All(ctx, tx, q) {
			if err != nil {
				return err
			}
			switch other := rec.(*Device); {
			case records.NaturalKey(other.Hostname) != records.NaturalKey(d.Hostname):
				return nil
			case other.ID != d.ID && records.FoldASCII(other.Hostname) == records.FoldASCII(d.Hostname):
				return records.Duplicate(devices, uniques[global])
			}
		}
	}
	return nil
}

// KeyHostnames logs the devices of an earlier version whose hostname is equal to that of another one but for case
// (REFERENCE.md, 1.3): they stay, and their hostnames have to be changed. Call it when a program starts. It does nothing
// with [CaseSensitiveHostnames]. A nil log means slog.Default().
func KeyHostnames(ctx context.Context, store records.Store, log *slog.Logger) error {
	if err := records.CheckStore(store, &Device{}); err != nil {
		return err
	}
	devices := records.Of[Device](store.Schema())
	if devices.KeyField("hostname").CaseSensitive {
		return nil
	}
	q := &records.Query{Resource: devices, Limit: records.MaxItems}
	q.Where("hostname_key", records.Condition{Op: records.Lt, Value: "!"}) // that of namesakes begins with a blank
	for rec, err := range records.All(ctx, records.Fresh(store), q) {
		if err != nil {
			return err
		}
		d := rec.(*Device)
		other, err := d.key(ctx, store)
		if kind := records.KindOf(err); err != nil && kind != records.Stale && kind != records.NotFound && kind != records.Conflict { // else it has just been changed
			return err
		}
		if other != nil {
			cmp.Or(log, slog.Default()).WarnContext(ctx, "two devices have hostnames that are equal but for case: rename one, or delete it",
				"hostname", d.Hostname, "id", d.ID, "other", other.Hostname, "other_id", other.ID)
		}
	}
	return nil
}

// key gives a device whose key is its own that of its hostname if no other device has it, which it returns.
func (d *Device) key(ctx context.Context, store records.Store) (other *Device, err error) {
	err = store.Change(ctx, func(tx records.Tx) (err error) {
		if other, err = d.namesake(ctx, tx, d.foldedKey()); err != nil || other != nil {
			return err
		}
		now := *d
		now.HostnameKey = d.foldedKey()
		return tx.Update(ctx, &now, d.Version)
	})
	return other, err
}
