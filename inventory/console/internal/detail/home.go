package detail

import (
	"net/url"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// homeRows is the number of changes on the home page.
const homeRows = 8

// home is the data of the home page.
type home struct {
	Top, Main, Side []*site.Part
	Empty           string // that there are no records of a kind; empty if there are
	New             string // the address of the form for the first one
	NewLabel        string
}

func showHome(q *site.Request) error {
	h := &home{}
	counts := slices.DeleteFunc(slices.Clone(q.Counts), func(c site.Count) bool { return !q.MaySee(c.Resource) })
	numbers := make([]site.Number, len(counts))
	facts := &site.Section{ID: "home-facts", Template: "section-facts", Load: func(p *site.Part) (err error) {
		numbers, err = q.Numbers(counts)
		p.Data = numbers
		return err
	}}
	for _, c := range counts {
		facts.Follow = append(facts.Follow, c.Resource)
	}
	h.Top = append([]*site.Part{site.NewPart(q, facts, nil)}, q.Parts("", site.Top, nil)...)
	h.Main, h.Side = q.Parts("", site.Main, nil), q.Parts("", site.Side, nil)
	if q.MaySee(q.AuditLog()) {
		newest := &site.Section{ID: "home-changes", Template: "section-entries", Title: "Newest changes", Load: loadNewest}
		for _, r := range q.Schema.Resources() {
			if !r.Internal && !r.Unaudited && !r.Prunable { // of which there are always new ones
				newest.Follow = append(newest.Follow, r.Name)
			}
		}
		h.Side = append(h.Side, site.NewPart(q, newest, nil))
	}
	if done, err := site.LoadAll(q, "home.html", slices.Concat(h.Top, h.Main, h.Side)); done || err != nil {
		return err
	}
	for i, c := range counts {
		if c.Empty != "" && numbers[i].Value == 0 && h.Empty == "" {
			h.Empty = c.Empty
			if r, ok := q.Schema.Named(c.Resource); ok && q.May(c.Resource, records.RouteCreate) {
				h.New, h.NewLabel = q.ListURL(c.Resource)+"/new", "New "+r.Noun()
			}
		}
	}
	return q.Page("home.html", "Home", h)
}

// loadNewest lists the newest changes of records.
func loadNewest(p *site.Part) error {
	query := url.Values{"action__in": {"create,update,delete"}}
	p.Act("All", p.UI.URL(activityPath), "")
	entries, _, err := readEntries(p.Request, query, homeRows)
	if len(entries) > 0 {
		p.Data = entries
	}
	return err
}
