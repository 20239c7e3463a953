package ipam

import (
	"cmp"
	"embed"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

const (
	// shown is the number of records in a section.
	shown = 8
	// measuredPrefixes is of how many prefixes the home page reads the usage.
	measuredPrefixes = 100
)

// pages returns the tree of prefixes, and what the pages of prefixes and the home page show of them.
func pages() site.Pages {
	both := []string{"prefixes", "addresses"}
	return site.Pages{
		Files: files, Style: "style-ipam.css",
		Routes: []site.Route{
			{Pattern: "GET /prefixes", Handle: showPrefixes},
			{Pattern: "GET /prefixes/{id}/next-address", Handle: func(q *site.Request) error { return nextForm(q, "address") }},
			{Pattern: "GET /prefixes/{id}/next-prefix", Handle: func(q *site.Request) error { return nextForm(q, "prefix") }},
			{Pattern: "GET /interfaces/{id}/new-address", Handle: newAddress},
		},
		Entries: []site.Entry{{Label: "Prefix tree", Path: "/prefixes", Icon: "prefix", Group: "Addresses", Order: 230, Show: func(q *site.Request) bool { return q.MaySee(both...) }}},
		Links: []site.RecordLink{{
			Resource: "prefixes", Label: "In the tree", Icon: "prefix", Path: func(id string) string { return "/prefixes?under=" + id },
			Show: func(q *site.Request) bool { return q.MaySee(both...) },
		}, {
			Resource: "interfaces", Label: "IP", Icon: "plus", Row: true, Path: func(id string) string { return "/interfaces/" + id + "/new-address" },
			Show: func(q *site.Request) bool { return q.MaySee("prefixes") && q.May("addresses", records.RouteCreate) },
		}},
		Computed: []site.Computed{{Resource: "prefixes", Label: "Used", Needs: both, Load: loadUsed}},
		Counts:   []site.Count{{Resource: "prefixes", Order: 40}, {Resource: "addresses", Order: 50}},
		Sections: []site.Section{
			{On: "prefixes", ID: "prefix-usage", Title: "Usage", Template: "ipam-usage", Column: site.Side, Order: 10, Follow: both, Needs: both, Load: loadUsage},
			{On: "prefixes", ID: "prefix-space", Title: "Space", Template: "ipam-space", Order: 5, Follow: both, Load: loadSpace},
			{On: "prefixes", ID: "prefix-prefixes", Title: "Prefixes within", Template: "section-table", Order: 10, Follow: both[:1], Load: loadWithin("prefixes", "prefix")},
			{On: "prefixes", ID: "prefix-addresses", Title: "Addresses within", Template: "section-table", Order: 11, Follow: both[1:], Needs: both[1:], Load: loadWithin("addresses", "address")},
			{ID: "home-prefixes", Title: "Fullest prefixes", Template: "ipam-usages", Column: site.Side, Order: 10, Follow: both, Needs: both, Load: loadFullest},
		},
	}
}

// used is the used part of a prefix on the home page, and on the page of the prefix.
type used struct {
	Prefix, URL string
	counts

	// For the page of the prefix.
	ID            string
	Address, Next bool // whether the sender may create addresses, and prefixes
	Lengths       []int
	Full          bool // what was asked for is not free
}

func usageOf(q *site.Request, rec site.Record) (used, error) {
	u := used{Prefix: rec.Text("prefix"), URL: q.RecordURL("prefixes", rec.ID()), ID: rec.ID()}
	return u, q.Get("/prefixes/"+url.PathEscape(rec.ID())+"/usage", nil, &u.counts)
}

func loadUsage(p *site.Part) error {
	u, err := usageOf(p.Request, p.Rec)
	if err != nil {
		return err
	}
	u.Address, u.Next = p.May("addresses", records.RouteCreate), p.May("prefixes", records.RouteCreate)
	network, _ := netip.ParsePrefix(u.Prefix) // the API has checked it
	u.Lengths, u.Full = lengths(network), p.R.URL.Query().Has("full")
	p.Data = u
	return nil
}

// loadWithin returns the function that lists the records within a prefix, in its VRF.
func loadWithin(resource, field string) func(*site.Part) error {
	return func(p *site.Part) error {
		query := url.Values{field + "__within": {p.Rec.Text("prefix")}, "sortby": {field + ":asc"}}
		maps.Copy(query, inVRF(p.Rec.Text("vrf_id")))
		names := []string{"address", "interface_id", "status", "dns_name"}
		if resource == "prefixes" {
			query.Set("prefix__ne", p.Rec.Text("prefix"))
			r, _ := p.Schema.Named(resource)
			names = site.Columns(r, "vrf_id")
		}
		t, err := p.ReadTable(resource, query, shown, names)
		if err != nil {
			return err
		}
		p.Act("All", t.MoreURL, "")
		p.Data = t
		return nil
	}
}

// nextForm leads to the form of the lowest free address of a prefix, or of the lowest free prefix within it. It creates nothing.
func nextForm(q *site.Request, field string) error {
	id := q.R.PathValue("id")
	path := "/prefixes/" + url.PathEscape(id)
	query := url.Values{}
	if field == "prefix" {
		query.Set(lengthParameter, q.R.URL.Query().Get(lengthParameter))
	}
	rec, _, err := q.One("prefixes", id)
	if err != nil {
		return err
	}
	body, port := map[string]string{}, q.R.URL.Query().Get("interface_id")
	if port != "" {
		body["interface_id"] = port
	}
	preview, err := q.DryRun(&site.Call{Method: http.MethodPost, Path: path + "/next-" + field, Query: query, Body: body})
	fault, refused := site.AsFault(err) // of senders who have to name an interface at their location, for instance
	switch {
	case refused && fault.Status == http.StatusConflict:
		return q.Redirect("/r" + path + "?full=true#prefix-usage")
	case !refused && err != nil:
		return err
	}
	values := url.Values{}
	for _, change := range preview.Changes {
		if next := site.Text(change.Changes[field].After); next != "" {
			values.Set(field, next)
		}
	}
	for name, value := range map[string]string{"vrf_id": rec.Text("vrf_id"), "interface_id": port} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return q.Redirect("/r/" + map[string]string{"address": "addresses", "prefix": "prefixes"}[field] + "/new?" + values.Encode())
}

// usagesOf returns how much of prefixes is used, which takes a call of the API for each.
func usagesOf(q *site.Request, recs []site.Record) ([]used, error) {
	usages, calls := make([]used, len(recs)), make([]func() error, len(recs))
	for i, rec := range recs {
		calls[i] = func() (err error) {
			usages[i], err = usageOf(q, rec)
			return err
		}
	}
	return usages, site.Together(calls...)
}

// loadUsed returns the cells of a column of the list.
func loadUsed(q *site.Request, recs []site.Record) (cells []site.Cell, err error) {
	usages, err := usagesOf(q, recs)
	for _, u := range usages {
		cells = append(cells, site.Cell{Kind: "number", Text: u.Used()})
	}
	return cells, err
}

// loadFullest shows the fullest of the prefixes changed last.
func loadFullest(q *site.Part) error {
	page, err := q.List("prefixes", url.Values{"status": {"active"}, "sortby": {"updated_at:desc"}, "limit": {strconv.Itoa(measuredPrefixes)}, "count": {"estimated"}})
	if err != nil {
		return err
	}
	usages, err := usagesOf(q.Request, page.Data)
	if err != nil {
		return err
	}
	usages = slices.DeleteFunc(usages, func(u used) bool { return u.Addresses == 0 })
	slices.SortStableFunc(usages, func(a, b used) int { return cmp.Compare(b.Percent, a.Percent) })
	if page.Meta.Total > measuredPrefixes {
		q.Note = "of the " + strconv.Itoa(measuredPrefixes) + " changed last"
	}
	q.Act("All", q.UI.URL("/prefixes"), "")
	if len(usages) > 0 {
		q.Data = usages[:min(len(usages), shown)]
	}
	return nil
}
