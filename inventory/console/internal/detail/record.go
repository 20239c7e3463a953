package detail

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// page is the data of the page of a record.
type page struct {
	q        *site.Request
	Resource *records.Resource
	Rec      site.Record
	Title    string
	Icon     string
	State    string // of the badge beside the title
	Crumbs   []site.Link
	Actions  []site.Action
	Edit     string // addresses; empty without the right
	Delete   string
	Tabs     []preset
	Values   *site.Part // the fields, apart from Main if there are tabs
	Main     []*site.Part
	Side     []*site.Part
	Foot     *site.Part
	Charts   bool
}

func showRecord(q *site.Request) error {
	p, err := openRecord(q)
	if err != nil {
		return err
	}
	for _, l := range q.Links {
		if l.Resource == p.Resource.Name && l.Show(q) {
			p.Actions = append(p.Actions, site.Action{Label: l.Label, URL: q.UI.URL(l.Path(p.Rec.ID())), Icon: l.Icon})
		}
	}
	p.Values, p.Main, p.Side, p.Foot = p.values(), q.Parts(p.Resource.Name, site.Main, p.Rec), q.Parts(p.Resource.Name, site.Side, p.Rec), p.foot()
	p.children()
	p.arrange()
	p.Charts = slices.ContainsFunc(p.Main, func(part *site.Part) bool { return part.Charts })
	parts := append(slices.Concat(p.Main, p.Side), p.Foot)
	if p.Tabs != nil {
		parts = append(parts, p.Values)
	}
	if done, err := site.LoadAll(q, "record.html", parts); done || err != nil {
		return err
	}
	slices.SortStableFunc(p.Main, func(a, b *site.Part) int { return cmp.Compare(empty(a), empty(b)) })
	if err := p.crumbs(); err != nil {
		return err
	}
	return q.Page("record.html", p.Title, p)
}

// arrange puts the fields and the history where they belong, and of a page with tabs chooses the sections of the current one.
func (p *page) arrange() {
	var titles []string
	for _, part := range p.Main {
		if part.Tab != "" && !slices.Contains(titles, part.Tab) {
			titles = append(titles, part.Tab)
		}
	}
	history := p.q.MaySee(p.q.AuditLog())
	if titles == nil {
		p.Main = slices.Insert(p.Main, 0, p.Values)
		if history {
			p.Side = append(p.Side, p.historySection(historyRows))
		}
		return
	}
	if history {
		titles = append(titles, historyTab)
	}
	current := titles[0]
	for _, title := range titles {
		if slug(title) == p.q.R.URL.Query().Get("tab") {
			current = title
		}
	}
	for _, title := range titles {
		to := p.q.RecordURL(p.Resource.Name, p.Rec.ID())
		if title != titles[0] {
			to += "?tab=" + slug(title)
		}
		p.Tabs = append(p.Tabs, preset{title, to, title == current})
	}
	p.Main = slices.DeleteFunc(p.Main, func(part *site.Part) bool {
		return part.Tab != current && (part.Tab != "" || strings.HasPrefix(part.ID, childID) && current != titles[0])
	})
	if current == historyTab {
		p.Main = append(p.Main, p.historySection(historyPage))
	}
}

// Bare reports whether the current tab has nothing to show.
func (p *page) Bare() bool {
	return p.Tabs != nil && !slices.ContainsFunc(p.Main, (*site.Part).Shown)
}

// historyTab is the title of the tab with the history.
const historyTab = "History"

// slug returns the name of a tab in addresses: the first word of its title.
func slug(title string) string {
	first, _, _ := strings.Cut(strings.ToLower(title), " ")
	return first
}

// foot returns the section with what every record has.
func (p *page) foot() *site.Part {
	return p.part(&site.Section{ID: "record-foot", Template: "section-foot", Follow: []string{p.Resource.Name}, Load: func(s *site.Part) error {
		s.Data = p.Rec
		return nil
	}})
}

// footFields are the fields of the foot.
var footFields = []string{"id", "version", "created_at", "updated_at"}

// empty returns 1 for a list without records, which comes after the others, and 0 for other sections.
func empty(s *site.Part) int {
	if s.Template == "section-none" {
		return 1
	}
	return 0
}

// openRecord reads the record of the path.
func openRecord(q *site.Request) (*page, error) {
	r, err := resourceOf(q)
	if err != nil {
		return nil, err
	}
	p := &page{q: q, Resource: r, Icon: site.Icon(r)}
	if p.Rec, _, err = q.One(r.Name, q.R.PathValue("id")); err != nil {
		return nil, err
	}
	if ui.IsPart(q.R) {
		return p, nil
	}
	p.State = cmp.Or(p.Rec.Text("status"), p.Rec.Text("severity"))
	if p.Title, err = titleOf(q, r, p.Rec); err != nil {
		return nil, err
	}
	own := q.IsOwn(r.Name, p.Rec.ID())
	address := "/r/" + r.Name + "/" + p.Rec.ID()
	if r.Routes.Has(records.RouteReplace) && (own || q.May(r.Name, records.RouteChange|records.RouteReplace)) { // others are changed by operations of their own
		p.Edit = q.UI.URL(address + "/edit")
	}
	if q.May(r.Name, records.RouteDelete) && !own {
		p.Delete = q.UI.URL(address + "/delete")
	}
	return p, nil
}

