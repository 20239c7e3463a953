package ipam

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// Bounds of a page of the tree.
const (
	maxChildren = 100 // of one prefix at once
	maxOpen     = 120 // prefixes that are shown without opening others
	maxTables   = 20  // VRFs
	maxReads    = 200 // for the children of one prefix
)

// prefix is a prefix of the tree.
type prefix struct {
	Rec            site.Record
	ID, Prefix     string
	Location, VLAN string
	counts
	Children []*prefix
	More     string // the prefix after which there are more children; empty for none
	Open     bool
	network  netip.Prefix
}

// counts has the used part of a prefix, as the API counts it.
type counts struct {
	Prefixes  int64 // within it
	Addresses int64
	Hosts     string
	Percent   float64
}

// Share returns the used part, for a meter.
func (c counts) Share() float64 { return min(1, c.Percent/100) }

// Used returns the used part in words.
func (c counts) Used() string {
	if c.Addresses > 0 && c.Percent < 0.01 {
		return "< 0.01 %"
	}
	return strconv.FormatFloat(c.Percent, 'f', -1, 64) + " %"
}

// lengths returns the prefix lengths that are offered for a prefix within a network.
func lengths(network netip.Prefix) (all []int) {
	for n := network.Bits() + 1; n <= min(network.Addr().BitLen(), network.Bits()+16); n++ {
		all = append(all, n)
	}
	return all
}

// table is a VRF with its prefixes.
type table struct {
	ID, Name string // an empty id is the global table
	Roots    []*prefix
	More     string
	Total    int64
}

// prefixPage is the data of the tree of prefixes.
type prefixPage struct {
	VRF, Query string
	VRFs       []site.Choice
	Tables     []*table
	Found      []*prefix
	FoundMore  bool
	Under      *prefix
	Above      []*prefix
	Lengths    []int
	Length     int // of these, that is proposed
	New        bool
	NewAddress bool
	Part       []*prefix // for htmx: children, and what is after them
	PartMore   string
	PartOf     string // the address of the next part
}

// After returns the address of the children of a prefix, or of the roots of a VRF, after one of them.
func (p *prefixPage) After(under, vrf, after string) string {
	values := url.Values{"after": {after}}
	if under != "" {
		values.Set("under", under)
	} else {
		values.Set("vrf", cmp.Or(vrf, "global"))
	}
	return "/prefixes?" + values.Encode()
}

func showPrefixes(q *site.Request) error {
	given := q.R.URL.Query()
	p := &prefixPage{
		VRF: given.Get("vrf"), Query: strings.TrimSpace(given.Get("q")),
		New: q.May("prefixes", records.RouteCreate),
	}
	under, after := given.Get("under"), given.Get("after")
	if under != "" {
		rec, _, err := q.One("prefixes", under)
		if err != nil {
			return err
		}
		p.Under = prefixFrom(rec)
		p.NewAddress, p.Lengths = q.May("addresses", records.RouteCreate), lengths(p.Under.network)
		if p.Length = p.Under.network.Bits() + 8; p.Under.network.Addr().Is4() {
			p.Length = max(24, min(p.Length, 32))
		}
	}
	if ui.IsPart(q.R) || after != "" {
		return p.part(q, after)
	}
	if err := p.tables(q); err != nil {
		return err
	}
	var err error
	switch {
	case p.Under != nil:
		err = p.subtree(q)
	case p.Query != "":
		err = p.search(q)
	default:
		err = p.roots(q)
	}
	if err != nil {
		return err
	}
	return q.Page("prefixes.html", "Prefixes", p)
}

// part responds with the children of a prefix, or with more roots.
func (p *prefixPage) part(q *site.Request, after string) error {
	of, under, vrf := &prefix{}, "", p.scope()
	if p.Under != nil {
		of, under, vrf = p.Under, p.Under.ID, p.Under.Rec.Text("vrf_id")
	}
	var err error
	if p.Part, p.PartMore, err = children(q, vrf, of.network, after); err != nil {
		return err
	}
	p.PartOf = p.After(under, vrf, p.PartMore)
	if ui.IsPart(q.R) {
		return q.Part("prefixes.html", "maps-part", p)
	}
	return q.Page("prefixes.html", "Prefixes", p)
}

