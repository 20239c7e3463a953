package xds_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// FuzzParse checks that any bytes of a resource give a configuration that compiles again,
// or faults, each of which is one printable line.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{}`,
		`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "value": "*", "rate_limit": {"unit": "DAY", "requests_per_unit": 1}}]}`,
		`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "rate_limit": {"unit": 9}, "descriptors": [{}, {"shadow_mode": true}]}]}`,
		`{"domain": "d", "descriptors": [{"key": "a", "rate_limit": {"unlimited": true, "name": "n", "replaces": [{"name": "n"}, {}]}}]}`,
	} {
		f.Add(fromJSON(f, text)[0].GetValue())
	}
	f.Add([]byte{0xff})
	f.Add([]byte{0x1a, 3, 8 << 3, 1, 0}) // an unknown field in a descriptor
	limit := protowire.AppendString(protowire.AppendTag([]byte{8, 2, 16, 9}, xds.FieldNumber("algorithm"), protowire.BytesType), "token_bucket")
	limit = protowire.AppendVarint(protowire.AppendTag(limit, xds.FieldNumber("burst"), protowire.VarintType), 20)
	rule := protowire.AppendBytes([]byte{1<<3 | 2, 1, 'k', 3<<3 | 2}, limit)
	f.Add(protowire.AppendBytes([]byte{2<<3 | 2, 1, 'd', 3<<3 | 2}, rule))
	f.Fuzz(func(t *testing.T, data []byte) {
		one := &anypb.Any{TypeUrl: xds.TypeURL, Value: data}
		u, err := parseSoon(t, one)
		if err != nil {
			var faults config.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("the error is %T, want Faults with at least one", err)
			}
			sendable(t, faults)
			return
		}
		sendable(t, u.Warnings)
		if _, err := ratelimit.Compile(u.Domains, nil); err != nil {
			t.Errorf("what was accepted does not compile: %v", err)
		}
		if _, err := xds.Parse([]*anypb.Any{one, one}, nil); err == nil {
			t.Error("the same domain twice is accepted")
		}
	})
}

// parseSoon fails the test if Parse takes more than 5 s three times in a row; once may be a
// busy machine.
func parseSoon(t *testing.T, one *anypb.Any) (u *xds.Update, err error) {
	t.Helper()
	for range 3 {
		start := time.Now()
		u, err = xds.Parse([]*anypb.Any{one}, nil)
		if time.Since(start) < 5*time.Second {
			return u, err
		}
	}
	t.Fatalf("takes more than 5 s for %d bytes", len(one.GetValue()))
	return nil, nil
}

func sendable(t *testing.T, faults []*config.Fault) {
	t.Helper()
	for _, f := range faults {
		if text := f.Error(); strings.ContainsAny(text, "\n\r\x00") || !utf8.ValidString(text) {
			t.Errorf("%q is not one printable line", text)
		}
	}
}
