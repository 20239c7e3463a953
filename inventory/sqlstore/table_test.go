package sqlstore_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// FuzzParseStrings compares the result with that of package json.
func FuzzParseStrings(f *testing.F) {
	for _, s := range []string{`[]`, `["a"]`, `["a","b"]`, `["a", "b"]`, `["a\"b"]`, `[""]`, `["a",]`, `["a" "b"]`, `[1]`, `["a"`, `[`, ``, `null`, `["ü"]`, `[,"a"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := sqlstore.ParseStrings(s)
		if !ok {
			return
		}
		var want []string
		err := json.Unmarshal([]byte(s), &want)
		// Broken UTF-8 is replaced when it is written, so that it can't come back.
		if err == nil && utf8.ValidString(s) && !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %q, want %q", s, got, want)
		}
	})
}
