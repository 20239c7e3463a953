package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// MaxCustomFields is the maximum number of custom fields of a resource.
const MaxCustomFields = 50

// CustomField is a field that an administrator adds to a resource while programs run. The store
// adds the column in the transaction that creates the record, and removes it with its values in
// the one that deletes it.
type CustomField struct {
	records.Base
	Resource  string          `json:"resource" field:"required,max=40,index"` // such as devices
	Name      string          `json:"name" field:"required,unique=resource,max=40,search,index"`
	Type      CustomFieldType `json:"type" field:"required"`
	Label     string          `json:"label" field:"max=100,search"` // for people
	Required  bool            `json:"required"`
	Default   string          `json:"default" field:"max=500"`  // as in a query, whatever the type
	Choices   []string        `json:"choices" field:"max=100"`  // of the type choice
	Pattern   string          `json:"pattern" field:"max=200"`  // of the type text: a regular expression of RE2
	Reference string          `json:"reference" field:"max=40"` // of the type reference: the resource that is referred to
}

// CustomFieldType is the type of the values of a custom field.
type CustomFieldType string

// The types of custom fields.
const (
	CustomText      CustomFieldType = "text" // one line of up to 500 characters
	CustomInteger   CustomFieldType = "integer"
	CustomNumber    CustomFieldType = "number"
	CustomBoolean   CustomFieldType = "boolean"
	CustomDate      CustomFieldType = "date" // such as 2026-01-31
	CustomChoice    CustomFieldType = "choice"
	CustomURL       CustomFieldType = "url"
	CustomReference CustomFieldType = "reference" // becomes null when the record is deleted that it refers to
)

// Values returns all values.
func (CustomFieldType) Values() []string {
	return valueStrings(CustomText, CustomInteger, CustomNumber, CustomBoolean, CustomDate, CustomChoice, CustomURL, CustomReference)
}

// Normalize converts the choices to lower case, as all enumerations.
func (f *CustomField) Normalize() {
	for i, choice := range f.Choices {
		f.Choices[i] = strings.ToLower(choice)
	}
}

// Validate reports what does not fit the type.
func (f *CustomField) Validate() (wrong []records.FieldError) {
	refuse := func(field string, err error) { wrong = append(wrong, records.InField(field, err)) }
	elsewhere := records.NotAllowed("in a field of the type " + string(f.Type))
	for _, of := range []struct {
		typ     CustomFieldType
		field   string
		present bool
	}{{CustomChoice, "choices", len(f.Choices) > 0}, {CustomReference, "reference", f.Reference != ""}} {
		switch {
		case of.typ == f.Type && !of.present:
			refuse(of.field, records.Missing("the field has the type "+string(f.Type)))
		case of.typ != f.Type && of.present:
			refuse(of.field, elsewhere)
		}
	}
	if f.Pattern != "" && f.Type != CustomText {
		refuse("pattern", elsewhere)
	}
	if f.Default != "" && f.Type == CustomReference {
		refuse("default", elsewhere)
	}
	for i, choice := range f.Choices {
		if strings.Contains(choice, ",") {
			refuse(fmt.Sprintf("choices[%d]", i), records.BadFormat("a text without commas"))
		}
	}
	return wrong
}

// Declare returns the field as a part of the schema (records.Declarer).
func (f *CustomField) Declare() records.Part {
	kind, tag := records.Text, "max=500,index"
	switch f.Type {
	case CustomInteger:
		kind, tag = records.Int, "index"
	case CustomNumber:
		kind, tag = records.Float, "index"
	case CustomBoolean:
		kind, tag = records.Bool, "index,counted"
	case CustomDate:
		tag = "format=date,index"
	case CustomChoice:
		tag = "format=enum,index,counted"
	case CustomURL:
		tag = "format=url,max=500,index"
	case CustomReference:
		tag = "ref=" + f.Reference + ":null"
	}
	return records.Extend(f.Resource, f.Name, kind, tag, func(field *records.Field) {
		field.Label, field.Required, field.Default, field.Pattern = f.Label, f.Required, f.Default, f.Pattern
		if f.Type == CustomChoice {
			field.Enum = slices.Clone(f.Choices)
		}
	})
}