// scope returns the id of the VRF of the page, empty for the global table.
func (p *prefixPage) scope() string {
	if p.VRF == "global" {
		return ""
	}
	return p.VRF
}

// tables reads the VRFs.
func (p *prefixPage) tables(q *site.Request) error {
	p.VRFs = []site.Choice{{Label: "Global table", Value: "global", Chosen: p.VRF == "global"}}
	if !q.May("vrfs", records.RouteList) {
		return nil
	}
	page, err := q.List("vrfs", url.Values{"limit": {"100"}, "sortby": {"name:asc"}, "fields": {"id,name,rd"}})
	if err != nil {
		return err
	}
	for _, rec := range page.Data {
		p.VRFs = append(p.VRFs, site.Choice{Label: rec.Text("name"), Value: rec.ID(), Chosen: rec.ID() == p.VRF})
	}
	return nil
}

// inVRF returns the parameters of a list of the prefixes of a VRF: those of all that the sender does not see are together.
func inVRF(vrf string) url.Values {
	switch vrf {
	case "":
		return url.Values{"vrf_id__isnull": {"true"}}
	case records.Hidden:
		return url.Values{"vrf_id__isnull": {"false"}}
	}
	return url.Values{"vrf_id": {vrf}}
}

// roots reads the first level of the tables, and more as long as there is space.
func (p *prefixPage) roots(q *site.Request) error {
	left := maxOpen
	for _, vrf := range p.VRFs {
		if p.VRF != "" && !vrf.Chosen {
			continue
		}
		if len(p.Tables) == maxTables {
			break
		}
		t := &table{Name: vrf.Label}
		if vrf.Value != "global" {
			t.ID = vrf.Value
		}
		query := inVRF(t.ID)
		query.Set("limit", "1")
		page, err := q.List("prefixes", query)
		if err != nil {
			return err
		}
		if t.Total = page.Meta.Total; t.Total == 0 && p.VRF == "" {
			continue
		}
		if t.Roots, t.More, err = children(q, t.ID, netip.Prefix{}, ""); err != nil {
			return err
		}
		left -= len(t.Roots)
		if err := expand(q, t.ID, t.Roots, &left); err != nil {
			return err
		}
		p.Tables = append(p.Tables, t)
	}
	return nil
}

// expand reads the children of prefixes, level by level, as long as there is space for them.
func expand(q *site.Request, vrf string, level []*prefix, left *int) error {
	for len(level) > 0 {
		var next []*prefix
		for _, p := range level {
			if p.Prefixes == 0 || p.Prefixes > int64(*left) {
				continue
			}
			var err error
			if p.Children, p.More, err = children(q, vrf, p.network, ""); err != nil {
				return err
			}
			p.Open = true
			*left -= len(p.Children)
			next = append(next, p.Children...)
		}
		level = next
	}
	return nil
}

// subtree reads a prefix, those that contain it, and those within it.
func (p *prefixPage) subtree(q *site.Request) error {
	vrf := p.Under.Rec.Text("vrf_id")
	query := inVRF(vrf)
	query.Set("prefix__covers", p.Under.Prefix)
	var err error
	if p.Above, _, err = list(q, query); err != nil {
		return err
	}
	p.Above = slices.DeleteFunc(p.Above, func(above *prefix) bool { return above.ID == p.Under.ID })
	if err := describe(q, []*prefix{p.Under}); err != nil {
		return err
	}
	if p.Under.Children, p.Under.More, err = children(q, vrf, p.Under.network, ""); err != nil {
		return err
	}
	left := maxOpen - len(p.Under.Children)
	return expand(q, vrf, p.Under.Children, &left)
}

// search reads the prefixes that match a text, in the order of addresses.
func (p *prefixPage) search(q *site.Request) error {
	query := url.Values{}
	if p.VRF != "" {
		query = inVRF(p.scope())
	}
	network, err := netip.ParsePrefix(p.Query)
	switch addr, notAddr := netip.ParseAddr(p.Query); {
	case err == nil:
		query.Set("within", network.Masked().String())
	case notAddr == nil:
		query.Set("prefix__covers", addr.String())
	default:
		query.Set("q", p.Query)
	}
	if p.Found, p.FoundMore, err = list(q, query); err != nil {
		return err
	}
	return describe(q, p.Found)
}

