// Package events is the feature of events: one can be acknowledged and is immutable otherwise. The inventory records who
// acknowledged it and when (REFERENCE.md, 2.7):
//
//	PATCH /events/{id}  {"acknowledged": true}
//	PATCH /events       [{"id": "018f…", "acknowledged": true}]
package events

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"events": &inventory.Event{}, "devices": &inventory.Device{}},
		Pages: pages(),
		Operations: []feature.Operation{
			{Operation: openapi.Operation{
				Method: http.MethodPatch, Path: "/events/{id}", ID: "acknowledgeEvent", Summary: "Acknowledge one event",
				Body: openapi.Request("Acknowledgement", acknowledgement()),
			}, Handle: serve},
			{Operation: openapi.Operation{
				Method: http.MethodPatch, Path: "/events", ID: "acknowledgeEvents", Summary: "Acknowledge several events atomically",
				Body: openapi.Array(openapi.Request("AcknowledgementItem",
					openapi.Required("id", openapi.ID("")),
					openapi.Optional("if_version", openapi.Integer("The version that the record must have.", 1)),
					acknowledgement()), 1, records.MaxItems),
				Errors: []int{http.StatusNotFound, http.StatusPreconditionFailed},
			}, Handle: serve},
		},
	}
}

func acknowledgement() openapi.Property {
	return openapi.Required("acknowledged", openapi.Boolean("true: acknowledge the event, if it is not yet. false: withdraw the acknowledgement."))
}

// serve acknowledges events.
func serve(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	in := r.Inventory
	return in.Edit(ctx, records.Of[inventory.Event](in.Records().Schema()), func(sent records.Patch) (func(records.Record) error, error) {
		return acknowledge(in, sent)
	})
}

// acknowledge returns the change that an object requests. An earlier acknowledgement is kept.
func acknowledge(in feature.Inventory, sent records.Patch) (func(records.Record) error, error) {
	for name := range sent {
		if name != "acknowledged" {
			return nil, records.Refuse(printable.Truncate(name, 64), records.Wrong("read_only", "can't be changed in an event: send acknowledged only"))
		}
	}
	var acknowledged *bool
	if err := json.Unmarshal(sent["acknowledged"], &acknowledged); err != nil || acknowledged == nil {
		return nil, records.Refuse("acknowledged", records.WrongKind(records.Bool))
	}
	return func(rec records.Record) error {
		e := rec.(*inventory.Event)
		switch {
		case !*acknowledged:
			e.AcknowledgedAt, e.AcknowledgedBy = nil, nil
		case e.AcknowledgedAt == nil:
			e.AcknowledgedAt = new(in.Engine().Now())
			if by := in.Sender().UserID; by != "" {
				e.AcknowledgedBy = &by
			}
		}
		return nil
	}, nil
}
