package lists

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// maxFollowed is the number of resources that one page may follow.
const maxFollowed = 50

// live sends the changes of resources that the sender may list, as server-sent events with the name change
// and the data {"id", "resource"}. It ends with the request, or when the API ends its stream: when the
// token becomes invalid, and when the server stops. A browser continues after its last event; if that is
// no longer kept it gets the event reset.
func live(q *site.Request) error {
	names := map[string]string{} // of resources, by what the feed calls their records
	var wanted []string
	for _, name := range q.R.URL.Query()["resource"] {
		if r, ok := q.Schema.Named(name); ok && q.May(name, records.RouteList) && names[r.Kind()] == "" && len(wanted) < maxFollowed {
			names[r.Kind()] = name
			wanted = append(wanted, name)
		}
	}
	if len(wanted) == 0 {
		q.W.WriteHeader(http.StatusNoContent) // so that the browser does not try again
		return nil
	}
	query := url.Values{"resource": wanted}
	since := q.R.Header.Get("Last-Event-ID")
	if since == "" {
		since = q.R.URL.Query().Get("since")
	}
	if since != "" {
		query.Set("since", since)
	}
	events := &events{ResponseWriter: q.W, names: names}
	feed := *q
	feed.W = events
	err := feed.Forward(&site.Call{Path: "/changes/stream", Query: query}, nil)
	if _, gone := site.AsFault(err, http.StatusGone); gone {
		query.Del("since")
		events.pending = []byte("event: reset\ndata: {}\n\n")
		err = feed.Forward(&site.Call{Path: "/changes/stream", Query: query}, nil)
	}
	return err
}

// events turns the stream of the API into that of pages. Writes of the API end with whole events.
type events struct {
	http.ResponseWriter
	names   map[string]string
	pending []byte // to send before the first event
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (e *events) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *events) Write(p []byte) (int, error) {
	out := e.pending
	e.pending = nil
	for line := range bytes.Lines(p) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			out = append(out, line...)
			continue
		}
		var change struct {
			Kind string `json:"resource_type"`
			ID   string `json:"resource_id"`
		}
		if err := json.Unmarshal(data, &change); err != nil {
			return 0, err
		}
		sent, err := json.Marshal(map[string]string{"id": change.ID, "resource": e.names[change.Kind]})
		if err != nil {
			return 0, err
		}
		out = append(append(append(out, "event: change\ndata: "...), sent...), '\n')
	}
	if _, err := e.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
