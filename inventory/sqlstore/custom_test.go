package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// checkCustomFields declares, uses, changes and deletes custom fields. open opens the same database
// as another process does, or returns nil for a store that only one process has.
func checkCustomFields(t *testing.T, store records.Store, open func() records.Store) {
	t.Helper()
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(0, 3)...))
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(60, &inventory.Location{Name: "x", City: "x", Country: "x", Address: "x"})))
	c := &customFields{t: t, store: store, engine: records.New(store, nil), by: records.Caller{Name: "ada"}}
	c.declareAll()
	c.checkValues()
	c.checkRefused()
	c.checkChanged()
	if open != nil {
		checkOtherProcess(t, store, open)
	}
	c.checkRemoved()
	if !testing.Short() {
		c.checkMaximum(open)
	}
}

// customFields are the custom fields of the devices of a store.
type customFields struct {
	t      *testing.T
	store  records.Store
	engine *records.Engine
	by     records.Caller

	tag, tier, site *inventory.CustomField
}

func customField(name string, typ inventory.CustomFieldType, change func(f *inventory.CustomField)) *inventory.CustomField {
	f := &inventory.CustomField{Resource: "devices", Name: name, Type: typ, Label: "The " + name}
	if change != nil {
		change(f)
	}
	return f
}

func (c *customFields) declare(f *inventory.CustomField) *inventory.CustomField {
	c.t.Helper()
	require.NoError(c.t, c.engine.Create(c.t.Context(), c.by, f), f.Name)
	return f
}

func (c *customFields) remove(f *inventory.CustomField) {
	c.t.Helper()
	require.NoError(c.t, c.engine.Delete(c.t.Context(), c.by, records.Of[inventory.CustomField](c.store.Schema()), records.Edit{ID: f.ID}), f.Name)
}

// change changes the declaration of a field.
func (c *customFields) change(f *inventory.CustomField, doc string) error {
	c.t.Helper()
	return c.edit(records.Of[inventory.CustomField](c.store.Schema()), f.ID, doc)
}

// patch changes the nth device.
func (c *customFields) patch(n int, doc string) error {
	c.t.Helper()
	return c.edit(c.devices(), sqlstoretest.ID(n), doc)
}

func (c *customFields) edit(r *records.Resource, id, doc string) error {
	c.t.Helper()
	var p records.Patch
	require.NoError(c.t, json.Unmarshal([]byte(doc), &p))
	_, err := c.engine.Update(c.t.Context(), c.by, r, records.Edit{ID: id, Apply: r.Patch(p)})
	return err
}

func (c *customFields) devices() *records.Resource {
	return records.Of[inventory.Device](c.store.Schema())
}

// list returns the ids of the devices of a query.
func (c *customFields) list(values map[string][]string) (ids []string) {
	c.t.Helper()
	q, err := records.ParseQuery(c.devices(), values)
	require.NoError(c.t, err)
	page, err := c.store.List(c.t.Context(), q)
	require.NoError(c.t, err)
	for _, rec := range page.Records {
		ids = append(ids, rec.Meta().ID)
	}
	require.EqualValues(c.t, len(ids), page.Total)
	return ids
}

// declareAll declares a field of each type.
func (c *customFields) declareAll() {
	c.t.Helper()
	c.tag = c.declare(customField("tag", inventory.CustomText, func(f *inventory.CustomField) { f.Pattern = `[a-z]{1,3}\d` }))
	c.declare(customField("units", inventory.CustomInteger, func(f *inventory.CustomField) { f.Required, f.Default = true, "7" }))
	c.declare(customField("weight", inventory.CustomNumber, nil))
	c.declare(customField("spare", inventory.CustomBoolean, func(f *inventory.CustomField) { f.Default = "false" }))
	c.declare(customField("order", inventory.CustomDate, nil))
	c.tier = c.declare(customField("tier", inventory.CustomChoice, func(f *inventory.CustomField) { f.Choices, f.Default = []string{"Gold", "silver"}, "silver" }))
	c.declare(customField("page_url", inventory.CustomURL, nil))
	c.site = c.declare(customField("site", inventory.CustomReference, func(f *inventory.CustomField) { f.Reference = "locations" }))
}

