package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"net/netip"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Space finds a free value in a prefix, in a transaction. The error is of kind [records.Conflict] if there
// is none.
type Space func(ctx context.Context, tx records.Tx, p *Prefix) (value string, err error)

// maxAllocations bounds the attempts to use a free value: changes that do not ask for one may take it.
const maxAllocations = 5

// errNoSpace is a prefix without the space that a request needs.
var errNoSpace = errors.New("no free space")

// Allocate calls use with a free value of a prefix, in one transaction, whose calls of the engine use
// creates a record with. Calls for prefixes of one VRF take turns, so that each gets another value. use
// may run more than once.
//
//	err := inventory.Allocate(ctx, engine, id, inventory.NextAddress, func(ctx context.Context, in *records.Engine, p *inventory.Prefix, value string) error {
//		return in.Create(ctx, by, &inventory.Address{Address: value, VRFID: p.VRFID})
//	})
func Allocate(ctx context.Context, v *records.Engine, prefixID string, next Space, use func(ctx context.Context, in *records.Engine, p *Prefix, value string) error) (err error) {
	if v == nil || next == nil || use == nil {
		return errors.New("inventory.Allocate: the engine or a function is nil")
	}
	var p *Prefix
	value := ""
	v = v.BeforeChange(func(ctx context.Context, tx records.Tx) (err error) {
		if p, err = records.Get[Prefix](ctx, tx, prefixID); err == nil {
			value, err = next(ctx, tx, p)
		}
		return err
	})
	for range maxAllocations {
		err = v.Together(ctx, func(ctx context.Context, in *records.Engine) error { return use(ctx, in, p, value) })
		if records.KindOf(err) != records.Conflict || errors.Is(err, errNoSpace) {
			return err
		}
	}
	return err
}

// NextAddress returns the lowest free address of a prefix, with its prefix length: one that no record of
// the VRF has, and in the global table no interface and no device either. Not free are the address of the
// network and the broadcast address of IPv4, and the anycast address of routers of IPv6 (RFC 4291, section
// 2.6.1), unless the prefix has two addresses or one. It is a [Space].
func NextAddress(ctx context.Context, tx records.Tx, p *Prefix) (address string, err error) {
	network, err := p.network(ctx, tx)
	if err != nil {
		return "", err
	}
	used := []*values{valuesIn(ctx, tx, records.Of[Address](tx.Schema()), "address", network, p.inVRF)}
	if p.VRFID == nil {
		used = append(used, valuesIn(ctx, tx, records.Of[Interface](tx.Schema()), "ip_address", network, nil),
			valuesIn(ctx, tx, records.Of[Device](tx.Schema()), "ip", network, nil))
	}
	for _, v := range used {
		defer v.stop()
	}
	next, last := HostRange(network)
	for next.IsValid() && !last.Less(next) {
		taken := false
		for _, v := range used {
			at, err := v.from(next)
			if err != nil {
				return "", err
			}
			taken = taken || at == next
		}
		if !taken {
			return netip.PrefixFrom(next, network.Bits()).String(), nil
		}
		next = next.Next()
	}
	return "", noSpace("Prefix " + p.Prefix + " has no free address")
}

// NextPrefix returns a [Space] that finds the lowest free network with a prefix length: one that overlaps
// no other prefix of the VRF, except those that contain the given one.
func NextPrefix(bits int) Space {
	return func(ctx context.Context, tx records.Tx, p *Prefix) (prefix string, err error) {
		network, err := p.network(ctx, tx)
		if err != nil {
			return "", err
		}
		if bits <= network.Bits() || bits > network.Addr().BitLen() {
			return "", refuse("prefix", "prefix_length", records.OutOfRange(network.Bits()+1, network.Addr().BitLen(), ""))
		}
		used := valuesIn(ctx, tx, records.Of[Prefix](tx.Schema()), "prefix", network, p.inVRF)
		defer used.stop()
		used.omit = network
		for next := netip.PrefixFrom(network.Addr(), bits); next.IsValid() && network.Overlaps(next); {
			if _, err := used.from(next.Addr()); err != nil {
				return "", err
			}
			if !used.head.IsValid() || !used.head.Overlaps(next) {
				return next.String(), nil
			}
			next = following(used.head, bits)
		}
		return "", noSpace(fmt.Sprintf("Prefix %s has no free space for a prefix of length %d", p.Prefix, bits))
	}
}

func noSpace(message string) *records.Error {
	return &records.Error{Kind: records.Conflict, Message: message, Err: errNoSpace}
}

// network returns the network of the prefix, and makes transactions for the VRF take turns.
func (p *Prefix) network(ctx context.Context, tx records.Tx) (netip.Prefix, error) {
	if err := records.Serialize(ctx, tx, "addresses of VRF "+cmp.Or(stringOf(p.VRFID), "global")); err != nil {
		return netip.Prefix{}, err
	}
	return netip.ParsePrefix(p.Prefix)
}

