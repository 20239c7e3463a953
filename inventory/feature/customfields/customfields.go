// Package customfields is the feature of custom fields: the dry run of a deletion counts the values that would be lost
// (REFERENCE.md, 1.6).
package customfields

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// New returns the feature.
func New() *feature.Feature {
	return &feature.Feature{
		Needs: map[string]records.Record{"custom-fields": &inventory.CustomField{}},
		Pages: site.Pages{Edits: map[string]site.Edit{"custom-fields": {
			Hints: map[string]string{
				"name": "Lower-case letters, digits and underscores.", "default": "Of records without a value.", "choices": "Of a choice. Separated by commas, or one on each line.",
				"pattern": "Of a text: a regular expression (RE2) that all of it matches.", "reference": "Of a reference: what it refers to.", "label": "For people.",
			},
			Choices: choices,
			Only:    []string{"label", "required", "default", "choices"},
		}}},
		Operations: []feature.Operation{{
			Operation: openapi.Operation{Method: http.MethodDelete, Path: "/custom-fields/{id}", Summary: "Delete one custom field, with its values"},
			Handle:    deleteField,
		}},
	}
}

// choices returns the resources that may have custom fields, or that these may refer to, by their titles.
func choices(q *site.Request, field string) (all [][2]string) {
	for _, r := range q.Schema.Resources() {
		switch {
		case field == "resource" && inventory.Customizable(r), field == "reference" && (inventory.Customizable(r) || r.Routes.Has(records.RouteGet)):
			all = append(all, [2]string{r.Name, site.Title(r)})
		}
	}
	slices.SortFunc(all, func(a, b [2]string) int { return strings.Compare(a[1], b[1]) })
	return all
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
