package main

import (
	"context"
	"embed"
	"net/http"
	"net/url"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// Maintenance is a time in which somebody works on a device.
type Maintenance struct {
	records.Base
	DeviceID string     `json:"device_id" field:"required,ref=devices:cascade"`
	Reason   string     `json:"reason" field:"required,max=200,search"`
	EndedAt  *time.Time `json:"ended_at" field:"readonly"`
}

//go:embed templates/*.html
var files embed.FS

// maintenance is the feature: a resource, an operation, a page, a section on the page of a device, and a hook that
// keeps devices from being deleted meanwhile.
func maintenance() *feature.Feature {
	open := url.Values{"ended_at__isnull": {"true"}}
	columns := []string{"reason", "device_id", "created_at"}
	needs := []string{"maintenances"}
	return &feature.Feature{
		Needs: map[string]records.Record{"devices": &inventory.Device{}},
		Schema: []records.Part{
			records.Define[Maintenance](records.Definition{
				Name: "maintenances", Label: "Maintenance", Within: []string{"device_id"},
				Show: records.Show{Group: "Monitoring", Order: 420, Icon: "event", Columns: columns},
			}),
			records.OnChange("devices", keep),
		},
		Operations: []feature.Operation{{
			Operation: openapi.Operation{
				Method: http.MethodPost, Path: "/maintenances/{id}/end", ID: "endMaintenance", Tag: "maintenances", Summary: "End a maintenance",
				Parameters: []openapi.Parameter{openapi.DryRun()},
			},
			Describe: func(schema *records.Schema, op *openapi.Operation) {
				op.Responses = []openapi.Response{{Status: http.StatusOK, Schema: openapi.Record(records.Of[Maintenance](schema))}}
			},
			Resource: "maintenances", Does: records.RouteChange, Handle: end,
		}},
		Pages: site.Pages{
			Files: files,
			Routes: []site.Route{
				{Pattern: "GET /maintenance", Handle: func(q *site.Request) error {
					table, err := q.ReadTable("maintenances", open, 50, columns)
					if err != nil {
						return err
					}
					return q.Page("maintenance.html", "Maintenance", table)
				}},
				{Pattern: "POST /maintenance/{id}/end", Handle: func(q *site.Request) error {
					if _, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/maintenances/" + url.PathEscape(q.R.PathValue("id")) + "/end"}, nil); err != nil {
						return err
					}
					return q.Redirect("/maintenance?done=saved")
				}},
			},
			Entries: []site.Entry{{Label: "Maintenance", Path: "/maintenance", Icon: "event", Order: 50, Show: func(q *site.Request) bool { return q.MaySee(needs...) }}},
			Counts:  []site.Count{{Resource: "maintenances", Order: 70, Label: "In maintenance", Query: open, Bad: true}},
			Sections: []site.Section{{
				On: "devices", ID: "device-maintenance", Title: "Maintenance", Template: "maintenance-of-device", Column: site.Side, Order: 1,
				Follow: needs, Needs: needs, Hides: []string{"maintenances.device_id"},
				Load: func(p *site.Part) error {
					p.ActNew("maintenances", "device_id")
					list, err := p.Some("maintenances", 5, url.Values{"device_id": {p.Rec.ID()}, "sortby": {"created_at:desc"}})
					if err == nil {
						p.Data = list.Data
					}
					return err
				},
			}},
		},
	}
}

// keep refuses to delete a device in maintenance.
func keep(ctx context.Context, tx records.Tx, before, after records.Record) error {
	if after != nil || before == nil {
		return nil
	}
	m, err := records.First[Maintenance](ctx, tx, "device_id", before.Meta().ID, "ended_at", records.Condition{Op: records.IsNull, Value: true})
	if err != nil || m == nil {
		return err
	}
	return &records.Error{Kind: records.Conflict, Message: "The device is in maintenance (" + m.Reason + "): end it first"}
}

// end serves the operation.
func end(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	var ended records.Record
	_, err = r.Inventory.Change(ctx, func(ctx context.Context, tx *feature.Transaction) error {
		done, err := tx.Update(ctx, tx.By, records.Of[Maintenance](tx.Records.Schema()), records.Edit{ID: id, Apply: func(rec records.Record) error {
			if m := rec.(*Maintenance); m.EndedAt == nil {
				m.EndedAt = new(tx.Now())
			}
			return nil
		}})
		if err == nil {
			ended = done[0]
		}
		return err
	})
	return feature.OK(ended), err
}