// checkValues reads defaults, and sets, filters and sorts values, with their audit log entries.
func (c *customFields) checkValues() {
	c.t.Helper()
	before, err := records.Get[inventory.Device](c.t.Context(), c.store, sqlstoretest.ID(0))
	require.NoError(c.t, err)
	require.Equal(c.t, records.Values{"units": int64(7), "spare": false, "tier": "silver"}, before.Extra, "the defaults")
	for doc, want := range map[string]string{
		`{"tag":"x"}`:                            "tag must match the pattern",
		`{"units":"x"}`:                          "units must be a whole number",
		`{"weight":true}`:                        "weight must be a number",
		`{"order":"2026-02-30"}`:                 "order must be a date such as 2026-01-31",
		`{"tier":"iron"}`:                        "tier must be one of gold, silver",
		`{"page_url":"javascript:alert(1)"}`:     "page_url must be an absolute URL",
		`{"site":"` + sqlstoretest.ID(61) + `"}`: "site refers to a record of locations that does not exist",
	} {
		require.ErrorContains(c.t, c.patch(0, doc), want)
	}
	require.NoError(c.t, c.patch(0, `{"tag":"ab1","units":9,"weight":2.5,"spare":true,"order":"2026-01-31","tier":"GOLD","page_url":"https://example.org/x","site":"`+sqlstoretest.ID(60)+`"}`))
	require.NoError(c.t, c.patch(1, `{"tag":"b2","order":"2025-12-01","weight":-1}`))
	require.Equal(c.t, []string{sqlstoretest.ID(0)}, c.list(map[string][]string{"tag": {"ab1"}, "tier": {"Gold"}, "spare": {"true"}, "units__gt": {"8"}, "order__gte": {"2026-01-01"}, "site": {sqlstoretest.ID(60)}}))
	require.Equal(c.t, []string{sqlstoretest.ID(2), sqlstoretest.ID(1), sqlstoretest.ID(0)}, c.list(map[string][]string{"sortby": {"weight:asc"}}))
	require.Equal(c.t, []string{sqlstoretest.ID(1), sqlstoretest.ID(2)}, c.list(map[string][]string{"sortby": {"order:desc"}, "page_url__isnull": {"true"}}))
	entries, err := c.store.List(c.t.Context(), (&records.Query{Resource: records.Of[records.AuditLog](c.store.Schema())}).Where("resource_id", sqlstoretest.ID(1)))
	require.NoError(c.t, err)
	changes := entries.Records[len(entries.Records)-1].(*records.AuditLog).Changes
	require.Equal(c.t, records.Change{Before: nil, After: "b2"}, changes["tag"])
	require.Equal(c.t, records.Change{Before: nil, After: -1.0}, changes["weight"])
}

// checkRefused declares fields that are refused, and one in a dry run.
func (c *customFields) checkRefused() {
	c.t.Helper()
	for want, f := range map[string]*inventory.CustomField{
		"devices have a field hostname":                 customField("hostname", inventory.CustomText, nil),
		"devices have a field tag":                      customField("tag", inventory.CustomText, nil),
		"this name is a parameter of lists":             customField("limit", inventory.CustomText, nil),
		"a name has up to 40 lower-case letters":        customField("a__b", inventory.CustomText, nil),
		`the default "x" must be a whole number`:        customField("x", inventory.CustomInteger, func(f *inventory.CustomField) { f.Default = "x" }),
		"is no regular expression":                      customField("x", inventory.CustomText, func(f *inventory.CustomField) { f.Pattern = "(" }),
		"choices must not be empty":                     customField("x", inventory.CustomChoice, nil),
		"reference must be the name of a resource":      customField("x", inventory.CustomReference, func(f *inventory.CustomField) { f.Reference = "secrets" }),
		"resource must be one of":                       customField("x", inventory.CustomText, func(f *inventory.CustomField) { f.Resource = "audit-logs" }),
		"default must not be empty: records of devices": customField("x", inventory.CustomText, func(f *inventory.CustomField) { f.Required = true }),
	} {
		require.ErrorContains(c.t, c.engine.Create(c.t.Context(), c.by, f), want)
		require.ErrorContains(c.t, c.engine.DryRun(nil).Create(c.t.Context(), c.by, f), want)
	}
	require.NoError(c.t, c.engine.DryRun(nil).Create(c.t.Context(), c.by, customField("dry", inventory.CustomText, nil)))
	_, exists := c.devices().Field("dry")
	require.False(c.t, exists)
}

// checkChanged changes declarations, which must fit the values that exist.
func (c *customFields) checkChanged() {
	c.t.Helper()
	require.ErrorContains(c.t, c.change(c.tag, `{"name":"tags"}`), "name can't be changed")
	require.ErrorContains(c.t, c.change(c.tag, `{"type":"url","pattern":""}`), "can't be changed")
	require.ErrorContains(c.t, c.change(c.tag, `{"required":true}`), "while 1 records of devices have no value")
	require.ErrorContains(c.t, c.change(c.tier, `{"choices":["silver"]}`), "1 records of devices have the choice gold")
	require.ErrorContains(c.t, c.change(c.tier, `{"default":"iron"}`), `the default "iron" must be one of gold, silver`)
	require.NoError(c.t, c.change(c.tier, `{"choices":["gold","iron","silver"],"default":"iron","label":"Level","required":true}`))
	f, _ := c.devices().Field("tier")
	require.Equal(c.t, "Level", f.Label)
	require.NoError(c.t, c.patch(2, `{"tier":"iron"}`))
}

