package openapi_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// texts maps formats to valid and invalid values.
var texts = map[string][2][]any{
	"uuid":    {{"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "118F4C2E-7B1A-7C3D-9E4F-5A6B7C8D9E0F"}, {"urn:uuid:018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "1"}},
	"ip":      {{"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"}, {"192.0.2.1/24", "host", "fe80::1%eth0"}},
	"cidr":    {{"192.0.2.0/24", "2001:db8::/32"}, {"192.0.2.0", "net"}},
	"network": {{"192.0.2.0/24", "2001:db8::/32"}, {"192.0.2.0", "net"}},
	"interface-ip": {
		{"192.0.2.1", "192.0.2.1/24", "2001:db8::1/64"},
		{"192.0.2.1/", "port"},
	},
	"mac":      {{"00:1a:2b:3c:4d:5e", "00:1A:2B:3C:4D:5E"}, {"00:1a:2b:3c:4d", "00:00:00:00:fe:80:00:00", "mac"}},
	"speed":    {{"10Gbps", "2.5Gbps", "100Mbps", "1.6Tbps"}, {"fast", "10", "-1Gbps"}},
	"timezone": {{"Europe/Berlin", "UTC", "Etc/GMT+1"}, {"/etc", "a b", "Europe/"}},
	"email":    {{"jane@example.org", "Jane.Doe@Example.Org"}, {"jane", "a b@example.org", "@example.org"}},
}

// values generates valid and invalid values of a field.
func values(f *records.Field) *rapid.Generator[any] {
	right, wrong := samples(f)
	if f.Nullable {
		right = append(right, rapid.Just[any](nil))
	}
	if f.Kind == records.List || f.Kind == records.Object {
		wrong = append(wrong, rapid.Just[any]("text"))
	} else {
		wrong = append(wrong, rapid.SampledFrom([]any{[]any{}, map[string]any{}}))
	}
	return rapid.Custom(func(t *rapid.T) any {
		of := right
		if rapid.IntRange(0, 14).Draw(t, "luck") == 7 {
			of = wrong
		}
		return rapid.OneOf(of...).Draw(t, f.Name)
	})
}

func samples(f *records.Field) (right, wrong []*rapid.Generator[any]) {
	some := func(values ...any) []*rapid.Generator[any] {
		return []*rapid.Generator[any]{rapid.SampledFrom(values)}
	}
	switch f.Kind {
	case records.Bool:
		return some(true, false), some("true", 1)
	case records.Time:
		return some("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456789+01:00"), some("yesterday", 1)
	case records.List:
		if f.Format == "uuid" {
			id := "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
			return some([]any{}, []any{id}), some([]any{id, id}, []any{"a"}, []any{1})
		}
		return some([]any{}, []any{"a", "b"}, []any{strings.Repeat("é", 100)}),
			some([]any{"a", "a"}, []any{" "}, []any{1}, []any{strings.Repeat("x", 101)})
	case records.Object:
		return some(map[string]any{}, map[string]any{"ip": map[string]any{"before": nil, "after": "192.0.2.1"}}), some(1, []any{1})
	case records.Int:
		return numbers(f, some(int64(64), int64(100))), append(outside(f), some(0.5, "1")...)
	case records.Float:
		return numbers(f, some(0.5, 12.25)), append(outside(f), some("1")...)
	}
	if known, ok := texts[f.Format]; ok {
		return some(known[0]...), append(some(known[1]...), some("", 1)...)
	}
	if f.Enum != nil {
		var all []any
		for _, v := range f.Enum {
			all = append(all, v)
		}
		return some(all...), some("other", "", 1)
	}
	return []*rapid.Generator[any]{lines(f)}, append(some("", " ", "\u00a0", 1), long(f))
}

// numbers generates numbers within the bounds of a field, and the bounds.
func numbers(f *records.Field, some []*rapid.Generator[any]) []*rapid.Generator[any] {
	for _, bound := range []*float64{f.Min, f.Max} {
		if bound != nil {
			some = append(some, rapid.Just[any](*bound))
		}
	}
	return some
}

