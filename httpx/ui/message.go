package ui

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
)

// message is the data of a page that says why something failed.
type message struct {
	Text, RequestID string
	Items           []string
	Near            *NavLink // the entry of the navigation that the page is below
}

// titles are those of pages in place of others, by the status.
var titles = map[int]string{
	http.StatusForbidden: "Not allowed", http.StatusNotFound: "There is nothing here", http.StatusGone: "There is nothing here",
	http.StatusInternalServerError: "Something went wrong", http.StatusServiceUnavailable: "Not available at the moment",
}

// RenderError responds to an error with a page, for httpx.StandardOptions.RenderError: it has the frame of
// Options.Frame, and leads back. Requests of htmx get the message as text, which the page shows.
func (k *Kit) RenderError(w http.ResponseWriter, r *http.Request, e *httpx.Error) {
	m := message{Text: e.Message, RequestID: httpx.RequestIDFrom(r.Context())}
	for _, f := range e.Fields {
		m.Items = append(m.Items, f.Field+": "+f.Reason)
	}
	maps.Copy(w.Header(), e.Header)
	if IsPart(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(e.Status)
		_, _ = fmt.Fprint(w, e.Message) // ignore the error: the client disconnected
		return
	}
	p := &Page{Public: true}
	if k.frame != nil && e.Status != http.StatusTooManyRequests { // which must cost little
		p = cmp.Or(k.frame(r), p)
	}
	for _, g := range p.Nav {
		for _, l := range g.Links {
			for _, l := range append([]NavLink{l}, l.Below...) {
				if l.Current && l.URL != k.URL("/") {
					m.Near = &l
				}
			}
		}
	}
	p.Template, p.Title, p.Data = "message.html", cmp.Or(titles[e.Status], http.StatusText(e.Status)), m
	if err := k.Page(w, r, e.Status, p); err != nil {
		http.Error(w, e.Message, e.Status)
	}
}

// Gallery is the handler of a page with all components, for people who build pages and for tests that
// look at them.
func (k *Kit) Gallery(w http.ResponseWriter, r *http.Request) error {
	type bar struct {
		Label, URL string
		Value      int
		Share      float64
	}
	type change struct{ Field, Before, After string }
	return k.Page(w, r, http.StatusOK, &Page{
		Template: "gallery.html", Title: "Components", User: "somebody",
		Data: map[string]any{
			"Values": []float64{1, 4, 2, 8, 5, 7, 3, 6, 9, 12, 8, 10}, "Icons": iconNames(),
			"Bars": []bar{{"active", "#main", 812, 81.2}, {"maintenance", "#main", 120, 12}, {"offline", "#main", 68, 6.8}},
			"Diff": []change{{"status", "active", "maintenance"}, {"notes", "", "Replaced the power supply."}},
		},
	})
}
