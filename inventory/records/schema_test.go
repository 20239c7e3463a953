package records_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

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
	part struct {
		records.Base
		Thing string `json:"thing_id" field:"required,ref=things:cascade"`
	}
	tree struct {
		records.Base
		Parent *string `json:"parent_id" field:"ref=things:cascade"`
	}
)

func (*misspelt) Normalise()       {}
func (*signature) Validate() error { return errors.New("wrong") }
func (*nearly) Initialise()        {}

// TestPlural: several records have the ending that the name of their resource has.
func TestPlural(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]records.Definition{
		"device types": {Name: "device-types", Label: "Device type"}, "addresses": {Name: "addresses", Label: "Address"},
		"VLANs": {Name: "vlans", Label: "VLAN"}, "employees": {Name: "staff", Label: "Employee"},
	} {
		schema, err := records.NewSchema(records.Define[plain](d))
		require.NoError(t, err)
		r, _ := schema.Named(d.Name)
		require.Equal(t, want, r.Plural(r.Noun()))
	}
}

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
		"parts unknown": {thing, records.ExtendChildren("parts", records.Child{})},
		`things "small parts"`: {thing, records.Define[part](records.Definition{Name: "parts", Label: "Part"}), records.ExtendChildren("things",
			records.Child{Path: "small parts", From: "parts", Field: "thing_id"})},
		`things "parts" once`: {thing, records.Define[part](records.Definition{Name: "parts", Label: "Part"}), records.ExtendChildren("things",
			records.Child{Path: "parts", From: "parts", Field: "thing_id"}, records.Child{Path: "all", Count: "parts", From: "parts", Field: "thing_id"})},
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

// TestTagWords: a word that does not fit the type of its field is an error of the schema that names both.
func TestTagWords(t *testing.T) {
	t.Parallel()
	words := []string{
		"required", "oncreate", "readonly", "admin", "volatile", "unique", "index", "counted", "search", "natural", "open",
		"min=1", "max=9", "default=1", "ref=things:null", "values=a|b", "pattern=a", "format=date", "format=mac", "format=uuid",
	}
	fit := map[records.Kind]string{
		records.Text:  "required oncreate readonly admin volatile unique index counted search natural min=1 max=9 default=1 ref=things:null values=a|b pattern=a format=date format=mac format=uuid",
		records.Int:   "required oncreate readonly admin volatile unique index counted min=1 max=9 default=1",
		records.Float: "required oncreate readonly admin volatile unique index min=1 max=9 default=1",
		records.Bool:  "required oncreate readonly admin volatile unique index counted",
		records.Time:  "required oncreate readonly admin volatile unique index",
		records.List:  "required oncreate readonly admin volatile search min=1 max=9 format=uuid",
	}
	for kind, fitting := range fit {
		for _, word := range words {
			tag := word
			if kind == records.Text && (word == "index" || word == "counted" || word == "unique") {
				tag += ",max=9" // which databases need
			}
			_, err := records.NewSchema(records.Define[plain](records.Definition{Name: "things", Label: "Thing"}), records.Extend("things", "size", kind, tag))
			if slices.Contains(strings.Fields(fitting), word) {
				require.NoError(t, err, "%s of a %s", word, kind)
				continue
			}
			name, _, _ := strings.Cut(word, "=")
			errtest.Want(t, err, "size things "+name)
		}
	}
	for _, tag := range []string{"required=yes", "min", "format", "format=dates", "format=date,ref=things:null", "ref=things:null,format=mac", "values=a|b,format=date", "min=9,max=1", "max=nan"} {
		_, err := records.NewSchema(records.Define[plain](records.Definition{Name: "things", Label: "Thing"}), records.Extend("things", "size", records.Text, tag))
		if tag == "format=date,ref=things:null" {
			require.NoError(t, err) // a reference is an id
			continue
		}
		errtest.Want(t, err, "size things")
	}
	errtest.Want(t, func() error {
		_, err := records.NewSchema(records.Define[dated](records.Definition{Name: "things", Label: "Thing"}))
		return err
	}(), "Bought dated format")
}

type dated struct {
	records.Base
	Bought time.Time `json:"bought" field:"format=date"`
}

// TestNil: what is missing is an error with a name, and not a panic.
func TestNil(t *testing.T) {
	t.Parallel()
	_, err := records.NewSchema(records.Part{})
	errtest.Want(t, err, "schema part")
	var unopened *records.MemStore
	for want, store := range map[string]records.Store{"schema": records.NewMemStore(nil), "store": unopened, "records.New store": nil} {
		v := records.New(store, nil)
		errtest.Want(t, v.Store().Change(t.Context(), func(records.Tx) error { return nil }), want)
		_, err := v.Store().List(t.Context(), &records.Query{})
		errtest.Want(t, err, want)
		require.Error(t, v.Create(t.Context(), records.Caller{}, &plain{}))
	}
}

// TestMigrations: a program adds migrations and can't replace one of a library.
func TestMigrations(t *testing.T) {
	t.Parallel()
	one := records.Migrations(records.Migration{Version: 1})
	_, err := records.NewSchema(one, records.Migrations(records.Migration{Version: 1, Statements: map[string][]string{"": {"DROP TABLE devices"}}}))
	errtest.Want(t, err, "migration 1 duplicate")
	_, err = records.NewSchema(one, records.Migrations(records.Migration{Version: 2, Statements: map[string][]string{"mysql": {"SELECT 1"}}}))
	errtest.Want(t, err, "migration 2 mysql sqlite postgres")
}
