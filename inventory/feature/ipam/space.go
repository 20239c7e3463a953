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

// Bounds of the space of a prefix. One with more records or ranges is shown as blocks, each of which can be looked into.
const (
	maxSpaceReads  = 300 // of each resource
	maxSpaceRanges = 64
	blockBits      = 4 // there are 16 blocks
	barWidth       = 1000
)

// space is the data of the section with the space of a prefix: its ranges, or those of a block of it.
type space struct {
	Network  netip.Prefix
	Whole    string // the address of the page with the whole prefix; empty if it is shown
	Ranges   []addressRange
	BarWidth int
}

// addressRange is a range of addresses in one state.
type addressRange struct {
	First, Last netip.Addr
	State       string // used, reserved or free
	Text        string // what is there
	URL         string // of a record, a list or a block; of a free range that of the form that uses it, empty without the right
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
	s := space{Network: network, BarWidth: barWidth}
	block, err := netip.ParsePrefix(p.R.URL.Query().Get("space"))
	if err == nil && block.Bits() > network.Bits() && network.Contains(block.Addr()) {
		s.Network, s.Whole = block.Masked(), p.RecordURL("prefixes", p.Rec.ID())
	}
	all, more, err := usedIn(p.Request, p.Rec, s.Network)
	if err != nil {
		return err
	}
	if s.Ranges = withGaps(p, s.Network, all); more || len(s.Ranges) > maxSpaceRanges {
		if s.Ranges, err = blocksOf(p, s.Network); err != nil {
			return err
		}
	}
	total, x := addressRange{First: s.Network.Addr(), Last: inventory.LastAddress(s.Network)}.size(), 0.0
	for i := range s.Ranges {
		r := &s.Ranges[i]
		r.X, r.Width = x, max(2, barWidth*r.size()/total)
		x += barWidth * r.size() / total
	}
	p.Data = s
	return nil
}

// usedIn returns the prefixes and addresses in a network of the VRF of a prefix, in their order; as for the next free address,
// those of interfaces and devices count in the global table. more says that there are more than are shown one by one.
func usedIn(q *site.Request, rec site.Record, in netip.Prefix) (all []addressRange, more bool, err error) {
	for _, source := range [][2]string{{"prefixes", "prefix"}, {"addresses", "address"}, {"interfaces", "ip_address"}, {"devices", "ip"}} {
		resource, field := source[0], source[1]
		query := url.Values{field + "__within": {in.String()}, "sortby": {field + ":asc"}, "fields": {"id,status," + field}}
		own := resource == "prefixes" || resource == "addresses"
		if own {
			maps.Copy(query, inVRF(rec.Text("vrf_id")))
		}
		if !q.MaySee(resource) || !own && rec.Text("vrf_id") != "" {
			continue
		}
		recs, err := q.All(resource, query, maxSpaceReads)
		if err != nil || len(recs) >= maxSpaceReads {
			return nil, true, err
		}
		for _, found := range recs {
			if r, ok := rangeOf(resource, found.Text(field)); ok && found.ID() != rec.ID() {
				r.URL, r.State = q.RecordURL(resource, found.ID()), "used"
				if status := found.Text("status"); own && (status == "reserved" || status == "dhcp") {
					r.State = "reserved"
				}
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b addressRange) int { return cmp.Or(a.First.Compare(b.First), b.Last.Compare(a.Last)) })
	return all, false, nil
}

// rangeOf returns the range of a prefix, or of the address of a host.
func rangeOf(resource, text string) (addressRange, bool) {
	p, err := netip.ParsePrefix(text)
	if addr, notAddr := netip.ParseAddr(text); notAddr == nil {
		p, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	if resource == "prefixes" {
		return addressRange{First: p.Addr(), Last: inventory.LastAddress(p), Text: text}, err == nil
	}
	return addressRange{First: p.Addr(), Last: p.Addr(), Text: p.Addr().String(), hosts: 1}, err == nil
}

// withGaps returns ranges with the free ones between them. Addresses that follow each other are one range, and what is within a
// prefix is not shown.
func withGaps(p *site.Part, network netip.Prefix, used []addressRange) (all []addressRange) {
	next, last := network.Addr(), inventory.LastAddress(network)
	divided := p.Rec.Text("status") == string(inventory.PrefixContainer) || slices.ContainsFunc(used, func(r addressRange) bool { return r.hosts == 0 })
	if network.String() == p.Rec.Text("prefix") && !divided {
		next, last = inventory.HostRange(network)
	}
	free := func(until netip.Addr) {
		if next.IsValid() && next.Compare(until) <= 0 {
			r := addressRange{First: next, Last: until, State: "free"}
			r.URL = newIn(p, network, r, divided)
			all = append(all, r)
		}
	}
	for _, r := range used {
		if !next.IsValid() || r.Last.Less(next) {
			continue
		}
		if r.First != next {
			free(r.First.Prev())
		}
		next = r.Last.Next()
		if n := len(all) - 1; n >= 0 && r.hosts > 0 && all[n].hosts > 0 && all[n].State == r.State && all[n].Last.Next() == r.First {
			before := &all[n]
			before.Last, before.Text, before.hosts = r.Last, "", before.hosts+1
			query := url.Values{"address__within": {network.String()}}
			maps.Copy(query, inVRF(p.Rec.Text("vrf_id")))
			before.URL = p.ListURL("addresses") + "?" + query.Encode()
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

// blocksOf returns the blocks of a network, with how many prefixes and addresses each has.
func blocksOf(p *site.Part, network netip.Prefix) ([]addressRange, error) {
	length := min(network.Bits()+blockBits, network.Addr().BitLen())
	var all []addressRange
	for addr := network.Addr(); addr.IsValid() && network.Contains(addr); addr = all[len(all)-1].Last.Next() {
		all = append(all, addressRange{First: addr, Last: inventory.LastAddress(netip.PrefixFrom(addr, length))})
	}
	calls := make([]func() error, len(all))
	for i := range all {
		calls[i] = func() error { return countBlock(p, &all[i], network, netip.PrefixFrom(all[i].First, length)) }
	}
	return all, site.Together(calls...)
}

func countBlock(p *site.Part, r *addressRange, network, block netip.Prefix) error {
	r.State, r.Text, r.URL = "free", block.String(), newIn(p, network, *r, true)
	in := func(resource, filter, value, limit string) (*site.Page, error) {
		query := inVRF(p.Rec.Text("vrf_id"))
		maps.Copy(query, url.Values{filter: {value}, "limit": {limit}, "count": {"estimated"}})
		return p.List(resource, query)
	}
	around, err := in("prefixes", "prefix__covers", block.Addr().String(), "100")
	if err != nil {
		return err
	}
	for _, rec := range around.Data { // a prefix as large as the block, or larger
		if of, err := netip.ParsePrefix(rec.Text("prefix")); err == nil && of.Bits() > network.Bits() && of.Bits() <= block.Bits() {
			r.State, r.Text, r.URL = "used", of.String(), p.RecordURL("prefixes", rec.ID())
			return nil
		}
	}
	for _, source := range [][2]string{{"addresses", "address__within"}, {"prefixes", "prefix__within"}} {
		if !p.MaySee(source[0]) {
			continue
		}
		page, err := in(source[0], source[1], block.String(), "1")
		if err != nil {
			return err
		}
		if resource, _ := p.Schema.Named(source[0]); page.Meta.Total > 0 {
			r.State, r.URL = "used", p.RecordURL("prefixes", p.Rec.ID())+"?space="+url.QueryEscape(block.String())+"#prefix-space"
			r.Text += ", " + site.CountOf(page, resource)
		}
	}
	return nil
}
