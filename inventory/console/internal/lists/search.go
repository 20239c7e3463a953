package lists

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

const (
	maxFound   = 100 // results of a page
	maxPalette = 8   // results of the command palette
	maxText    = 200 // bytes of a text that is searched
)

// found is the response of the API to a search.
type found struct {
	Complete bool
	Data     []result
}

// result is a record that a search has found.
type result struct {
	Resource, ID, Label, Field, Match string
	Record                            site.Record
}

// hit is a result as it is shown.
type hit struct {
	Label, URL   string
	Resource     *records.Resource
	Field, Value string // what matches, unless that is the label
	Status       string
	Place        string // where the record is
}

// group is the results of one resource.
type group struct {
	Resource *records.Resource
	URL      string // of the list with the same search, if that finds at least these
	Hits     []hit
}

// results is the data of the page with the results of a search, and of the options of the palette.
type results struct {
	Text             string
	Groups           []group
	Count            int
	Complete, Capped bool
	Problem          *site.Fault
	Hits             []hit
	Exact            bool // the first hit is what the text names
	Commands         []command
}

// search serves the results of a search over everything, or the options of the command palette.
func search(q *site.Request) error {
	text := strings.TrimSpace(q.R.URL.Query().Get("q"))
	if q.R.URL.Query().Get("part") == "palette" {
		return palette(q, text)
	}
	data := &results{Text: text, Complete: true}
	if text == "" {
		return q.Page("search.html", "Search", data)
	}
	all, err := findIn(q, text, maxFound)
	if f, ok := site.AsFault(err); ok && f.Status != http.StatusUnauthorized {
		data.Problem = f
		return q.PageStatus(f.Status, "search.html", "Search", data)
	}
	if err != nil {
		return err
	}
	data.Complete, data.Count, data.Capped = all.Complete, len(all.Data), len(all.Data) == maxFound
	if data.Groups, err = grouped(q, text, all.Data); err != nil {
		return err
	}
	return q.Page("search.html", "Search: "+text, data)
}

// find searches with the API.
func find(q *site.Request, text string, limit int) (found, error) {
	var all found
	return all, q.Get("/search", url.Values{"q": {text}, "limit": {strconv.Itoa(limit)}}, &all)
}

// palette serves what fits a text: commands, and records. A search that fails leaves the commands.
func palette(q *site.Request, text string) error {
	data := &results{Text: text, Commands: matching(commands(q), text)}
	if text == "" {
		return q.Part("search.html", "lists-palette", data)
	}
	if len(text) <= maxText {
		rest, does := doingOf(text)
		all, err := findIn(q, rest, maxPalette)
		if _, ok := site.AsFault(err); err != nil && !ok {
			return err
		}
		if data.Hits, err = hits(q, all.Data); err != nil {
			return err
		}
		for i, h := range data.Hits {
			if does.path != "" && q.May(h.Resource.Name, does.needs) {
				data.Hits[i].Label, data.Hits[i].URL = does.label+" "+h.Label, h.URL+does.path
			}
		}
		data.Exact = len(data.Hits) > 0 && all.Data[0].Match == "exact"
		if does.path == "" {
			if data.Hits, err = withLeads(q, data.Hits, all.Data); err != nil {
				return err
			}
		}
		if len(data.Hits) > 0 {
			data.Commands = data.Commands[:min(len(data.Commands), maxCommands/2)]
		}
	}
	return q.Part("search.html", "lists-palette", data)
}

// maxLeading is the number of results whose leads the palette shows.
const maxLeading = 3

// withLeads adds what the first results lead to, each after its result.
func withLeads(q *site.Request, shown []hit, all []result) (more []hit, err error) {
	for i, h := range shown {
		more = append(more, h)
		for _, lead := range q.Leads {
			to, ok := q.Schema.Named(lead.To)
			if i >= maxLeading || !ok || lead.From != h.Resource.Name || !q.MaySee(lead.From, lead.To) {
				continue
			}
			links, err := lead.Load(q, all[i].Record)
			if _, refused := site.AsFault(err); err != nil && !refused {
				return nil, err
			}
			for _, l := range links {
				more = append(more, hit{Label: l.Label, URL: l.URL, Resource: to, Field: lead.Label, Value: h.Label})
			}
		}
	}
	return more, nil
}

// doing is what a word beside a name does with the record in the palette: "ams1-acc-01 edit", "edit ams1-acc-01".
type doing struct {
	label, path string
	needs       records.Routes
}

