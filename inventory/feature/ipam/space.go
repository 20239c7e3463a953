package ipam

import (
	"cmp"
	"maps"
	"math/big"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// The bounds of what the space of a prefix reads of each resource with addresses. That of prefixes is maxChildren.
const (
	maxSpaceReads   = 300 // addresses at once
	maxSpaceQueries = 30
)

// barWidth is the width of the drawing of a space.
const barWidth = 1000

// space is the data of the section with the space of a prefix.
type space struct {
	Ranges   []addressRange
	BarWidth int
	From     string // from where on it is not shown; empty for nothing
	Tree     string // the address of the prefix in the tree
}

// addressRange is a range of addresses in one state.
type addressRange struct {
	First, Last netip.Addr
	State       string // used, reserved or free
	Text        string // what is there
	URL         string // of a record or list; of a free range that of the form that uses it, empty without the right
	X, Width    float64

	hosts int // how many addresses of hosts follow each other; 0 for a prefix
}

// size returns the number of addresses, which is exact up to 2^53.
func (a addressRange) size() float64 {
	n := new(big.Int).Sub(new(big.Int).SetBytes(a.Last.AsSlice()), new(big.Int).SetBytes(a.First.AsSlice()))
	size, _ := n.Float64()
	return size + 1
}

// Count says how many addresses there are, if people can read the number.
func (a addressRange) Count() string {
	if n := a.size(); n < 1<<40 {
		return ui.Count(int64(n))
	}
	return ""
}

func loadSpace(p *site.Part) error {
	network, err := netip.ParsePrefix(p.Rec.Text("prefix"))
	if err != nil {
		return err // the API has checked it
	}
	used, until, err := usedIn(p, network)
	if err != nil {
		return err
	}
	s := space{BarWidth: barWidth, Tree: p.UI.URL("/prefixes?under=" + p.Rec.ID()), Ranges: withGaps(p, network, used, until)}
	if until != inventory.LastAddress(network) {
		s.From = until.Next().String()
	}
	total := addressRange{First: network.Addr(), Last: inventory.LastAddress(network)}.size()
	for i := range s.Ranges {
		r := &s.Ranges[i]
		r.X = barWidth * (addressRange{First: network.Addr(), Last: r.First}.size() - 1) / total
		r.Width = max(2, barWidth*r.size()/total)
	}
	p.Data = s
	return nil
}

// usedIn returns the prefixes directly within a network and the addresses in it, in their order, and until where that is all
// of them. In the global table the addresses of interfaces and devices count, as they do for the next free address.
func usedIn(p *site.Part, network netip.Prefix) (all []addressRange, until netip.Addr, err error) {
	vrf := p.Rec.Text("vrf_id")
	until = inventory.LastAddress(network)
	within, more, err := directly(p.Request, vrf, network, "")
	if err != nil {
		return nil, until, err
	}
	add := func(r addressRange, resource string, rec site.Record) {
		r.State, r.URL = "used", p.RecordURL(resource, rec.ID())
		if status := rec.Text("status"); status == "reserved" || status == "dhcp" {
			r.State = "reserved"
		}
		all = append(all, r)
	}
	for _, w := range within {
		add(addressRange{First: w.network.Addr(), Last: inventory.LastAddress(w.network), Text: w.Prefix}, "prefixes", w.Rec)
	}
	if more != "" {
		until = all[len(all)-1].Last
	}
	for _, source := range [][2]string{{"addresses", "address"}, {"interfaces", "ip_address"}, {"devices", "ip"}} {
		resource, field := source[0], source[1]
		query := url.Values{"sortby": {field + ":asc"}, "fields": {"id,status," + field}}
		if resource == "addresses" {
			maps.Copy(query, inVRF(vrf))
		} else if vrf != "" {
			break
		}
		if !p.MaySee(resource) {
			continue
		}
		end, err := hostsIn(p, network, within, resource, field, query, func(addr netip.Addr, rec site.Record) {
			add(addressRange{First: addr, Last: addr, Text: addr.String(), hosts: 1}, resource, rec)
		})
		if err != nil {
			return nil, until, err
		}
		if end.Less(until) {
			until = end
		}
	}
	slices.SortStableFunc(all, func(a, b addressRange) int { return cmp.Or(a.First.Compare(b.First), b.Last.Compare(a.Last)) })
	return all, until, nil
}

// hostsIn calls add for the addresses of a resource in a network that are in none of the prefixes within it, and returns until
// where these are all. Behind a prefix with more addresses than are read at once it reads on.
func hostsIn(p *site.Part, network netip.Prefix, within []*prefix, resource, field string, query url.Values, add func(netip.Addr, site.Record)) (until netip.Addr, err error) {
	queue := []netip.Prefix{network} // to be read, in the order of addresses
	for n := 0; len(queue) > 0; n++ {
		if n == maxSpaceQueries {
			return queue[0].Addr().Prev(), nil
		}
		query.Set(field+"__within", queue[0].String())
		recs, err := p.All(resource, query, maxSpaceReads)
		if err != nil {
			return until, err
		}
		at := -1
		for _, rec := range recs {
			text, _, _ := strings.Cut(rec.Text(field), "/")
			until, _ = netip.ParseAddr(text) // the API has checked it
			until = until.Unmap()
			if at = slices.IndexFunc(within, func(w *prefix) bool { return w.network.Contains(until) }); at < 0 {
				add(until, rec)
			}
		}
		switch {
		case len(recs) < maxSpaceReads:
			queue = queue[1:]
		case at < 0:
			return until, nil
		default:
			queue = append(blocksAfter(within[at].network, queue[0]), queue[1:]...)
		}
	}
	return inventory.LastAddress(network), nil
}

// withGaps returns ranges with the free ones between them. Addresses that follow each other are one range.
func withGaps(p *site.Part, network netip.Prefix, used []addressRange, until netip.Addr) (all []addressRange) {
	divided := p.Rec.Text("status") == string(inventory.PrefixContainer) || slices.ContainsFunc(used, func(r addressRange) bool { return r.hosts == 0 })
	next, last := network.Addr(), until
	if first, end := inventory.HostRange(network); !divided {
		next = first
		if end.Less(last) {
			last = end
		}
	}
	free := func(until netip.Addr) {
		if next.IsValid() && next.Compare(until) <= 0 {
			r := addressRange{First: next, Last: until, State: "free"}
			r.URL = newIn(p, network, r, divided)
			all = append(all, r)
		}
	}
	for _, r := range used {
		if !next.IsValid() || r.Last.Less(next) || until.Less(r.Last) {
			continue
		}
		if r.First != next {
			free(r.First.Prev())
		}
		next = r.Last.Next()
		if n := len(all) - 1; n >= 0 && r.hosts > 0 && all[n].hosts > 0 && all[n].State == r.State && all[n].Last.Next() == r.First {
			query := url.Values{"address__within": {network.String()}, "sortby": {"address:asc"}}
			maps.Copy(query, inVRF(p.Rec.Text("vrf_id")))
			all[n].Last, all[n].Text, all[n].URL = r.Last, "", p.ListURL("addresses")+"?"+query.Encode()
			continue
		}
		all = append(all, r)
	}
	free(last)
	return all
}

// newIn returns the address of the form of a new record at the begin of a free range: of the largest prefix there if the
// network is divided into prefixes, and else of an address.
func newIn(p *site.Part, network netip.Prefix, free addressRange, divided bool) string {
	_, length, _ := strings.Cut(p.Rec.Text("prefix"), "/")
	resource, value := "addresses", url.Values{"address": {free.First.String() + "/" + length}}
	if divided {
		block := netip.PrefixFrom(free.First, network.Bits())
		for block.Masked().Addr() != free.First || free.Last.Less(inventory.LastAddress(block)) {
			block = netip.PrefixFrom(free.First, block.Bits()+1)
		}
		resource, value = "prefixes", url.Values{"prefix": {block.String()}}
	}
	if !p.May(resource, records.RouteCreate) {
		return ""
	}
	if vrf := p.Rec.Text("vrf_id"); vrf != "" {
		value.Set("vrf_id", vrf)
	}
	return p.ListURL(resource) + "/new?" + value.Encode()
}
