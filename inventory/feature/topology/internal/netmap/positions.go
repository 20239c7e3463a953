package netmap

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"

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
	recs, err := q.All("map-positions", url.Values{"view": {v.Saved()}, "fields": {"device_id,x,y"}}, maxRead)
	if err != nil || len(recs) == 0 {
		return err
	}
	saved := map[string]point{}
	for _, rec := range recs {
		saved[rec.Text("device_id")] = point{rec.Number("x"), rec.Number("y")}
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
