// Package customfields is the feature of custom fields: the dry run of a deletion counts the values that would be lost
// (REFERENCE.md, 1.6).
package customfields

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"custom-fields": &inventory.CustomField{}},
		Operations: []feature.Operation{{
			Operation: openapi.Operation{Method: http.MethodDelete, Path: "/custom-fields/{id}", Summary: "Delete one custom field, with its values"},
			Handle:    deleteField,
		}},
	}
}

// deleteField deletes a custom field. A dry run counts what the deletion would lose.
func deleteField(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	schema := r.Inventory.Records().Schema()
	var field *inventory.CustomField
	res, err := r.Inventory.Delete(ctx, records.Of[inventory.CustomField](schema), func(rec records.Record) error {
		field = rec.(*inventory.CustomField)
		return nil
	})
	if err != nil || !r.DryRun {
		return res, err
	}
	var lost int64
	if of, ok := schema.Named(field.Resource); ok {
		if f, ok := of.Field(field.Name); ok {
			q := &records.Query{Resource: of, Filters: []records.Filter{{Field: f, Op: records.IsNull, Value: false}}, Count: true, Limit: 1}
			err := r.Inventory.Read(ctx, func(ctx context.Context) error {
				page, err := r.Inventory.Records().List(ctx, q)
				if err == nil {
					lost = page.Total
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return &feature.Response{Message: fmt.Sprintf("Would delete 1 custom field, and the values of %s of %d %s", field.Name, lost, field.Resource)}, nil
}
