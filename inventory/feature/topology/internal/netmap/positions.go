package netmap

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// useSaved moves the nodes whose positions have been saved for a view. New devices beside them are placed
// near a neighbour.
func (g *graph) useSaved(q *site.Request, v view) error {
	if v.Saved() == "" || !q.May("map-positions", records.RouteList) {
		return nil
	}
	saved, err := readSaved(q, v.Saved(), g.Nodes)
	if err != nil || len(saved) == 0 {
		return err
	}
	near := map[string]point{}
	for _, e := range g.Edges {
		for _, pair := range [][2]string{{e.A.Device, e.B.Device}, {e.B.Device, e.A.Device}} {
			if p, ok := saved[pair[0]]; ok {
				near[pair[1]] = point{p.X + cellWidth/2, p.Y + cellHeight}
			}
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if p, ok := saved[n.ID]; ok {
			n.X, n.Y = p.X, p.Y
		} else if p, ok := near[n.ID]; ok {
			n.X, n.Y = p.X, p.Y
		}
	}
	return nil
}

// readSaved returns the saved positions of devices in a view.
func readSaved(q *site.Request, view string, nodes []node) (map[string]point, error) {
	saved := map[string]point{}
	for some := range slices.Chunk(nodes, manyChosen) {
		ids := make([]string, len(some))
		for i := range some {
			ids[i] = some[i].ID
		}
		var page struct {
			Data []struct {
				Device string `json:"device_id"`
				X, Y   float64
			}
		}
		query := url.Values{"view": {view}, "device_id__in": {strings.Join(ids, ",")}, "limit": {"100"}, "count": {"none"}, "fields": {"device_id,x,y"}}
		if err := q.Get("/map-positions", query, &page); err != nil {
			return nil, err
		}
		for _, p := range page.Data {
			saved[p.Device] = point{p.X, p.Y}
		}
	}
	return saved, nil
}

// savePositions keeps the positions of devices in a view for everybody.
func savePositions(q *site.Request) error {
	body, err := httpx.ReadJSON[struct {
		View      string                `json:"view"`
		Positions map[string][2]float64 `json:"positions"`
	}](q.R)
	if err != nil {
		return err
	}
	if len(body.Positions) == 0 || len(body.Positions) > maxNodes {
		return httpx.Errorf(http.StatusBadRequest, "Positions of 1 to %d devices can be saved", maxNodes)
	}
	var rows bytes.Buffer
	lines := json.NewEncoder(&rows)
	for _, id := range slices.Sorted(maps.Keys(body.Positions)) {
		p := body.Positions[id]
		if err := lines.Encode(map[string]any{"device_id": id, "view": body.View, "x": p[0], "y": p[1]}); err != nil {
			return err
		}
	}
	var report struct{ Rows int }
	_, err = q.Do(&site.Call{
		Method: http.MethodPost, Path: "/import", Query: url.Values{"resource": {"map-positions"}}, Body: &rows, Type: "application/jsonl",
	}, &report)
	if err != nil {
		return err
	}
	return httpx.WriteJSON(q.W, http.StatusOK, map[string]int{"saved": report.Rows})
}