var doings = map[string]doing{
	"edit": {"Edit", "/edit", records.RouteChange}, "delete": {"Delete", "/delete", records.RouteDelete}, "history": {"History of", "/history", records.RouteGet},
}

// doingOf returns a text without a word that does something.
func doingOf(text string) (rest string, does doing) {
	if word, rest, _ := strings.Cut(text, " "); rest != "" {
		if does, ok := doings[strings.ToLower(word)]; ok {
			return strings.TrimSpace(rest), does
		}
	}
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		if does, ok := doings[strings.ToLower(text[i+1:])]; ok {
			return strings.TrimSpace(text[:i]), does
		}
	}
	return text, doing{}
}

// findIn finds a text among all records, or, behind the name of a resource, among its records: "vlan 30".
func findIn(q *site.Request, text string, limit int) (all found, err error) {
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	i := slices.IndexFunc(q.Schema.Resources(), func(r *records.Resource) bool {
		return !r.Internal && q.May(r.Name, records.RouteList) && (strings.EqualFold(word, r.Noun()) || strings.EqualFold(word, r.Name))
	})
	if rest == "" || i < 0 {
		return find(q, text, limit)
	}
	r := q.Schema.Resources()[i]
	query := url.Values{"q": {rest}}
	for _, f := range r.Fields() {
		if _, err := strconv.ParseInt(rest, 10, 64); err == nil && f.Kind == records.Int && f.Index && f.Ref == nil { // such as the number of a VLAN
			query = url.Values{f.Name: {rest}}
			break
		}
	}
	page, err := q.Some(r.Name, limit, query)
	all.Complete = true
	for _, rec := range page.Data {
		all.Data = append(all.Data, result{Resource: r.Name, ID: rec.ID(), Record: rec})
	}
	return all, err
}

// hits returns results as they are shown, in their order.
func hits(q *site.Request, all []result) ([]hit, error) {
	ids := map[string][]string{}
	for _, r := range all {
		ids[r.Resource] = append(ids[r.Resource], r.ID)
	}
	maps.DeleteFunc(ids, func(name string, _ []string) bool {
		r, ok := q.Schema.Named(name)
		return !ok || site.Owner(r) == nil // the label of the result is enough
	})
	places := q.Places()
	at := func(found result) string {
		if r, ok := q.Schema.Named(found.Resource); ok && len(r.Within) == 1 {
			if f, ok := r.Field(r.Within[0]); ok && f.Ref != nil && f.Ref.To == places {
				return found.Record.Text(f.Name)
			}
		}
		return ""
	}
	for _, found := range all {
		if id := at(found); id != "" {
			ids[places] = append(ids[places], id)
		}
	}
	labels, err := q.LabelsOf(ids)
	if err != nil {
		return nil, err
	}
	shown := make([]hit, 0, len(all))
	for _, found := range all {
		r, ok := q.Schema.Named(found.Resource)
		if !ok {
			continue
		}
		h := hit{Label: cmp.Or(labels[found.ID], site.Label(r, found.Record)), URL: q.RecordURL(r.Name, found.ID), Resource: r, Place: labels[at(found)]}
		if f, ok := r.Field(found.Field); ok && f != site.LabelField(r) && f.Name != "id" {
			line, _, _ := strings.Cut(found.Record.Text(f.Name), "\n")
			h.Field, h.Value = site.FieldLabel(f), site.Clip(line, 80)
		}
		if f := stateOf(q, r, visible); f != nil {
			h.Status = found.Record.Text(f.Name)
		}
		shown = append(shown, h)
	}
	return shown, nil
}

// stateOf returns the first of some fields that has a state, or nil.
func stateOf(q *site.Request, r *records.Resource, of func(*records.Field) bool) *records.Field {
	for _, f := range r.Fields() {
		if of(f) && visible(f) && q.Cell(f, nil, nil).Kind == "badge" {
			return f
		}
	}
	return nil
}

// grouped returns the results by resource, in the order of the best one of each.
func grouped(q *site.Request, text string, all []result) ([]group, error) {
	shown, err := hits(q, all)
	if err != nil {
		return nil, err
	}
	var groups []group
	for _, h := range shown {
		i := slices.IndexFunc(groups, func(g group) bool { return g.Resource == h.Resource })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{Resource: h.Resource, URL: q.ListURL(h.Resource.Name) + "?" + url.Values{"q": {text}}.Encode()})
		}
		groups[i].Hits = append(groups[i].Hits, h)
	}
	return groups, nil
}
