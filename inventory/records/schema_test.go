package records_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
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
		"Normalise *records_test.misspelt nearly Normalize":        {records.Define[misspelt](things)},
		"Validate *records_test.signature signature records.Valid": {records.Define[signature](things)},
		"Initialise nearly Initialize":                             {records.Define[nearly](things)},
		`Name records_test.unknownTag: "requird"`:                  {records.Define[unknownTag](things)},
		"field to things unknown nothing":                          {records.Define[unknownRef](things)},
		"ref=nothing effect :null, :restrict":                      {records.Define[noEffect](things)},
		`"badName" things: lower-case`:                             {records.Define[badName](things)},
		`"limit" things: parameter`:                                {records.Define[parameter](things)},
		"name things max= 600":                                     {records.Define[unbounded](things)},
		"name things indexed shared":                               {records.Define[sharedAlone](things)},
		"parent_id things cascade":                                 {records.Define[tree](things)},
		"things records_test.plain twice":                          {thing, thing},
		"things two name":                                          {thing, records.Extend("things", "name", records.Text, "")},
		"color unknown thing":                                      {thing, records.Extend("thing", "color", records.Text, "")},
		`color things: "maks"`:                                     {thing, records.Extend("things", "color", records.Text, "maks=5")},
		"color things unknown colors":                              {thing, records.Extend("things", "color", records.Text, "ref=colors:null")},
		"size things float counted":                                {thing, records.Extend("things", "size", records.Float, "counted")},
		"unique things unknown site":                               {thing, records.Extend("things", "slot", records.Int, "unique=site")},
		`"Things"`:                                                 {with(func(d *records.Definition) { d.Name = "Things" })},
		`"docs", reserved`:                                         {with(func(d *records.Definition) { d.Name = "docs" })},
		"records_test.plain label":                                 {with(func(d *records.Definition) { d.Label = "" })},
		`things "age:asc": sortable`:                               {with(func(d *records.Definition) { d.Order = []string{"age:asc"} })},
		"things 5000":                                              {with(func(d *records.Definition) { d.Limit = 5000 })},
		"things parts, thing_id": {with(func(d *records.Definition) {
			d.Children = []records.Child{{Path: "parts", From: "parts", Field: "thing_id"}}
		})},
		"things message size, unique": {with(func(d *records.Definition) { d.Messages = map[string]string{"size": "x"} })},
	} {
		_, err := records.NewSchema(parts...)
		errtest.Want(t, err, want)
	}
	pairs := with(func(d *records.Definition) {
		d.Messages = map[string]string{"name,site": "Name exists at this site", "row,site": "Row exists at this site"}
	})
	schema, err := records.NewSchema(pairs, records.Extend("things", "site", records.Text, "max=9"), records.Extend("things", "row", records.Text, "max=9"),
		records.UniqueKey("things", "name", "site"), records.UniqueKey("things", "row", "site"))
	require.NoError(t, err)
	var messages []string
	for _, u := range records.Of[plain](schema).Uniques() {
		messages = append(messages, u.Message)
	}
	require.Subset(t, messages, []string{"Name exists at this site", "Row exists at this site"}, "two keys that end in one field")
	schema, err = records.NewSchema(thing, records.Extend("things", "select", records.Int, "index"))
	require.NoError(t, err)
	f, ok := records.Of[plain](schema).Field("select")
	require.True(t, ok)
	require.Equal(t, "select_", f.Column, "a word of SQL")
}
