package events

import (
	"embed"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// shown is the number of events on a page.
const shown = 8

// pages returns the events on other pages, and the button that acknowledges one.
func pages() site.Pages {
	needs := []string{"events"}
	critical := url.Values{"severity": {"critical"}, "acknowledged_at__isnull": {"true"}}
	return site.Pages{
		Files: files, Style: "style-events.css",
		Routes: []site.Route{{Pattern: "POST /events/{id}/acknowledge", Handle: acknowledgePage}},
		Edits: map[string]site.Edit{"events": {
			Instead: []*records.Field{{Name: "acknowledged", Kind: records.Bool}},
			Value:   func(rec site.Record, _ string) any { return rec["acknowledged_at"] != nil },
		}},
		Counts: []site.Count{{Resource: "events", Order: 60, Label: "Open critical events", Query: critical, Bad: true}},
		Sections: []site.Section{
			{
				ID: "home-events", Title: "Open events", Template: "events-list", Order: 10, Follow: needs, Needs: needs,
				Load: func(p *site.Part) error {
					p.Note = "critical and high, not acknowledged"
					return loadEvents(p, url.Values{"severity__in": {"critical,high"}, "acknowledged_at__isnull": {"true"}}, shown, true)
				},
			},
			{
				On: "devices", ID: "device-events", Title: "Events", Template: "events-list", Tab: "Events", Order: 30, Follow: needs, Needs: needs, Hides: []string{"events.device_id"},
				Load: func(p *site.Part) error { return loadEvents(p, url.Values{"device_id": {p.Rec.ID()}}, shown, false) },
			},
			{
				On: "events", ID: "event-state", Title: "Acknowledgement", Template: "events-acknowledgement", Column: site.Side, Order: 10,
				Follow: needs, Load: loadAcknowledgement,
			},
		},
	}
}

// event is an event, with a button if the sender may acknowledge it.
type event struct {
	Rec         site.Record
	URL         string
	Device      string
	DeviceURL   string
	May         bool
	Acknowledge string // the address of the form
	By          string // who has acknowledged it, if the sender may see that
}

// Open reports whether nobody has acknowledged the event.
func (e event) Open() bool { return e.Rec.Text("acknowledged_at") == "" }

func eventOf(q *site.Request, rec site.Record) event {
	return event{
		Rec: rec, URL: q.RecordURL("events", rec.ID()), May: q.May("events", records.RouteChange), Acknowledge: q.UI.URL("/events/" + rec.ID() + "/acknowledge"),
	}
}

// loadEvents lists the newest events that match a query, with their devices if the page is not that of one.
func loadEvents(q *site.Part, query url.Values, limit int, devices bool) error {
	q.Act("All", q.ListURL("events")+"?"+query.Encode(), "")
	page, err := q.Some("events", limit, query)
	if err != nil || len(page.Data) == 0 {
		return err
	}
	names := map[string]string{}
	if devices {
		r, _ := q.Schema.Named("events")
		f, _ := r.Field("device_id")
		if names, err = q.RefLabels([]*records.Field{f}, page.Data); err != nil {
			return err
		}
	}
	events := make([]event, len(page.Data))
	for i, rec := range page.Data {
		e := eventOf(q.Request, rec)
		if e.Device = names[rec.Text("device_id")]; e.Device != "" {
			e.DeviceURL = q.RecordURL("devices", rec.Text("device_id"))
		}
		events[i] = e
	}
	q.Data = events
	return nil
}

// loadAcknowledgement shows who has acknowledged the event, and when.
func loadAcknowledgement(p *site.Part) error {
	e := eventOf(p.Request, p.Rec)
	by := p.Rec.Text("acknowledged_by")
	names, err := p.Labels("users", []string{by})
	e.By = names[by]
	p.Data = e
	return err
}

// acknowledgePage acknowledges an event, or withdraws that, and goes back to the page of the form.
func acknowledgePage(q *site.Request) error {
	withdraw, done := q.R.PostFormValue("withdraw") != "", "acknowledged"
	if withdraw {
		done = "saved"
	}
	_, err := q.Do(&site.Call{
		Method: http.MethodPatch, Path: "/events/" + url.PathEscape(q.R.PathValue("id")), Body: map[string]bool{"acknowledged": !withdraw},
	}, nil)
	if err != nil {
		return err
	}
	back, err := url.Parse(ui.LocalPath(q.R.PostFormValue("back")))
	if err != nil {
		back = &url.URL{Path: "/"}
	}
	query := back.Query()
	query.Set("done", done)
	return q.Redirect(back.EscapedPath() + "?" + query.Encode())
}
