package site

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Section is a part of the home page, or of the page of each record of a resource. It is loaded by itself: with the
// page, and again when records change that it follows.
type Section struct {
	// On is the resource whose records have the section; empty is the home page.
	On string
	// ID is that of the element, which no other section of the page has.
	ID    string
	Title string
	// Template is the name of a template, which gets the Part as .S and, for forms, .Token and .Path. "section-table"
	// shows a *Table, "section-facts" and "section-bars" a []Number and []Bars.
	Template string
	Column   Column
	// Tab is the title of the tab that has the section, for a page whose sections do not fit beside each other. Those of
	// the first tab are shown first; its lists of other records that refer to the page are there too. Empty is all tabs.
	Tab    string
	Order  int      // the sections of a column are in ascending order
	Follow []string // the resources whose changes reload it
	Needs  []string // the resources of which the sender has to be allowed to list the records
	// Hides names lists of a page that it shows in another way, such as "events.device_id": the events whose field has
	// the record.
	Hides []string
	// Charts says that its template has charts of httpx/ui.
	Charts bool
	// Load sets the Data of the part. Without Data the section is not shown.
	Load func(p *Part) error
}

// Column is a column of a page.
type Column int

// The columns of a page.
const (
	Main Column = iota
	Side
	Top // of the home page
)

// Part is a section of one page.
type Part struct {
	*Request
	*Section
	Rec      Record // of the page; nil on the home page
	Template string // that of the section, unless Load sets another one
	Note     string // beside the title
	Actions  []Action
	Problem  string // what the API refused
	Data     any    // for the template; nil for nothing to show
}

// Action is a link of a part or page.
type Action struct{ Label, URL, Icon string }

// NewPart returns a section of a page.
func NewPart(q *Request, s *Section, rec Record) *Part {
	return &Part{Request: q, Section: s, Rec: rec, Template: s.Template}
}

// Shown reports whether there is anything to show.
func (p *Part) Shown() bool { return p.Data != nil || p.Problem != "" }

// Framed reports whether the part has a frame with its title.
func (p *Part) Framed() bool {
	return !slices.Contains([]string{"section-facts", "section-bars", "section-foot"}, p.Template)
}

// Class is a word for style sheets.
func (p *Part) Class() string { return strings.Replace(p.Template, "section-", "detail-", 1) }

// Followed returns the resources that the part follows and the sender may list, separated by spaces.
func (p *Part) Followed() string {
	names := slices.Clone(p.Follow)
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return !p.MaySee(name) }), " ")
}

// Act adds an action.
func (p *Part) Act(label, address, icon string) {
	p.Actions = append(p.Actions, Action{Label: label, URL: address, Icon: icon})
}

// ActNew adds the action to create a record that refers to the one of the page, for those who may.
func (p *Part) ActNew(resource, field string) {
	if p.May(resource, records.RouteCreate) {
		p.Act("New", p.ListURL(resource)+"/new?"+url.Values{field: {p.Rec.ID()}}.Encode(), "plus")
	}
}

// Parts returns the parts of a column of a page.
func (q *Request) Parts(on string, column Column, rec Record) (parts []*Part) {
	for i := range q.Sections {
		if s := &q.Sections[i]; s.On == on && s.Column == column && q.MaySee(s.Needs...) {
			parts = append(parts, NewPart(q, s, rec))
		}
	}
	return parts
}

// run loads the part. A refusal of the API is shown in it; what the sender may not see is absent.
func (p *Part) run() error {
	err := p.Load(p)
	f, ok := Refused(err)
	switch {
	case !ok:
		return err
	case f.Status == http.StatusForbidden || f.Status == http.StatusNotFound:
		p.Data = nil
	default:
		p.Problem = f.Error()
	}
	return nil
}

// LoadAll loads parts at once. For a request of htmx, which asks for one of them, it responds with that
// one, and done is true.
func LoadAll(q *Request, template string, parts []*Part) (done bool, err error) {
	if ui.IsPart(q.R) {
		target := q.R.Header.Get("HX-Target")
		for _, p := range parts {
			if p.ID == target {
				if err := p.run(); err != nil {
					return true, err
				}
				return true, q.Part(template, "detail-part", p)
			}
		}
		return true, httpx.Errorf(http.StatusNotFound, "The page has no such part")
	}
	calls := make([]func() error, len(parts))
	for i, p := range parts {
		calls[i] = p.run
	}
	return false, Together(calls...)
}

// atOnce is the number of calls of the API that one request has at the same time.
const atOnce = 4

// Together runs functions at once, and returns the error of the first of them that has one. It panics
// if one of them does.
func Together(calls ...func() error) error {
	errs, panics := make([]error, len(calls)), make([]any, len(calls))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, call := range calls {
		turns <- struct{}{}
		all.Go(func() {
			defer func() {
				panics[i] = recover()
				<-turns
			}()
			errs[i] = call()
		})
	}
	all.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p) // in the goroutine of the request, where the server recovers
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Number is a number with a link, such as how many records there are.
type Number struct {
	Resource         string // that it counts records of
	Label, URL, Icon string
	Value            int64
	More             bool // there are more than Value
	Bad              bool
}

// Bars is a chart of counts.
type Bars struct {
	Title string
	Rows  []Bar
}

// Bar is a bar of a chart.
type Bar struct {
	Label, URL string
	Value      int64
	Share      float64 // 0 to 100
}

// Count is a number of records on the home page.
type Count struct {
	Resource string
	Order    int        // they are in ascending order
	Label    string     // default: the name of the resource
	Query    url.Values // which of them; nil is all
	Bad      bool       // whether any is one too many
	// Empty, if it is not empty, is shown with the offer to create a record, if there is none.
	Empty string
}

// Numbers counts records: by totals that the store has, or up to a bound.
func (q *Request) Numbers(counts []Count) ([]Number, error) {
	numbers, calls := make([]Number, len(counts)), make([]func() error, len(counts))
	for i, c := range counts {
		r, _ := q.Schema.Named(c.Resource)
		n := &numbers[i]
		n.Resource, n.Label, n.Icon, n.URL = c.Resource, cmp.Or(c.Label, Title(r)), Icon(r), q.ListURL(c.Resource)
		query := url.Values{"limit": {"1"}, "count": {"estimated"}, "fields": {"id"}}
		maps.Copy(query, c.Query)
		if len(c.Query) > 0 {
			n.URL += "?" + c.Query.Encode()
		}
		calls[i] = func() error {
			page, err := q.List(c.Resource, query)
			if err == nil {
				n.Value, n.More = page.Meta.Total, page.Meta.Count == "estimated"
				n.Bad = c.Bad && n.Value > 0
			}
			return err
		}
	}
	return numbers, Together(calls...)
}
