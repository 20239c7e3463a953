package inventory_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// decoded are documents, and whether Decode reads them as metrics.
var decoded = map[string]bool{
	`[{"device_id":"` + id(1) + `","cpu":12.5,"memory":-0,"temp":null,"uptime_seconds":7,"ts":"2026-01-31T12:00:00.25+01:00"}]`: true,
	" [ { \"cpu\" : 0.10 ,\r\n\t\"uptime_seconds\":-1 } , {} ] ":                                                                true,
	`[{"device_id":""},{"device_id":"a b"}]`:                                                                                    true,
	"[" + strings.Repeat("{},", records.MaxItems-1) + "{}]":                                                                     true,
	"[" + strings.Repeat("{},", records.MaxItems) + "{}]":                                                                       false,
	`[]`: false, `{}`: false, ``: false, `[{}`: false, `[{}]]`: false, `[{},]`: false, `[{"cpu":1,}]`: false, `[null]`: false,
	`[{"cpu":1,"cpu":1}]`: false, `[{"cpus":1}]`: false, `[{"CPU":1}]`: false, `[{"":1}]`: false, `[{"id":"x"}]`: false,
	`[{"cpu":"1"}]`: false, `[{"cpu":01}]`: false, `[{"cpu":1.}]`: false, `[{"cpu":-}]`: false, `[{"cpu":1e3}]`: false, `[{"cpu":nul}]`: false,
	`[{"uptime_seconds":1.0}]`: false, `[{"uptime_seconds":9223372036854775808}]`: false, `[{"uptime_seconds":true}]`: false,
	`[{"device_id":null}]`: false, `[{"device_id":"\u0031"}]`: false, `[{"device_id":"é"}]`: false, "[{\"device_id\":\"a\nb\"}]": false,
	`[{"ts":"yesterday"}]`: false, `[{"ts":"2026-01-31 12:00:00Z"}]`: false, `[{"ts":1}]`: false,
}

// TestDecode checks which documents are read at once. FuzzDecode checks what is read.
func TestDecode(t *testing.T) {
	t.Parallel()
	for doc, want := range decoded {
		if _, got := records.Of[inventory.Metric](schema).Decode(doc); got != want {
			t.Errorf("%.100s: Decode returns %v, want %v", doc, got, want)
		}
	}
	for r, doc := range map[*records.Resource]string{
		records.Of[inventory.Interface](schema): `[{"name":"a"}]`,   // has a hook for patches
		records.Of[inventory.Device](schema):    `[{"tags":["a"]}]`, // has a list
	} {
		if _, ok := r.Decode(doc); ok {
			t.Errorf("%s: Decode reads %s", r.Name, doc)
		}
	}
}

// FuzzDecode compares with patches: what Decode reads is valid, and makes the same records.
func FuzzDecode(f *testing.F) {
	for doc := range decoded {
		f.Add(doc)
	}
	f.Add(`[{"severity":"high","message":"<a>","device_id":null,"location_id":"x"}]`)
	f.Add(`[{"username":"a","inactive_status":true,"password":"b"},{"inactive_status":false}]`)
	f.Fuzz(func(t *testing.T, doc string) {
		for _, r := range []*records.Resource{records.Of[inventory.Metric](schema), records.Of[inventory.Event](schema), records.Of[inventory.User](schema)} {
			got, read := r.Decode(doc)
			if !read {
				continue
			}
			if jsonpos.Parse([]byte(doc), nil).Count > 0 {
				t.Fatalf("%s: Decode reads %q", r.Name, doc)
			}
			var patches []records.Patch
			ok(t, json.Unmarshal([]byte(doc), &patches))
			for i, p := range patches {
				want := r.New()
				ok(t, r.Patch(p)(want))
				if !reflect.DeepEqual(got[i], want) {
					t.Fatalf("%s: Decode reads %q as %+v, want %+v", r.Name, doc, got[i], want)
				}
			}
		}
	})
}