// resourceOf returns the resource of the path. One's own user may be read without the right to list users.
func resourceOf(q *site.Request) (*records.Resource, error) {
	if q.IsOwn(q.R.PathValue("resource"), q.R.PathValue("id")) {
		users := q.API.Users()
		return users, nil
	}
	r, err := q.Resource()
	if err == nil && !r.Routes.Has(records.RouteGet) {
		return nil, httpx.Errorf(http.StatusNotFound, "There is no such page")
	}
	return r, err
}

// titleOf returns what people call a record: its label, or else what it refers to.
func titleOf(q *site.Request, r *records.Resource, rec site.Record) (string, error) {
	if f := site.LabelField(r); f != nil && rec.Text(f.Name) != "" {
		label := site.Label(r, rec)
		if f.Format == "text" {
			label, _, _ = strings.Cut(label, "\n")
		}
		return site.Clip(label, 120), nil
	}
	var refs []*records.Field
	for _, f := range r.Fields() {
		if f.Ref != nil && rec.Text(f.Name) != "" && !f.ReadOnly && (f.Required || strings.HasPrefix(f.Name, "a_") || strings.HasPrefix(f.Name, "b_")) {
			refs = append(refs, f)
		}
	}
	labels, err := q.RefLabels(refs, []site.Record{rec})
	if err != nil {
		return "", err
	}
	var parts []string
	for _, f := range refs {
		if label := labels[rec.Text(f.Name)]; label != "" {
			parts = append(parts, label)
		}
	}
	if len(parts) == 0 {
		return site.Label(r, rec), nil
	}
	return strings.Join(parts, " – "), nil
}

// maxParents is the number of records that a trail has above a record, as the API allows for locations.
const maxParents = 15

// crumbs sets the trail to the record: its list, and the records that it belongs to.
func (p *page) crumbs() error {
	p.Crumbs = []site.Link{{Label: site.Title(p.Resource), URL: p.q.ListURL(p.Resource.Name)}}
	r, rec := p.Resource, p.Rec
	var above []site.Link
	for range maxParents {
		f := parentField(r, rec)
		if f == nil || !p.q.May(f.Ref.To, records.RouteGet) {
			break
		}
		parent, _, err := p.q.One(f.Ref.To, rec.Text(f.Name))
		if _, refused := site.AsFault(err); refused {
			break
		}
		if err != nil {
			return err
		}
		r, rec = f.Ref.Resource(), parent
		label, err := titleOf(p.q, r, rec)
		if err != nil {
			return err
		}
		above = append(above, site.Link{Label: label, URL: p.q.RecordURL(r.Name, rec.ID())})
	}
	slices.Reverse(above)
	p.Crumbs = append(p.Crumbs, above...)
	return nil
}

// parentField returns the field with the record that a record belongs to, such as the device of an interface,
// or nil. A connection of two records belongs to neither.
func parentField(r *records.Resource, rec site.Record) *records.Field {
	var owners []*records.Field
	for _, f := range r.Fields() {
		if f.Ref != nil && f.Ref.Cascade && f.Required {
			owners = append(owners, f)
		}
	}
	if len(owners) == 1 || len(owners) > 1 && owners[0].Ref.To != owners[1].Ref.To {
		return owners[0]
	}
	for _, name := range []string{"rack_id", "parent_id", "location_id"} {
		if f, ok := r.Field(name); ok && f.Ref != nil && len(owners) == 0 && rec.Text(name) != "" {
			return f
		}
	}
	return nil
}

// group is a titled part of the values of a record.
type group struct {
	Title string
	Rows  []value
}

// value is a field and what it has.
type value struct {
	Label string
	Cells []site.Cell
}

// values are the data of the section with the fields of a record.
type values struct {
	Groups []group
	Unset  []string // the labels of fields without a value
}

// The titles of groups, in their order.
var groupTitles = []string{"Identity", "Place", "Technical", "Custom fields"}

// locationFields are the fields that say where a record is.
var locationFields = []string{
	"location_id", "rack_id", "rack_unit", "rack_height", "rack_face", "rack_position", "city", "country", "address", "site_code",
	"timezone", "lat", "lon", "parent_id", "location_ids",
}