// list reads the first 100 prefixes of a query in the order of addresses, and whether there are more.
func list(q *site.Request, query url.Values) (all []*prefix, more bool, err error) {
	query.Set("sortby", "prefix:asc")
	page, err := q.Some("prefixes", records.MaxLimit, query)
	if err != nil {
		return nil, false, err
	}
	for _, rec := range page.Data {
		all = append(all, prefixFrom(rec))
	}
	return all, page.Meta.NextCursor != "", nil
}

func prefixFrom(rec site.Record) *prefix {
	p := &prefix{Rec: rec, ID: rec.ID(), Prefix: rec.Text("prefix")}
	p.network, _ = netip.ParsePrefix(p.Prefix) // the API has checked it
	return p
}

// children is directly, with how much of the prefixes is used.
func children(q *site.Request, vrf string, within netip.Prefix, after string) ([]*prefix, string, error) {
	found, more, err := directly(q, vrf, within, after)
	if err != nil {
		return nil, "", err
	}
	return found, more, describe(q, found)
}

// directly reads the prefixes of a VRF directly within a network, or its first level for the zero one, after
// a given one. Lists have all levels in the order of addresses, so that the prefixes within a child follow it:
// the next read begins after them.
func directly(q *site.Request, vrf string, within netip.Prefix, after string) (found []*prefix, more string, err error) {
	queue := []netip.Prefix{within} // networks that are still to be read, in the order of addresses
	if !within.IsValid() {
		queue = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
	}
	var last netip.Prefix // the last child
	if first, err := netip.ParsePrefix(after); err == nil {
		last = first.Masked()
		for len(queue) > 0 && !queue[0].Contains(last.Addr()) {
			queue = queue[1:]
		}
		if len(queue) > 0 {
			queue = append(blocksAfter(last, queue[0]), queue[1:]...)
		}
	}
	query := inVRF(vrf)
	for range maxReads {
		if len(queue) == 0 {
			return found, "", nil
		}
		block := queue[0]
		queue = queue[1:]
		query.Set("within", block.String())
		all, more, err := list(q, query)
		if err != nil {
			return nil, "", err
		}
		for _, p := range all {
			if p.network == within || last.IsValid() && last.Overlaps(p.network) {
				continue
			}
			if len(found) == maxChildren {
				return found, last.String(), nil
			}
			found, last = append(found, p), p.network
		}
		if more {
			queue = append(blocksAfter(last, block), queue...)
		}
	}
	return found, last.String(), nil
}

// blocksAfter returns the networks that make up the part of a network after one within it, in the order of
// addresses.
func blocksAfter(p, in netip.Prefix) (blocks []netip.Prefix) {
	for bits := p.Bits(); bits > in.Bits(); bits-- {
		bytes := p.Addr().AsSlice()
		at, mask := (bits-1)/8, byte(0x80)>>((bits-1)%8)
		if bytes[at]&mask != 0 {
			continue
		}
		bytes[at] |= mask
		addr, _ := netip.AddrFromSlice(bytes)
		blocks = append(blocks, netip.PrefixFrom(addr, bits).Masked())
	}
	return blocks
}

// describe sets how much of prefixes is used, and the names that they refer to.
func describe(q *site.Request, all []*prefix) error {
	recs := make([]site.Record, len(all))
	for i, p := range all {
		recs[i] = p.Rec
		if err := q.Get("/prefixes/"+p.ID+"/usage", nil, &p.counts); err != nil {
			return err
		}
	}
	r, _ := q.Schema.Named("prefixes")
	fields := slices.DeleteFunc(r.Fields(), func(f *records.Field) bool { return f.Name != "location_id" && f.Name != "vlan_id" })
	labels, err := q.RefLabels(fields, recs)
	for _, p := range all {
		p.Location, p.VLAN = labels[p.Rec.Text("location_id")], labels[p.Rec.Text("vlan_id")]
	}
	return err
}