// outside generates numbers just outside the bounds of a field.
func outside(f *records.Field) (wrong []*rapid.Generator[any]) {
	if f.Min != nil {
		wrong = append(wrong, rapid.Just[any](*f.Min-1))
	}
	if f.Max != nil {
		wrong = append(wrong, rapid.Just[any](*f.Max+1))
	}
	return wrong
}

// lines generates strings of any characters, some of which are too long or not allowed. Their
// blanks are those of the patterns, which know none beyond \xff.
func lines(f *records.Field) *rapid.Generator[any] {
	least, most := 1, 40
	if f.Min != nil {
		least = int(*f.Min)
	}
	if f.Max != nil {
		most = min(most, int(*f.Max))
	}
	plain := rapid.RuneFrom(nil, unicode.L, unicode.N, unicode.P, unicode.So)
	wild := rapid.RuneFrom([]rune("xyz \u00a0\n\t\x00\x7f\u0085"))
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 14).Draw(t, "luck") == 7 {
			return rapid.StringOfN(wild, 1, 3, -1).Draw(t, "wild")
		}
		return rapid.StringOfN(plain, least, most, -1).Draw(t, "plain")
	})
}

// long returns a string that exceeds the limit of a field by one character.
func long(f *records.Field) *rapid.Generator[any] {
	if f.Max == nil {
		return rapid.Just[any]("")
	}
	return rapid.Just[any](strings.Repeat("é", int(*f.Max)+1))
}

// draft generates a document that a client may send, with or without each optional field.
func draft(t *rapid.T, r *records.Resource, must func(f *records.Field) bool) map[string]any {
	doc := map[string]any{}
	for _, f := range r.Fields() {
		if f.Hidden || f.Name == "id" || f.Name == "version" || f.Name == "created_at" || f.Name == "updated_at" {
			continue
		}
		if must(f) && rapid.IntRange(0, 49).Draw(t, "forget "+f.Name) != 25 || rapid.Bool().Draw(t, "has "+f.Name) {
			doc[f.Name] = values(f).Draw(t, f.Name)
		}
	}
	return doc
}

// between reports an error about two fields, which schemas do not describe.
func between(err error) bool {
	e, _ := errors.AsType[*records.Error](err)
	return e != nil && slices.ContainsFunc(e.Fields, func(f records.FieldError) bool {
		return f.Code == "inconsistent" || f.Code == "not_allowed" || errtest.Names(f.Reason, "lat lon") || errtest.Names(f.Reason, "has the type") || errtest.Names(f.Reason, "commas")
	})
}

// shown returns a record as clients see it.
func shown(t require.TestingT, r *records.Resource, rec records.Record) any {
	*rec.Meta() = records.Base{ID: "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", CreatedAt: time.Now(), UpdatedAt: time.Now().UTC(), Version: 1}
	for _, f := range r.Fields() {
		if f.WriteOnly {
			f.Set(rec, nil)
		}
	}
	doc, err := json.Marshal(rec)
	require.NoError(t, err)
	return decoded(t, doc)
}

// outcomes counts both outcomes of a property, to detect generators that produce only one.
type outcomes struct{ yes, no int }

func (c *outcomes) add(is bool) bool {
	if is {
		c.yes++
	} else {
		c.no++
	}
	return is
}

// checkBoth checks a property until all counted outcomes were seen: few values of a resource
// with few fields are wrong, and 100 of them may all be right.
func checkBoth(t *testing.T, property func(*rapid.T), counted ...*outcomes) {
	t.Helper()
	for range 20 {
		rapid.Check(t, property)
		if !slices.ContainsFunc(counted, func(c *outcomes) bool { return c.yes == 0 || c.no == 0 }) {
			return
		}
	}
	t.Errorf("one outcome of two was never seen: %+v", counted)
}

