package records_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
)

type (
	plain struct {
		records.Base
		Name string `json:"name" field:"required,unique,max=50"`
	}
	misspelt   struct{ plain }
	signature  struct{ plain }
	nearly     struct{ plain }
	unknownTag struct {
		records.Base
		Name string `json:"name" field:"requird"`
	}
	unknownRef struct {
		records.Base
		To *string `json:"to" field:"ref=nothing:null"`
	}
	noEffect struct {
		records.Base
		To *string `json:"to" field:"ref=nothing"`
	}
	badName struct {
		records.Base
		Name string `json:"badName"`
	}
	parameter struct {
		records.Base
		Limit int64 `json:"limit"`
	}
	unbounded struct {
		records.Base
		Name string `json:"name" field:"index"`
	}
	sharedAlone struct {
		records.Base
		Name string `json:"name" field:"max=50,shared"`
	}
	tree struct {
		records.Base
		Parent *string `json:"parent_id" field:"ref=things:cascade"`
	}
)

func (*misspelt) Normalise()       {}
func (*signature) Validate() error { return errors.New("wrong") }
func (*nearly) Initialise()        {}

// TestSchemaErrors: the error of a schema names the part that is wrong.
func TestSchemaErrors(t *testing.T) {
	t.Parallel()
	things := records.Definition{Name: "things", Label: "Thing"}
	thing := records.Define[plain](things)
	with := func(change func(d *records.Definition)) records.Part {
		d := things
		change(&d)
		return records.Define[plain](d)
	}
	for want, parts := range map[string][]records.Part{
		"the method Normalise of *records_test.misspelt is nearly the hook Normalize":                      {records.Define[misspelt](things)},
		"the method Validate of *records_test.signature has another signature than the hook records.Valid": {records.Define[signature](things)},
		"the method Initialise of *records_test.nearly is nearly the hook Initialize":                      {records.Define[nearly](things)},
		`field Name of records_test.unknownTag: unknown word "requird" in the tag`:                         {records.Define[unknownTag](things)},
		"field to of things refers to the unknown resource nothing":                                        {records.Define[unknownRef](things)},
		"ref=nothing has no effect of a deletion: add :null, :cascade or :restrict":                        {records.Define[noEffect](things)},
		`field "badName" of things: a name has up to 40 lower-case letters`:                                {records.Define[badName](things)},
		`field "limit" of things: this name is a parameter of lists`:                                       {records.Define[parameter](things)},
		"field name of things is indexed or counted: add max= with at most 600 characters":                 {records.Define[unbounded](things)},
		"field name of things is not indexed, or it is counted, and can't be shared":                       {records.Define[sharedAlone](things)},
		"field parent_id of things refers to its own resource, which must not cascade":                     {records.Define[tree](things)},
		"the resource things or the type records_test.plain is defined twice":                              {thing, thing},
		"things has two fields with the name name":                                                         {thing, records.Extend("things", "name", records.Text, "")},
		"field color extends the unknown resource thing":                                                   {thing, records.Extend("thing", "color", records.Text, "")},
		`field color of things: unknown word "maks" in the tag`:                                            {thing, records.Extend("things", "color", records.Text, "maks=5")},
		"field color of things refers to the unknown resource colors":                                      {thing, records.Extend("things", "color", records.Text, "ref=colors:null")},
		"field size of things is a float, whose values are not counted":                                    {thing, records.Extend("things", "size", records.Float, "counted")},
		"a unique key of things has the unknown field site":                                                {thing, records.Extend("things", "slot", records.Int, "unique=site")},
		`the resource has the name "Things"`:                                                               {with(func(d *records.Definition) { d.Name = "Things" })},
		`the resource has the name "docs", which is reserved`:                                              {with(func(d *records.Definition) { d.Name = "docs" })},
		"the resource of records_test.plain has no name or no label":                                       {with(func(d *records.Definition) { d.Label = "" })},
		`things has the order "age:asc": use the name of a sortable field`:                                 {with(func(d *records.Definition) { d.Order = []string{"age:asc"} })},
		"things has pages of 5000 records: use 1 to":                                                       {with(func(d *records.Definition) { d.Limit = 5000 })},
		"things has the children parts, but no field thing_id of parts refers to it": {with(func(d *records.Definition) {
			d.Children = []records.Child{{Path: "parts", From: "parts", Field: "thing_id"}}
		})},
		"things has a message for the field size, which ends no unique key": {with(func(d *records.Definition) { d.Messages = map[string]string{"size": "x"} })},
	} {
		_, err := records.NewSchema(parts...)
		require.ErrorContains(t, err, want)
	}
	schema, err := records.NewSchema(thing, records.Extend("things", "select", records.Int, "index"))
	require.NoError(t, err)
	f, ok := records.Of[plain](schema).Field("select")
	require.True(t, ok)
	require.Equal(t, "select_", f.Column, "a word of SQL")
}