// inVRF adds the condition that records belong to the VRF of the prefix.
func (p *Prefix) inVRF(q *records.Query) {
	if p.VRFID != nil {
		q.Where("vrf_id", *p.VRFID)
		return
	}
	q.Where("vrf_id", records.Condition{Op: records.IsNull, Value: true})
}

// LastAddress returns the last address of a network.
func LastAddress(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < p.Addr().BitLen(); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// HostRange returns the first and the last address of a network that a host may have.
func HostRange(p netip.Prefix) (first, last netip.Addr) {
	first, last = p.Addr(), LastAddress(p)
	if p.Addr().BitLen()-p.Bits() < 2 {
		return first, last // RFC 3021 and RFC 6164
	}
	first = first.Next()
	if first.Is4() {
		last = last.Prev()
	}
	return first, last
}

// following returns the first network with a prefix length after another network, the zero Prefix if
// there is none.
func following(p netip.Prefix, bits int) netip.Prefix {
	next := LastAddress(p).Next()
	if aligned := netip.PrefixFrom(next, bits).Masked(); aligned.Addr() != next {
		next = LastAddress(aligned).Next()
	}
	return netip.PrefixFrom(next, bits)
}

// values reads the addresses or networks of a field that are in a network, in their order.
type values struct {
	field *records.Field
	omit  netip.Prefix // is skipped
	head  netip.Prefix // the current one; the zero Prefix after the last one
	next  func() (records.Record, error, bool)
	stop  func()
}

// valuesPage is the number of records that are read at once.
const valuesPage = 1000

// valuesIn returns the values of a field in a network, of records that also match other conditions.
func valuesIn(ctx context.Context, tx records.Tx, r *records.Resource, field string, network netip.Prefix, where func(q *records.Query)) *values {
	f, _ := r.Field(field)
	q := &records.Query{Resource: r, Limit: valuesPage, Sort: []records.SortKey{{Field: f}}}
	if q.Where(field, records.Condition{Op: records.Within, Value: network}); where != nil {
		where(q)
	}
	v := &values{field: f, head: netip.PrefixFrom(network.Addr(), 0)}
	v.next, v.stop = iter.Pull2(records.All(ctx, tx, q))
	return v
}

// from moves to the first value that ends at an address or after it, and returns its address.
func (v *values) from(addr netip.Addr) (netip.Addr, error) {
	for v.head.IsValid() && (v.head == v.omit || v.head.Bits() == 0 || LastAddress(v.head).Less(addr)) {
		rec, err, ok := v.next()
		if err != nil || !ok {
			v.head = netip.Prefix{}
			return netip.Addr{}, err
		}
		text, _ := v.field.Value(rec).(string)
		if v.field.Format == "network" {
			v.head, _ = netip.ParsePrefix(text) // valid, since it is stored
		} else if host, ok := hostOf(text); ok {
			v.head = netip.PrefixFrom(host, host.BitLen())
		}
	}
	return v.head.Addr(), nil
}

// Usage counts the used addresses of a prefix, by the records of its VRF.
type Usage struct {
	Prefixes, Addresses int64    // within it
	Hosts               *big.Int // how many addresses hosts may have
	Percent             float64  // of Hosts that are Addresses, rounded to hundredths
}

// UsageOf counts the prefixes and addresses of a prefix that the reader shows.
func UsageOf(ctx context.Context, from records.Reader, p *Prefix) (u Usage, err error) {
	if err := records.CheckStore(from, p); err != nil {
		return u, err
	}
	network, err := netip.ParsePrefix(p.Prefix)
	if err != nil {
		return u, err
	}
	count := func(r *records.Resource, field string) (int64, error) {
		q := &records.Query{Resource: r}
		p.inVRF(q)
		return records.Count(ctx, from, q, field, records.Condition{Op: records.Within, Value: network})
	}
	if u.Prefixes, err = count(records.Of[Prefix](from.Schema()), "prefix"); err != nil {
		return u, err
	}
	u.Prefixes = max(u.Prefixes-1, 0) // without itself
	if u.Addresses, err = count(records.Of[Address](from.Schema()), "address"); err != nil {
		return u, err
	}
	first, last := HostRange(network)
	u.Hosts = new(big.Int).Sub(new(big.Int).SetBytes(last.AsSlice()), new(big.Int).SetBytes(first.AsSlice()))
	u.Hosts.Add(u.Hosts, big.NewInt(1))
	hosts, _ := new(big.Float).SetInt(u.Hosts).Float64()
	u.Percent = math.Round(float64(u.Addresses)/hosts*1e4) / 100
	return u, nil
}