// TestSchemas validates samples with the schemas of the document.
func TestSchemas(t *testing.T) {
	t.Parallel()
	compile := schemas(t)
	t.Run("drafts", func(t *testing.T) { testDrafts(t, compile) })
	t.Run("changes", func(t *testing.T) { testChanges(t, compile) })
	t.Run("documents", func(t *testing.T) { testDocuments(t, compile) })
	t.Run("records", func(t *testing.T) { testRecords(t, compile) })
}

// testDrafts checks that the schema of a draft and the check of a record agree, except for
// rules about two fields, and that accepted records match the schema of the record.
func testDrafts(t *testing.T, compile compiler) {
	for _, r := range schema.Resources() {
		t.Run(r.Name, func(t *testing.T) {
			draftSchema, recordSchema, partSchema := compile(openapi.Name(r)+"Draft"), compile(openapi.Name(r)), compile(openapi.Name(r)+"Part")
			var allowed, accepted outcomes
			checkBoth(t, func(t *rapid.T) {
				doc, err := json.Marshal(draft(t, r, func(f *records.Field) bool { return f.Required || f.OnCreate }))
				require.NoError(t, err)
				rec := r.New()
				schemaErr := draftSchema.Validate(decoded(t, doc))
				err = json.Unmarshal(doc, rec)
				if err == nil {
					err = resourceOf(rec).CheckNew(rec)
				}
				if allowed.add(schemaErr == nil) && err != nil && !between(err) {
					t.Fatalf("the schema allows %s, the inventory does not: %v", doc, err)
				}
				if accepted.add(err == nil) {
					now := shown(t, r, rec)
					assert.NoError(t, recordSchema.Validate(now))
					assert.NoError(t, partSchema.Validate(now))
				}
			}, &allowed, &accepted)
		})
	}
}

// testChanges does the same for the schema of a change and Patch.
func testChanges(t *testing.T, compile compiler) {
	for _, r := range schema.Resources() {
		if r.Name == "audit-logs" {
			continue // all of it is the inventory's own
		}
		t.Run(r.Name, func(t *testing.T) {
			changeSchema, itemSchema := compile(openapi.Name(r)+"Change"), compile(openapi.Name(r)+"ItemChange")
			var allowed outcomes
			checkBoth(t, func(t *rapid.T) {
				doc := draft(t, r, func(*records.Field) bool { return false })
				maps.DeleteFunc(doc, func(name string, _ any) bool {
					f, _ := r.Field(name)
					return f.ReadOnly
				})
				text, err := json.Marshal(doc)
				require.NoError(t, err)
				schemaErr := changeSchema.Validate(decoded(t, text))
				var patch records.Patch
				require.NoError(t, json.Unmarshal(text, &patch))
				rec := valid(t, r)
				if err = resourceOf(rec).Patch(patch)(rec); err == nil {
					err = resourceOf(rec).Check(rec)
				}
				if allowed.add(schemaErr == nil) && err != nil && !between(err) {
					t.Fatalf("the schema allows %s, the inventory does not: %v", text, err)
				}
				doc["id"], doc["if_version"] = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", 3
				text, err = json.Marshal(doc)
				require.NoError(t, err)
				assert.Equal(t, schemaErr == nil, itemSchema.Validate(decoded(t, text)) == nil)
			}, &allowed)
		})
	}
}

