package webhooks

import (
	"embed"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html
var files embed.FS

// shown is the number of deliveries on the page of a rule.
const shown = 20

// pages returns the deliveries on the page of a rule, with buttons, and what the forms say.
func pages() site.Pages {
	return site.Pages{
		Files:  files,
		Routes: []site.Route{{Pattern: "POST /webhooks/{id}/{do}", Handle: press}},
		Edits: map[string]site.Edit{"webhooks": {Hints: map[string]string{ // #nosec G101 -- no secret
			"secret":    "whsec_ and 24 to 64 random bytes in base64, as of: echo whsec_$(openssl rand -base64 32). In a change, empty keeps it.",
			"resources": "Such as devices, interfaces. Empty: changes of all.", "actions": "create, update, delete. Empty: all, logins among them.",
			"condition":        "Filters of the record before and after, such as after.status=offline&before.status__ne=offline.",
			"location_ids":     "Only of records at these locations.",
			"template":         `JSON with placeholders in its texts, such as {"text": "{{actor}} changed {{after.hostname}}"}. Empty: the change as the change feed has it.`,
			"github_signature": "Send X-Hub-Signature-256 too.", "url": "A private address only if the server runs with WEBHOOKS_PRIVATE=true.",
		}}},
		Sections: []site.Section{{
			On: "webhooks", ID: "webhook-deliveries", Title: "Deliveries", Template: "webhooks-deliveries", Order: 20,
			Needs: []string{"webhook-states", "webhook-deliveries"}, Hides: []string{"webhook-states.webhook_id", "webhook-deliveries.webhook_id"}, Load: load,
		}},
	}
}

// load shows how far the delivery of a rule is, its last messages, and the buttons for who may change it.
func load(p *site.Part) error {
	of := url.Values{"webhook_id": {p.Rec.ID()}}
	state, err := p.Some("webhook-states", 1, of)
	if err != nil {
		return err
	}
	parked, err := p.List("webhook-deliveries", url.Values{"webhook_id": {p.Rec.ID()}, "state": {string(Parked)}, "limit": {"1"}})
	if err != nil {
		return err
	}
	deliveries, err := p.ReadTable("webhook-deliveries", of, shown, []string{"state", "sent_at", "status", "error", "action", "resource_type"})
	p.Act("All", p.ListURL("webhook-deliveries")+"?"+of.Encode(), "")
	p.Data = map[string]any{
		"Paused": p.Rec.Text("paused") == "true", "State": append(state.Data, site.Record{})[0], "Parked": parked.Meta.Total, "Deliveries": deliveries,
		"Do": p.UI.URL("/webhooks/" + p.Rec.ID() + "/"), "May": p.May("webhooks", records.RouteChange),
	}
	return err
}

// press does what a button of the page says.
func press(q *site.Request) error {
	id := q.R.PathValue("id")
	c := &site.Call{Method: http.MethodPatch, Path: "/webhooks/" + url.PathEscape(id)}
	done := "saved"
	switch do := q.R.PathValue("do"); do {
	case "pause", "resume":
		c.Body = map[string]bool{"paused": do == "pause"}
	case "test":
		c.Method, c.Path, done = http.MethodPost, c.Path+"/test", ""
	case "again":
		parked, err := q.All("webhook-deliveries", url.Values{"webhook_id": {id}, "state": {string(Parked)}, "fields": {"id"}}, records.MaxItems)
		if err != nil {
			return err
		}
		var items []map[string]string
		for _, rec := range slices.Backward(parked) { // the oldest first
			items = append(items, map[string]string{"id": rec.ID(), "state": string(Queued)})
		}
		c.Path, c.Body = "/webhook-deliveries", items
	default:
		return httpx.Errorf(http.StatusNotFound, "There is no such page")
	}
	if _, err := q.Do(c, nil); err != nil {
		return err
	}
	return q.Redirect(strings.TrimSuffix("/r/webhooks/"+url.PathEscape(id)+"?done="+done, "?done="))
}
