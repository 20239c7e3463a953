package httpapi

import (
	"net/http"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/encode"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// preview is the response to a dry run.
type preview struct {
	Status    string           `json:"status"`
	Message   string           `json:"message"`
	Created   int64            `json:"created"`
	Updated   int64            `json:"updated"`
	Deleted   int64            `json:"deleted"`
	Changes   []feature.Change `json:"changes"`
	Truncated bool             `json:"truncated"`
}

// sendPreview responds with what the request would change. The message may be empty for that of
// the changes.
func (c *call) sendPreview(message string) error {
	p := c.visiblePreview()
	if r := c.route.resource; r != nil && len(p.Changes) > 0 {
		if err := c.noteRead(r); err != nil { // it shows what the record has
			return err
		}
	}
	body := preview{"dry_run", message, p.Created, p.Updated, p.Deleted, feature.Changes(p.Changes), p.Truncated}
	if message == "" {
		body.Message = p.Message()
	}
	c.send(http.StatusOK, func(b []byte) []byte { return encode.JSON(b, body) })
	return nil
}

// previewing adds the response to a dry run to the description of the route.
func (rt *route) previewing() {
	if !slices.Contains(rt.params(), "dry_run") || rt.feature != nil && rt.feature.OwnPreview { // with reports of their own
		return
	}
	rt.doc.Responses = slices.Clone(rt.doc.Responses)
	for i, res := range rt.doc.Responses {
		if res.Status == http.StatusOK {
			rt.doc.Responses[i].Schema = openapi.OrPreview(rt.doc.ID, res.Schema)
			return
		}
	}
	rt.doc.Responses = append(rt.doc.Responses, openapi.Response{Status: http.StatusOK, Schema: openapi.Preview()})
}