// checkRemoved deletes fields with their values, and declares one of the same name again.
func (c *customFields) checkRemoved() {
	c.t.Helper()
	c.remove(c.tag)
	c.remove(c.site)
	_, exists := c.devices().Field("tag")
	require.False(c.t, exists)
	require.ErrorContains(c.t, c.patch(0, `{"tag":"ab1"}`), "tag is an unknown field")
	c.declare(customField("tag", inventory.CustomInteger, nil))
	require.Empty(c.t, c.list(map[string][]string{"tag__isnull": {"false"}}), "the values of the other field are deleted")
	require.NoError(c.t, c.patch(0, `{"tag":5}`))
	require.Equal(c.t, []string{sqlstoretest.ID(0)}, c.list(map[string][]string{"tag": {"5"}}))
	require.NoError(c.t, c.store.Change(c.t.Context(), func(tx records.Tx) error {
		return tx.Delete(c.t.Context(), records.Of[inventory.Location](tx.Schema()), sqlstoretest.ID(60), 1, nil)
	}))
}

// checkMaximum declares as many fields as there may be.
func (c *customFields) checkMaximum(open func() records.Store) {
	c.t.Helper()
	var all []records.Record
	for n := range inventory.MaxCustomFields - 7 {
		all = append(all, customField(fmt.Sprint("f", n), inventory.CustomInteger, nil))
	}
	require.NoError(c.t, c.engine.Create(c.t.Context(), c.by, all...))
	require.ErrorContains(c.t, c.engine.Create(c.t.Context(), c.by, customField("f99", inventory.CustomText, nil)), "devices have 50 custom fields, which is the maximum")
	if open != nil {
		again := open()
		require.Len(c.t, records.Of[inventory.Device](again.Schema()).Fields(), len(c.devices().Fields()))
		got, err := records.Get[inventory.Device](c.t.Context(), again, sqlstoretest.ID(0))
		require.NoError(c.t, err)
		require.EqualValues(c.t, 5, got.Extra["tag"])
	}
}

// checkOtherProcess checks that another process follows the changes of the schema, and that its calls
// fail cleanly until then.
func checkOtherProcess(t *testing.T, store records.Store, open func() records.Store) {
	t.Helper()
	ctx, by, v := t.Context(), records.Caller{}, records.New(store, nil)
	other := open()
	has := func(s records.Store, name string) bool {
		_, ok := records.Of[inventory.Device](s.Schema()).Field(name)
		return ok
	}
	require.True(t, has(other, "tag"), "declared before it was opened")
	f := &inventory.CustomField{Resource: "devices", Name: "later", Type: inventory.CustomBoolean, Default: "true"}
	require.NoError(t, v.Create(ctx, by, f))
	require.NoError(t, sqlstoretest.Create(t, other, sqlstoretest.Devices(20, 21)...), "a process that does not know the field yet")
	for value, want := range map[any]int64{true: 3, nil: 1, false: 0} {
		page, err := store.List(ctx, (&records.Query{Resource: records.Of[inventory.Device](store.Schema()), Count: true, Limit: 1}).Where("later", value))
		require.NoError(t, err)
		require.Equal(t, want, page.Total, "%v", value)
	}
	require.Eventually(t, func() bool { return has(other, "later") }, 30*time.Second, 10*time.Millisecond)

	require.NoError(t, v.Delete(ctx, by, records.Of[inventory.CustomField](store.Schema()), records.Edit{ID: f.ID}))
	later, ok := records.Of[inventory.Device](other.Schema()).Field("later")
	if ok {
		_, err := other.List(ctx, &records.Query{Resource: records.Of[inventory.Device](other.Schema()), Filters: []records.Filter{{Field: later, Value: true}}})
		if err != nil { // it may have followed in between
			require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
		}
	}
	require.Eventually(t, func() bool { return !has(other, "later") }, 30*time.Second, 10*time.Millisecond)
	page, err := other.List(ctx, &records.Query{Resource: records.Of[inventory.Device](other.Schema()), Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 4, page.Total)
	require.NoError(t, store.Change(ctx, func(tx records.Tx) error {
		return tx.Delete(ctx, records.Of[inventory.Device](tx.Schema()), sqlstoretest.ID(20), 1, nil)
	}))

	// Two administrators declare the same field at the same time.
	for round := range 3 {
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, s := range []records.Store{store, other} {
			group.Go(func() {
				same := &inventory.CustomField{Resource: "devices", Name: fmt.Sprint("same", round), Type: inventory.CustomInteger}
				errs[i] = records.New(s, nil).Create(ctx, by, same)
			})
		}
		group.Wait()
		if errs[0] != nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.Equal(t, records.Conflict, records.KindOf(errs[1]), "%v", errs[1])
		require.Eventually(t, func() bool { return has(store, fmt.Sprint("same", round)) }, 30*time.Second, 10*time.Millisecond)
		page, err := store.List(ctx, (&records.Query{Resource: records.Of[inventory.CustomField](store.Schema())}).Where("name", fmt.Sprint("same", round)))
		require.NoError(t, err)
		require.NoError(t, v.Delete(ctx, by, records.Of[inventory.CustomField](store.Schema()), records.Edit{ID: page.Records[0].Meta().ID}))
	}
}