// groupOf returns the index of the title of the group of a field.
func groupOf(r *records.Resource, f *records.Field) int {
	switch {
	case f.Extra:
		return 3
	case slices.Contains(locationFields, f.Name) && (f.Name != "address" || f.Format == "text") && (f.Name != "parent_id" || site.IsPlaces(r)):
		return 1
	case f.Search && f.Ref == nil && f.Kind != records.List, f.Required, slices.Contains([]string{"kind", "status", "tenant", "tags", "notes", "type"}, f.Name):
		return 0
	}
	return 2
}

// values returns the section with the fields.
func (p *page) values() *site.Part {
	return p.part(&site.Section{ID: "record-values", Template: "section-values", Title: "Details", Follow: []string{p.Resource.Name}, Load: func(s *site.Part) error {
		var fields []*records.Field
		for _, f := range p.Resource.Fields() {
			if f.Name != "" && !f.Hidden && !f.WriteOnly && !slices.Contains(footFields, f.Name) && p.Rec.Text(p.q.Edits[p.Resource.Name].Replaced[f.Name]) == "" {
				fields = append(fields, f)
			}
		}
		labels, err := p.q.RefLabels(fields, []site.Record{p.Rec})
		if err != nil {
			return err
		}
		v := values{Groups: make([]group, len(groupTitles))}
		for i, title := range groupTitles {
			v.Groups[i].Title = title
		}
		for _, f := range fields {
			cell := p.q.Cell(f, p.Rec, labels)
			if cell.Empty() {
				v.Unset = append(v.Unset, site.FieldLabel(f))
				continue
			}
			cells := []site.Cell{cell}
			if f.Name == "location_ids" {
				if cells, err = p.locationCells(f); err != nil {
					return err
				}
			}
			g := &v.Groups[groupOf(p.Resource, f)]
			g.Rows = append(g.Rows, value{site.FieldLabel(f), cells})
		}
		v.Groups = slices.DeleteFunc(v.Groups, func(g group) bool { return len(g.Rows) == 0 })
		s.Data = v
		return nil
	}})
}

// part returns a section of the page.
func (p *page) part(s *site.Section) *site.Part {
	return site.NewPart(p.q, s, p.Rec)
}

// locationCells returns links to the locations that a user is limited to.
func (p *page) locationCells(f *records.Field) ([]site.Cell, error) {
	ids, _ := p.Rec[f.Name].([]any)
	var cells []site.Cell
	var all []string
	for _, id := range ids {
		all = append(all, fmt.Sprint(id))
	}
	places := p.q.Places()
	labels, err := p.q.Labels(places, all)
	for _, id := range all {
		c := site.Cell{Field: f, Kind: "text", Text: cmp.Or(labels[id], id), Rec: p.Rec}
		if labels[id] != "" {
			c.Kind, c.URL = "link", p.q.RecordURL(places, id)
		}
		cells = append(cells, c)
	}
	return cells, err
}

// childID begins the ids of lists of records that refer to the one of the page.
const childID = "of-"

// childRows is the maximum number of records in a list of those that they refer to.
const childRows = 8

// children adds a list for each resource with a field that refers to this one, except those that a section shows.
func (p *page) children() {
	hidden := map[string]bool{}
	for _, s := range p.q.Sections {
		if s.On == p.Resource.Name {
			for _, list := range s.Hides {
				hidden[list] = true
			}
		}
	}
	for _, ref := range p.Resource.Referrers() {
		from, f := ref.From, ref.Field
		if from.Internal || from.Show.Hidden || f.Name == "" || f.Hidden || !p.q.May(from.Name, records.RouteList) || hidden[from.Name+"."+f.Name] {
			continue
		}
		current, ok := p.q.Schema.Named(from.Name)
		if !ok {
			continue
		}
		s := p.part(&site.Section{
			ID: childID + from.Name + "-" + f.Name, Template: "section-table", Title: site.Title(current), Follow: []string{from.Name},
			Load: func(s *site.Part) error { return loadChildren(s, current, f) },
		})
		if slices.ContainsFunc(from.Fields(), func(o *records.Field) bool {
			return o.Name != f.Name && o.Name != "" && o.Ref != nil && o.Ref.To == p.Resource.Name
		}) {
			s.Note = "by " + strings.ToLower(site.FieldLabel(f))
		}
		p.Main = append(p.Main, s)
	}
}

// loadChildren reads the first records whose field has the id of this record.
func loadChildren(s *site.Part, r *records.Resource, f *records.Field) error {
	t, err := s.ReadTable(r.Name, url.Values{f.Name: {s.Rec.ID()}}, childRows, site.Columns(r, f.Name))
	if err != nil {
		return err
	}
	s.Act("All", t.MoreURL, "")
	if !f.ReadOnly {
		s.ActNew(r.Name, f.Name)
	}
	switch {
	case len(t.Rows) > 0:
		s.Data = t
	case len(s.Actions) > 1: // an offer to create the first one
		s.Template, s.Note, s.Data, s.Actions = "section-none", strings.TrimSpace(s.Note+" none"), t, s.Actions[1:]
	}
	return nil
}
