package storetest

import (
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// cabinet is a resource that the inventory does not have.
type cabinet struct {
	records.Base
	Name   string     `json:"name" field:"required,unique,max=100,search,index"`
	Order  int64      `json:"order" field:"min=-100,max=9223372036854775807,index"` // a word of SQL
	Height *float64   `json:"height" field:"index"`
	Locked bool       `json:"locked" field:"counted"`
	Built  *time.Time `json:"built"`
	Side   side       `json:"side" field:"default=front,index,counted"`
	Notes  string     `json:"notes" field:"format=text"`
	Labels []string   `json:"labels"`
	Slot   *string    `json:"slot" field:"max=100,natural,index,shared"`
	Mgmt   *string    `json:"mgmt" field:"format=ip"`
}

type side string

func (side) Values() []string { return []string{"front", "rear"} }

// schema is the schema of the suite: that of the inventory, with a resource and fields as a
// program adds them.
var schema = newSchema()

func newSchema() *records.Schema {
	schema, err := inventory.NewSchema(
		records.Define[cabinet](records.Definition{Name: "cabinets", Label: "Cabinet"}),
		records.Extend("devices", "cabinet_id", records.Text, "ref=cabinets:null,counted"),
		records.Extend("devices", "asset_tag", records.Text, "unique,max=50,search"),
		records.Extend("devices", "remark", records.Text, "format=text,search"),
		records.Extend("devices", "group", records.Text, "max=600,index"), // a word of SQL
		records.Extend("devices", "lease", records.Text, "values=owned|rented,default=owned,index,counted"),
		records.Extend("devices", "units", records.Int, "min=1,max=1000,index,counted"),
		records.Extend("devices", "weight", records.Float, "index"),
		records.Extend("devices", "spare", records.Bool, "index,counted"),
		records.Extend("devices", "bought", records.Time, "index"),
		records.Extend("devices", "owners", records.List, ""),
		records.Extend("devices", "second_ip", records.Text, "format=interface-ip,index"),
		records.Extend("vlans", "cabinet_id", records.Text, "ref=cabinets:cascade"),
		records.Extend("vlans", "port", records.Int, "unique=cabinet_id,min=1"),
	)
	if err != nil {
		panic(err) // a mistake in this package
	}
	return schema
}

// stored are the resources whose records the suite makes: all but those that declare parts of the
// schema, which it would change. public are those of them that clients use.
var stored, public = undeclaring(schema.StoredResources()), undeclaring(schema.Resources())

// references are the fields of each resource that refer to records.
var references = referencesOf(schema)

func referencesOf(schema *records.Schema) map[*records.Resource][]*records.Field {
	all := map[*records.Resource][]*records.Field{}
	for _, r := range schema.StoredResources() {
		all[r] = slices.DeleteFunc(r.Fields(), func(field *records.Field) bool { return field.Ref == nil })
	}
	return all
}

// Schema returns the schema of the stores that the suite tests.
func Schema() *records.Schema { return schema }

func undeclaring(all []*records.Resource) []*records.Resource {
	return slices.DeleteFunc(all, func(r *records.Resource) bool {
		return slices.ContainsFunc(schema.Declaring(), func(d *records.Resource) bool { return d == r })
	})
}