// ValidateIn checks the field against the schema, the other custom fields and the records that
// have values (records.TxValidator).
func (f *CustomField) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	schema := tx.Schema()
	r, ok := schema.Named(f.Resource)
	if !ok || !Customizable(r) {
		return refuseField("resource", records.NotOneOf(f.Resource, customizable(schema)...))
	}
	if to, ok := schema.Named(f.Reference); f.Reference != "" && (!ok || to.Internal || !to.Routes.Has(records.RouteGet)) {
		return refuseField("reference", records.BadFormat("the name of a resource, such as locations"))
	}
	old, changed := before.(*CustomField)
	if _, taken := r.Field(f.Name); taken && !changed {
		return f.taken()
	}
	if changed {
		if err := f.validateFixed(old); err != nil {
			return err
		}
	} else if schema.Reserved(r, f.Name) {
		return refuseField("name", records.Wrong("not_allowed", "is a parameter or a member of requests beside fields: use another name"))
	}
	err := f.validateSchema(ctx, tx)
	switch {
	case err != nil:
		return err
	case changed:
		return f.validateChange(ctx, tx, old)
	}
	return f.validateNew(ctx, tx, r)
}

// taken returns the error for a name that another field has.
func (f *CustomField) taken() error {
	return &records.Error{
		Kind: records.Conflict, Message: fmt.Sprintf("%s have a field %s: use another name", f.Resource, f.Name),
		Code: "not_unique", Fields: []records.FieldError{{Field: "name", Code: "not_unique", Reason: "is the name of a field of " + f.Resource}},
	}
}

// Customizable reports whether a resource may have custom fields.
func Customizable(r *records.Resource) bool {
	_, declares := r.New().(records.Declarer)
	return !r.Internal && !r.Unaudited && !declares && r.Name != "users" && r.Routes.Has(records.RouteCreate) && r.Routes.Has(records.RouteChange)
}

func customizable(schema *records.Schema) (names []string) {
	for _, r := range schema.Resources() {
		if Customizable(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

func refuseField(field string, err error) error { return refuse("custom field", field, err) }

// validateSchema makes the schema with the field.
func (f *CustomField) validateSchema(ctx context.Context, tx records.Tx) error {
	others, err := records.Select[CustomField](ctx, tx, &records.Query{})
	if err != nil {
		return err
	}
	all, number := []records.Record{f}, 0
	for _, other := range others {
		if other.ID == f.ID {
			continue
		}
		if all = append(all, other); other.Resource == f.Resource {
			number++
			if other.Name == f.Name { // this process does not know it yet
				return f.taken()
			}
		}
	}
	if number >= MaxCustomFields {
		return &records.Error{Kind: records.Conflict, Message: fmt.Sprintf("%s have %d custom fields, which is the maximum: delete one first", f.Resource, number)}
	}
	if _, err := tx.Schema().Declared(all); err != nil {
		return &records.Error{Kind: records.Invalid, Message: "Invalid custom field: " + strings.TrimPrefix(err.Error(), "schema: ")}
	}
	return nil
}

// validateNew refuses a field that existing records would need a value for.
func (f *CustomField) validateNew(ctx context.Context, tx records.Tx, r *records.Resource) error {
	if !f.Required || f.Default != "" {
		return nil
	}
	page, err := tx.List(ctx, &records.Query{Resource: r, Limit: 1})
	if err == nil && len(page.Records) > 0 {
		err = refuseField("default", records.Missing("records of "+r.Name+" exist and would have no value"))
	}
	return err
}

// validateFixed refuses a change of what the column is made of.
func (f *CustomField) validateFixed(before *CustomField) error {
	for _, fixed := range []struct{ name, now, before string }{
		{"resource", f.Resource, before.Resource},
		{"name", f.Name, before.Name},
		{"type", string(f.Type), string(before.Type)},
		{"pattern", f.Pattern, before.Pattern},
		{"reference", f.Reference, before.Reference},
	} {
		if fixed.now != fixed.before {
			return refuseField(fixed.name, records.Wrong("read_only", "can't be changed: delete the field, or create another one"))
		}
	}
	return nil
}

// validateChange refuses a change that existing values do not fit.
func (f *CustomField) validateChange(ctx context.Context, tx records.Tx, before *CustomField) error {
	r, _ := tx.Schema().Named(f.Resource)
	if _, ok := r.Field(f.Name); !ok {
		return &records.Error{Kind: records.Unavailable, Message: "The fields have just been changed: try again"}
	}
	count := func(value any) (int64, error) {
		return records.Count(ctx, tx, &records.Query{Resource: r}, f.Name, value)
	}
	if f.Required && !before.Required {
		if n, err := count(records.Condition{Op: records.IsNull, Value: true}); err != nil || n > 0 {
			return cmp.Or(err, refuseField("required", records.InUse(fmt.Sprintf("%d records of %s have no value", n, r.Name))))
		}
	}
	for _, choice := range before.Choices {
		if slices.Contains(f.Choices, choice) {
			continue
		}
		if n, err := count(choice); err != nil || n > 0 {
			return cmp.Or(err, refuseField("choices", records.InUse(fmt.Sprintf("%d records of %s have the choice %s", n, r.Name, choice))))
		}
	}
	return nil
}