// valid returns a record with only the required fields.
func valid(t require.TestingT, r *records.Resource) records.Record {
	doc := map[string]any{}
	for _, f := range r.Fields() {
		if f.Required {
			right, _ := samples(f)
			doc[f.Name] = right[0].Example(len(f.Name))
			if f.Kind == records.Text && f.Enum == nil && f.Ref == nil && texts[f.Format][0] == nil {
				doc[f.Name] = "text"
			}
		}
	}
	if r.Name == "links" {
		doc["b_interface_id"] = "118f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	}
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	rec := r.New()
	require.NoError(t, json.Unmarshal(text, rec))
	require.NoError(t, resourceOf(rec).Check(rec))
	return rec
}

// testDocuments checks what schemas accept and refuse.
func testDocuments(t *testing.T, compile compiler) {
	const device = `"hostname":"sw1","ip":"192.0.2.1","model":"X","vendor":"Y","os":"Z","status":"active"`
	for _, c := range []struct {
		schema, doc string
		allowed     bool
	}{
		{"DeviceDraft", `{` + device + `}`, true},
		{"DeviceDraft", `{` + device + `,"id":"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f","version":3}`, true},
		{"DeviceDraft", `{` + device + `,"colour":"red"}`, false},
		{"DeviceDraft", `{` + device + `,"location_id":null,"serial_number":""}`, true},
		{"DeviceDraft", `{` + device + `,"tags":["a","b"]}`, true},
		{"DeviceDraft", `{` + device + `,"tags":["a","a"]}`, false},
		{"DeviceDraft", `{` + device + `,"tags":null}`, false},
		{"DeviceDraft", `{"hostname":"sw1"}`, true},
		{"DeviceDraft", `{"ip":"192.0.2.1"}`, false},
		{"DeviceChange", `{}`, true},
		{"DeviceChange", `{"hostname":""}`, false},
		{"DeviceChange", `{"hostname":null}`, false},
		{"DeviceItemChange", `{"hostname":"sw1"}`, false},
		{"UserDraft", `{"username":"jane","email":"jane@example.org","role":"viewer"}`, false},
		{"UserReplacement", `{"username":"jane","email":"jane@example.org","role":"viewer"}`, true},
		{"UserDraft", `{"username":"jane","email":"jane@example.org","role":"viewer","password":"short"}`, false},
		{"UserDraft", `{"username":"jane","email":"jane@example.org","role":"owner","password":"long enough"}`, false},
		{"User", `{"password":"long enough"}`, false},
		{"VLANDraft", `{"vlan_id":5000,"name":"a"}`, false},
		{"VLANDraft", `{"vlan_id":0,"name":"a"}`, false},
		{"VLANDraft", `{"vlan_id":4094,"name":"a"}`, true},
		{"Error", `{"status":"error","code":"invalid","message":"no","request_id":"1","errors":[{"field":"a","code":"required","reason":"b"}],"items":[{"index":0,"code":"conflict","message":"no"}]}`, true},
		{"Error", `{"status":"success","code":"invalid","message":"no"}`, false},
		{"Error", `{"status":"error","code":"frob","message":"no"}`, false},
		{"Error", `{"status":"error","code":"invalid","message":"no","errors":[{"field":"a","code":"frob","reason":"b"}]}`, false},
		{"Confirmation", `{"status":"success","message":"Device deleted"}`, true},
		{"DevicePage", `{"meta":{"current_page":1,"limit":10,"total_pages":0,"total_count":0},"data":[]}`, true},
		{"DevicePage", `{"meta":{"limit":10,"next_cursor":null},"data":[{"hostname":"sw1"}]}`, false},
		{"DevicePartPage", `{"meta":{"limit":10,"next_cursor":null},"data":[{"hostname":"sw1"}]}`, true},
		{"DeviceDraft", `{"hostname":"sw1","location_id":""}`, true},
		{"DevicePage", `{"meta":{"limit":10},"data":null}`, false},
		{"DevicePage", `{"meta":{"limit":10},"data":[{"hostname":1}]}`, false},
	} {
		err := compile(c.schema).Validate(decoded(t, []byte(c.doc)))
		assert.Equal(t, c.allowed, err == nil, "%s %s: %v", c.schema, c.doc, err)
	}
}

// testRecords checks that records have all visible fields and no secrets.
func testRecords(t *testing.T, compile compiler) {
	for _, r := range schema.Resources() {
		var want []string
		for _, f := range r.Fields() {
			if !f.Hidden && !f.WriteOnly {
				want = append(want, f.Name)
			}
		}
		s := compile(openapi.Name(r))
		assert.ElementsMatch(t, want, slices.Collect(maps.Keys(s.Properties)))
		assert.ElementsMatch(t, want, s.Required)
	}
}
