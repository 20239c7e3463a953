package sqlstoretest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// CheckCustomFields declares, uses, changes and deletes custom fields. open opens the same database
// as another process does, or returns nil for a store that only one process has.
func CheckCustomFields(t *testing.T, store records.Store, open func() records.Store) {
	t.Helper()
	ctx, by, v := t.Context(), records.Caller{Name: "ada"}, records.New(store, nil)
	require.NoError(t, Create(t, store, Devices(0, 3)...))
	require.NoError(t, Create(t, store, WithBase(60, &inventory.Location{Name: "x", City: "x", Country: "x", Address: "x"})))
	field := func(name string, typ inventory.CustomFieldType, change func(f *inventory.CustomField)) *inventory.CustomField {
		f := &inventory.CustomField{Resource: "devices", Name: name, Type: typ, Label: "The " + name}
		if change != nil {
			change(f)
		}
		return f
	}
	declare := func(f *inventory.CustomField) *inventory.CustomField {
		require.NoError(t, v.Create(ctx, by, f), f.Name)
		return f
	}
	devices := func() *records.Resource { return records.Of[inventory.Device](store.Schema()) }
	patch := func(n int, doc string) error {
		var p records.Patch
		require.NoError(t, json.Unmarshal([]byte(doc), &p))
		_, err := v.Update(ctx, by, devices(), records.Edit{ID: ID(n), Apply: devices().Patch(p)})
		return err
	}
	list := func(values map[string][]string) (ids []string) {
		q, err := records.ParseQuery(devices(), values)
		require.NoError(t, err)
		page, err := store.List(ctx, q)
		require.NoError(t, err)
		for _, rec := range page.Records {
			ids = append(ids, rec.Meta().ID)
		}
		require.EqualValues(t, len(ids), page.Total)
		return ids
	}

	tag := declare(field("tag", inventory.CustomText, func(f *inventory.CustomField) { f.Pattern = `[a-z]{1,3}\d` }))
	declare(field("units", inventory.CustomInteger, func(f *inventory.CustomField) { f.Required, f.Default = true, "7" }))
	declare(field("weight", inventory.CustomNumber, nil))
	declare(field("spare", inventory.CustomBoolean, func(f *inventory.CustomField) { f.Default = "false" }))
	declare(field("order", inventory.CustomDate, nil))
	tier := declare(field("tier", inventory.CustomChoice, func(f *inventory.CustomField) { f.Choices, f.Default = []string{"Gold", "silver"}, "silver" }))
	declare(field("page_url", inventory.CustomURL, nil))
	site := declare(field("site", inventory.CustomReference, func(f *inventory.CustomField) { f.Reference = "locations" }))

	before, err := records.Get[inventory.Device](ctx, store, ID(0))
	require.NoError(t, err)
	require.Equal(t, records.Values{"units": int64(7), "spare": false, "tier": "silver"}, before.Extra, "the defaults")
	for doc, want := range map[string]string{
		`{"tag":"x"}`:                        "tag must match the pattern",
		`{"units":"x"}`:                      "units must be a whole number",
		`{"weight":true}`:                    "weight must be a number",
		`{"order":"2026-02-30"}`:             "order must be a date such as 2026-01-31",
		`{"tier":"iron"}`:                    "tier must be one of gold, silver",
		`{"page_url":"javascript:alert(1)"}`: "page_url must be an absolute URL",
		`{"site":"` + ID(61) + `"}`:          "site refers to a record of locations that does not exist",
	} {
		require.ErrorContains(t, patch(0, doc), want)
	}
	require.NoError(t, patch(0, `{"tag":"ab1","units":9,"weight":2.5,"spare":true,"order":"2026-01-31","tier":"GOLD","page_url":"https://example.org/x","site":"`+ID(60)+`"}`))
	require.NoError(t, patch(1, `{"tag":"b2","order":"2025-12-01","weight":-1}`))
	require.Equal(t, []string{ID(0)}, list(map[string][]string{"tag": {"ab1"}, "tier": {"Gold"}, "spare": {"true"}, "units__gt": {"8"}, "order__gte": {"2026-01-01"}, "site": {ID(60)}}))
	require.Equal(t, []string{ID(2), ID(1), ID(0)}, list(map[string][]string{"sortby": {"weight:asc"}}))
	require.Equal(t, []string{ID(1), ID(2)}, list(map[string][]string{"sortby": {"order:desc"}, "page_url__isnull": {"true"}}))
	entries, err := store.List(ctx, (&records.Query{Resource: records.Of[records.AuditLog](store.Schema())}).Where("resource_id", ID(1)))
	require.NoError(t, err)
	changes := entries.Records[len(entries.Records)-1].(*records.AuditLog).Changes
	require.Equal(t, records.Change{Before: nil, After: "b2"}, changes["tag"])
	require.Equal(t, records.Change{Before: nil, After: -1.0}, changes["weight"])

	for want, f := range map[string]*inventory.CustomField{
		"devices have a field hostname":                 field("hostname", inventory.CustomText, nil),
		"devices have a field tag":                      field("tag", inventory.CustomText, nil),
		"this name is a parameter of lists":             field("limit", inventory.CustomText, nil),
		"a name has up to 40 lower-case letters":        field("a__b", inventory.CustomText, nil),
		`the default "x" must be a whole number`:        field("x", inventory.CustomInteger, func(f *inventory.CustomField) { f.Default = "x" }),
		"is no regular expression":                      field("x", inventory.CustomText, func(f *inventory.CustomField) { f.Pattern = "(" }),
		"choices must not be empty":                     field("x", inventory.CustomChoice, nil),
		"reference must be the name of a resource":      field("x", inventory.CustomReference, func(f *inventory.CustomField) { f.Reference = "secrets" }),
		"resource must be the name of a resource with":  field("x", inventory.CustomText, func(f *inventory.CustomField) { f.Resource = "audit-logs" }),
		"default must not be empty in a required field": field("x", inventory.CustomText, func(f *inventory.CustomField) { f.Required = true }),
	} {
		require.ErrorContains(t, v.Create(ctx, by, f), want)
		require.ErrorContains(t, v.DryRun(nil).Create(ctx, by, f), want)
	}
	require.NoError(t, v.DryRun(nil).Create(ctx, by, field("dry", inventory.CustomText, nil)))
	_, exists := devices().Field("dry")
	require.False(t, exists)

	change := func(f *inventory.CustomField, doc string) error {
		r := records.Of[inventory.CustomField](store.Schema())
		var p records.Patch
		require.NoError(t, json.Unmarshal([]byte(doc), &p))
		_, err := v.Update(ctx, by, r, records.Edit{ID: f.ID, Apply: r.Patch(p)})
		return err
	}
	require.ErrorContains(t, change(tag, `{"name":"tags"}`), "name can't be changed")
	require.ErrorContains(t, change(tag, `{"type":"url","pattern":""}`), "can't be changed")
	require.ErrorContains(t, change(tag, `{"required":true}`), "required can't become true: 1 records of devices have no value")
	require.ErrorContains(t, change(tier, `{"choices":["silver"]}`), "choices must contain gold, which 1 records of devices have")
	require.ErrorContains(t, change(tier, `{"default":"iron"}`), `the default "iron" must be one of gold, silver`)
	require.NoError(t, change(tier, `{"choices":["gold","iron","silver"],"default":"iron","label":"Level","required":true}`))
	f, _ := devices().Field("tier")
	require.Equal(t, "Level", f.Label)
	require.NoError(t, patch(2, `{"tier":"iron"}`))

	if open != nil {
		checkOtherProcess(t, store, open)
	}

	remove := func(f *inventory.CustomField) {
		require.NoError(t, v.Delete(ctx, by, records.Of[inventory.CustomField](store.Schema()), records.Edit{ID: f.ID}), f.Name)
	}
	remove(tag)
	remove(site)
	_, exists = devices().Field("tag")
	require.False(t, exists)
	require.ErrorContains(t, patch(0, `{"tag":"ab1"}`), "tag is an unknown field")
	declare(field("tag", inventory.CustomInteger, nil))
	require.Empty(t, list(map[string][]string{"tag__isnull": {"false"}}), "the values of the other field are deleted")
	require.NoError(t, patch(0, `{"tag":5}`))
	require.Equal(t, []string{ID(0)}, list(map[string][]string{"tag": {"5"}}))
	require.NoError(t, store.Change(ctx, func(tx records.Tx) error {
		return tx.Delete(ctx, records.Of[inventory.Location](tx.Schema()), ID(60), 1, nil)
	}))

	for n := range inventory.MaxCustomFields - 7 {
		declare(field(fmt.Sprint("f", n), inventory.CustomInteger, nil))
	}
	require.ErrorContains(t, v.Create(ctx, by, field("f99", inventory.CustomText, nil)), "devices have 50 custom fields, which is the maximum")
	if open != nil {
		again := open()
		require.Len(t, records.Of[inventory.Device](again.Schema()).Fields(), len(devices().Fields()))
		got, err := records.Get[inventory.Device](ctx, again, ID(0))
		require.NoError(t, err)
		require.EqualValues(t, 5, got.Extra["tag"])
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
	require.NoError(t, Create(t, other, Devices(20, 21)...), "a process that does not know the field yet")
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
		return tx.Delete(ctx, records.Of[inventory.Device](tx.Schema()), ID(20), 1, nil)
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
