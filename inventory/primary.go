package inventory

import (
	"cmp"
	"context"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// mayBePrimary reports whether an interface gets the address as its primary one by itself.
func (a *Address) mayBePrimary() bool { return a.Role != AddressSecondary && !a.Role.shared() }

// Accompany keeps the primary address of the interface in step (records.Accompanied): its ip_address.
func (a *Address) Accompany(ctx context.Context, tx records.Tx, before, after records.Record) (changes []records.Companion, err error) {
	old, _ := before.(*Address)
	now, _ := after.(*Address)
	was, is := old.interfaceID(), now.interfaceID()
	if was != "" && (now == nil || was != is || old.Address != now.Address) {
		change, err := primaryChange(ctx, tx, was, func(i *Interface) (ip string, err error) {
			switch {
			case i.IPAddress != old.Address:
				return i.IPAddress, nil
			case was == is:
				return now.Address, nil
			}
			return firstAddress(ctx, tx, was)
		})
		if err != nil {
			return nil, err
		}
		changes = append(changes, change...)
	}
	if is != "" && is != was && now.mayBePrimary() {
		change, err := primaryChange(ctx, tx, is, func(i *Interface) (ip string, err error) {
			if i.IPAddress == "" {
				return now.Address, nil
			}
			return i.IPAddress, nil
		})
		if err != nil {
			return nil, err
		}
		changes = append(changes, change...)
	}
	return changes, nil
}

// interfaceID returns the id of the interface, empty for none.
func (a *Address) interfaceID() string {
	if a == nil {
		return ""
	}
	return stringOf(a.InterfaceID)
}

// primaryChange returns the change of the ip_address of an interface to what next returns.
func primaryChange(ctx context.Context, tx records.Tx, id string, next func(i *Interface) (ip string, err error)) ([]records.Companion, error) {
	read := func() (i *Interface, ip string, err error) {
		if i, err = records.Get[Interface](ctx, tx, id); err == nil {
			ip, err = next(i)
		}
		return i, ip, err
	}
	i, ip, err := read()
	if err == nil && ip != i.IPAddress { // again, in turn with other changes of addresses of the device
		if err = records.Serialize(ctx, tx, lockInterfaces(i.DeviceID)); err == nil {
			i, ip, err = read()
		}
	}
	if err != nil || ip == i.IPAddress {
		return nil, err
	}
	changed := records.Clone(i)
	changed.IPAddress = ip
	return []records.Companion{{Before: i, After: changed}}, nil
}

// firstAddress returns the first address of an interface that may be its primary one, empty if it has
// none.
func firstAddress(ctx context.Context, tx records.Tx, id string) (string, error) {
	all, err := records.Select[Address](ctx, tx, &records.Query{Limit: 100}, "interface_id", id)
	for _, a := range all {
		if a.mayBePrimary() {
			return a.Address, nil
		}
	}
	return "", err
}

// Accompany keeps the address record of the primary address in step, if there is one
// (records.Accompanied).
func (i *Interface) Accompany(ctx context.Context, tx records.Tx, before, after records.Record) ([]records.Companion, error) {
	old, _ := before.(*Interface)
	now, _ := after.(*Interface)
	old = cmp.Or(old, &Interface{})
	if now == nil || now.IPAddress == old.IPAddress {
		return nil, nil // addresses are deleted with their interface
	}
	var primary *Address
	var err error
	if old.IPAddress != "" {
		if primary, err = addressWhere(ctx, tx, records.Eq, old.IPAddress, func(a *Address) bool { return a.interfaceID() == i.ID }); err != nil {
			return nil, err
		}
	}
	if now.IPAddress == "" {
		if primary == nil {
			return nil, nil
		}
		return []records.Companion{{Before: primary}}, nil
	}
	return adoptAddress(ctx, tx, i.ID, now.IPAddress, primary)
}

// adoptAddress returns the change that makes an address the primary one of an interface: of its own
// record, of one without an interface, or of the record of the primary address until now.
func adoptAddress(ctx context.Context, tx records.Tx, id, address string, primary *Address) ([]records.Companion, error) {
	own, err := addressWhere(ctx, tx, records.Eq, address, func(a *Address) bool { return a.interfaceID() == id })
	if err != nil || own != nil {
		return nil, err
	}
	free, err := addressWhere(ctx, tx, records.Eq, address, func(a *Address) bool {
		return a.interfaceID() == "" && (primary == nil || equalIDs(a.VRFID, primary.VRFID))
	})
	if err != nil {
		return nil, err
	}
	if free != nil {
		changed := records.Clone(free)
		changed.InterfaceID = new(id)
		return []records.Companion{{Before: free, After: changed}}, nil
	}
	if primary == nil {
		return nil, nil // the interface has no record of its primary address
	}
	changed := records.Clone(primary)
	changed.Address = address
	changed.Normalize()
	host, _ := hostOf(address)
	taken, err := addressWhere(ctx, tx, records.Host, host.String(), func(a *Address) bool {
		return a.ID != primary.ID && a.Host != "" && a.Host == changed.Host
	})
	if err != nil || taken != nil {
		return nil, err // an interface may repeat the address of another one, and a record may not
	}
	return []records.Companion{{Before: primary, After: changed}}, nil
}

// maxEqual bounds the records with one address that are compared.
const maxEqual = 1000

// addressWhere returns the first record with an address that matches, nil if there is none.
func addressWhere(ctx context.Context, tx records.Tx, op records.Op, address string, match func(*Address) bool) (*Address, error) {
	all, err := records.Select[Address](ctx, tx, &records.Query{Limit: maxEqual}, "address", records.Condition{Op: op, Value: address})
	for _, a := range all {
		if match(a) {
			return a, nil
		}
	}
	return nil, err
}
