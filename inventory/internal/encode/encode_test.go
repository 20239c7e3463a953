package encode_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// tester is a test, or one case of a property.
type tester interface {
	Helper()
	Fatal(args ...any)
}

func ok(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// of returns the encoder of a record.
func of(t tester, rec records.Record) *encode.Encoder {
	t.Helper()
	r, err := inventory.Schema().Of(rec)
	ok(t, err)
	return encode.New(r)
}

// asJSON encodes a value with encoding/json, without HTML escapes.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	ok(t, encoder.Encode(v))
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// TestEncoder checks that records of every resource are encoded as by encoding/json, without
// hidden fields.
func TestEncoder(t *testing.T) {
	t.Parallel()
	for _, r := range inventory.Schema().Resources() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				rec := randomRecord(t, r)
				if u, ok := rec.(*inventory.User); ok {
					u.PasswordHash = "secret"
				}
				want, err := json.Marshal(rec)
				if err != nil {
					t.Fatal(err)
				}
				var plain bytes.Buffer
				encoder := json.NewEncoder(&plain)
				encoder.SetEscapeHTML(false)
				if err := encoder.Encode(rec); err != nil {
					t.Fatal(err)
				}
				got := of(t, rec).Append(nil, rec)
				if string(got)+"\n" != plain.String() {
					t.Fatalf("got\n%s want\n%s(%s)", got, &plain, want)
				}
			})
		})
	}
}

// randomRecord generates a record with any values that a store could return.
func randomRecord(t *rapid.T, r *records.Resource) records.Record {
	rec := r.New()
	for _, f := range r.Fields() {
		if f.WriteOnly || f.Hidden {
			continue
		}
		if f.Kind == records.List {
			f.Set(rec, append([]string{}, rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, f.Name)...))
			continue
		}
		if f.Nullable && rapid.Bool().Draw(t, "null") {
			continue
		}
		f.Set(rec, randomValue(t, f))
	}
	return rec
}

func randomValue(t *rapid.T, f *records.Field) any {
	switch f.Kind {
	case records.Int:
		return rapid.Int64().Draw(t, f.Name)
	case records.Float:
		return rapid.Float64().Draw(t, f.Name)
	case records.Bool:
		return rapid.Bool().Draw(t, f.Name)
	case records.Time:
		return time.UnixMicro(rapid.Int64Range(0, 1<<50).Draw(t, f.Name)).UTC()
	case records.Object:
		return records.Changes{"a<b": {Before: nil, After: rapid.String().Draw(t, f.Name)}}
	}
	return rapid.String().Draw(t, f.Name)
}

// TestEncodedFields checks that hidden and secret fields are never shown.
func TestEncodedFields(t *testing.T) {
	t.Parallel()
	var got map[string]any
	u := &inventory.User{Username: "jane", Password: "a", PasswordHash: "b", Epoch: 7, UsernameKey: "jane"}
	ok(t, json.Unmarshal(of(t, u).Append(nil, u), &got))
	for _, name := range []string{"password", "password_hash", "reset_hash", "reset_expires_at", "epoch", "username_key"} {
		if _, there := got[name]; there {
			t.Errorf("%s is shown", name)
		}
	}
	if len(got) != 16 {
		t.Errorf("a user shows %d fields: %v", len(got), got)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a", `"\`, "\x00\x1f\x7f", "\b\f\n\r\t", "<&>", "é\u2028\u2029", "\xff\xe2\x80", "𝄞", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(encode.String(nil, s)), asJSON(t, s); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	})
}

func FuzzFloat(f *testing.F) {
	for _, seed := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e-6, 9.9e-7, 1e-9, 1e-10, 1e20, 1e21, -1e21, 1e300, 5e-324, math.MaxFloat64} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			t.Skip("no record has such a number")
		}
		if got, want := string(encode.Float(nil, n)), asJSON(t, n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	})
}

// TestEncoderAllocates checks that encoding a record does not allocate.
func TestEncoderAllocates(t *testing.T) {
	rec := described()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	rec.LastSeen = &at
	e, out := of(t, rec), make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { out = e.Append(out[:0], rec) }); n != 0 {
		t.Errorf("%v allocations for %s", n, out)
	}
	var back inventory.Device
	ok(t, json.Unmarshal(out, &back))
	if !reflect.DeepEqual(&back, rec) {
		t.Errorf("%s is read as %+v", out, back)
	}
}

// BenchmarkEncode measures the encoder alone.
func BenchmarkEncode(b *testing.B) {
	rec := described()
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		var out []byte
		e := of(b, rec)
		for b.Loop() {
			out = e.Append(out[:0], rec)
		}
	})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		encoder := json.NewEncoder(io.Discard)
		for b.Loop() {
			ok(b, encoder.Encode(rec))
		}
	})
}

// described returns a device with a value in most fields.
func described() *inventory.Device {
	return &inventory.Device{
		Hostname: "core-1", IP: "192.0.2.1", Model: "QFX5120-48Y", Vendor: "Juniper", OS: "Junos", OSVersion: "23.4R2",
		Status: inventory.DeviceActive, Role: "core", SerialNumber: "XR0123456789", RackPosition: "R12 U40",
		Tags: []string{"backbone", "ring-1"}, Notes: "Behind the door.\nRing twice.",
	}
}
