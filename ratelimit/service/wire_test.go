package service_test

import (
	"reflect"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

func entry(key, value string) *commonv3.RateLimitDescriptor_Entry {
	return &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value}
}

// samples are requests with every field that the decoder supports, and some that it leaves
// to the generated code.
func samples() map[string]*ratelimitv3.RateLimitRequest {
	override := func(n uint32, unit typev3.RateLimitUnit) *commonv3.RateLimitDescriptor_RateLimitOverride {
		return &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: n, Unit: unit}
	}
	one := func(d *commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitRequest {
		return &ratelimitv3.RateLimitRequest{Domain: "d", Descriptors: []*commonv3.RateLimitDescriptor{d}}
	}
	multiplied := func(n uint32) *commonv3.RateLimitDescriptor {
		limit := override(1, 1)
		limit.UnitMultiplier = wrapperspb.UInt32(n)
		return &commonv3.RateLimitDescriptor{Limit: limit}
	}
	return map[string]*ratelimitv3.RateLimitRequest{
		"empty":        {},
		"domain":       {Domain: "mongo_cps"},
		"hits":         {Domain: "d", HitsAddend: 7},
		"entries":      one(&commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{entry("a", "b"), entry("c", "")}}),
		"no entries":   one(&commonv3.RateLimitDescriptor{}),
		"override":     one(&commonv3.RateLimitDescriptor{Limit: override(42, typev3.RateLimitUnit_HOUR)}),
		"week":         one(&commonv3.RateLimitDescriptor{Limit: override(42, 7)}),
		"peek":         one(&commonv3.RateLimitDescriptor{HitsAddend: wrapperspb.UInt64(0)}),
		"many hits":    one(&commonv3.RateLimitDescriptor{HitsAddend: wrapperspb.UInt64(1<<64 - 1)}),
		"bad unit":     one(&commonv3.RateLimitDescriptor{Limit: override(1, 257)}),
		"no unit":      one(&commonv3.RateLimitDescriptor{Limit: override(1, 0)}),
		"minus unit":   one(&commonv3.RateLimitDescriptor{Limit: override(1, -1)}),
		"negative":     one(&commonv3.RateLimitDescriptor{IsNegativeHits: true, HitsAddend: wrapperspb.UInt64(2)}),
		"multiplier":   one(multiplied(30)),
		"multiplier 0": one(multiplied(0)),
		"long window":  one(multiplied(ratelimit.MaxWindow + 1)),
		"several": {Domain: "d", HitsAddend: 3, Descriptors: []*commonv3.RateLimitDescriptor{
			{Entries: []*commonv3.RateLimitDescriptor_Entry{entry("k", "v")}, HitsAddend: wrapperspb.UInt64(5)},
			{Entries: []*commonv3.RateLimitDescriptor_Entry{entry("ключ", "值")}, Limit: override(1, 2)},
		}},
	}
}

// left are the samples that the decoder is expected to leave to the generated code.
var left = map[string]bool{"bad unit": true, "no unit": true, "minus unit": true, "multiplier": true, "multiplier 0": true, "long window": true}

func TestDecodeAgreesWithGeneratedCode(t *testing.T) {
	for name, in := range samples() {
		b, err := proto.Marshal(in)
		require.NoError(t, err)
		got, ok := service.Decode(b)
		if left[name] {
			require.False(t, ok, "%s: the fast decoder took what it does not know", name)
			continue
		}
		require.True(t, ok, "%s: the fast decoder gave up on an ordinary request", name)
		want, err := service.Convert(in)
		require.NoError(t, err)
		requireSame(t, want, got, name)
	}
}

// requireSame compares requests. An empty list equals nil.
func requireSame(t *testing.T, want, got ratelimit.Request, name string) {
	t.Helper()
	norm := func(r *ratelimit.Request) {
		if len(r.Descriptors) == 0 {
			r.Descriptors = nil
		}
		for i := range r.Descriptors {
			if len(r.Descriptors[i].Entries) == 0 {
				r.Descriptors[i].Entries = nil
			}
		}
	}
	norm(&want)
	norm(&got)
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: the decoders disagree\ngenerated: %+v\nfast:      %+v", name, want, got)
	}
}

// addSamples seeds a fuzz target with the samples and with bytes close to them.
func addSamples(f *testing.F) {
	for _, in := range samples() {
		b, err := proto.Marshal(in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(append(b, b...))             // every field twice
		f.Add(append(b, 0x22, 1, 'x'))     // an unknown field
		f.Add(append(b, 0x0a, 2, 0xff, 1)) // a domain that is not UTF-8
		f.Add(b[:len(b)/2])
	}
}

// FuzzDecode checks that the generated code accepts whatever the fast decoder accepts, with
// the same result.
func FuzzDecode(f *testing.F) {
	addSamples(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := service.Decode(b)
		if !ok {
			return
		}
		in := new(ratelimitv3.RateLimitRequest)
		if err := proto.Unmarshal(b, in); err != nil {
			t.Fatalf("the generated code refuses what the fast decoder took: %v\n% x", err, b)
		}
		want, err := service.Convert(in)
		if err != nil {
			t.Fatalf("the converter refuses what the fast decoder took: %v\n% x", err, b)
		}
		requireSame(t, want, got, "fuzzed")
	})
}

func statuses() *rapid.Generator[ratelimit.Status] {
	return rapid.Custom(func(t *rapid.T) ratelimit.Status {
		s := ratelimit.Status{
			Code:      ratelimit.Code(rapid.IntRange(0, 2).Draw(t, "code")),
			Remaining: rapid.Uint32().Draw(t, "remaining"),
		}
		if s.Limited = rapid.Bool().Draw(t, "limited"); s.Limited {
			s.RequestsPerUnit = rapid.Uint32().Draw(t, "requests")
			s.Unit = ratelimit.Unit(rapid.IntRange(1, 7).Draw(t, "unit"))
			s.UnitMultiplier = rapid.Uint32().Draw(t, "multiplier")
			s.Name = rapid.StringN(0, 40, 200).Draw(t, "name")
			s.ResetSeconds = rapid.Uint32Range(0, 31536000).Draw(t, "reset")
		}
		return s
	})
}

// The encoder writes the same bytes as the generated code.
func TestEncodeAgreesWithGeneratedCode(t *testing.T) {
	plain := service.New(nil, nil)
	withHeaders := service.New(nil, &service.Options{Headers: &ratelimit.HeaderNames{Reset: "X-Reset"}})
	all := service.New(nil, &service.Options{AllHeaders: true, Headers: &ratelimit.HeaderNames{}, RequestHeaders: &ratelimit.HeaderNames{Limit: "X-Limit"}})
	rapid.Check(t, func(t *rapid.T) {
		d := &ratelimit.Decision{
			Code:     ratelimit.Code(rapid.IntRange(0, 2).Draw(t, "overall")),
			Statuses: rapid.SliceOfN(statuses(), 0, 6).Draw(t, "statuses"),
		}
		for _, s := range []*service.Service{plain, withHeaders, all} {
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.Response(d))
			require.NoError(t, err)
			require.Equal(t, want, s.Encode(d))
		}
	})
}

func TestHeadersTellTheTightestLimit(t *testing.T) {
	s := service.New(nil, &service.Options{Headers: &ratelimit.HeaderNames{Limit: "X-Limit"}})
	d := &ratelimit.Decision{Statuses: []ratelimit.Status{
		{Code: ratelimit.OK, Limited: true, RequestsPerUnit: 100, Unit: ratelimit.Hour, Remaining: 70, ResetSeconds: 1800},
		{Code: ratelimit.OK, Limited: true, RequestsPerUnit: 5, Unit: ratelimit.Minute, Remaining: 2, ResetSeconds: 30},
		{Code: ratelimit.OK},
	}}
	got := s.Response(d).GetResponseHeadersToAdd()
	want := []*corev3.HeaderValue{
		{Key: "X-Limit", Value: "5"},
		{Key: "RateLimit-Remaining", Value: "2"},
		{Key: "RateLimit-Reset", Value: "30"},
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, proto.Equal(want[i], got[i]), "header %d: got %v, want %v", i, got[i], want[i])
	}
	require.Empty(t, s.Response(&ratelimit.Decision{Statuses: []ratelimit.Status{{Code: ratelimit.OK}}}).GetResponseHeadersToAdd(),
		"no header where no limit was applied")

	// The limits of all descriptors, and the tightest one for the upstream.
	d.Statuses[0].UnitMultiplier = 12
	s = service.New(nil, &service.Options{AllHeaders: true, RequestHeaders: &ratelimit.HeaderNames{Limit: "X-Limit"}})
	text := func(headers []*corev3.HeaderValue) (all string) {
		for _, h := range headers {
			all += h.GetKey() + "=" + h.GetValue() + " "
		}
		return all
	}
	require.Equal(t, "ratelimit-limit-12-hours=100 ratelimit-remaining-12-hours=70 ratelimit-limit-minutes=5 ratelimit-remaining-minutes=2 ",
		text(s.Response(d).GetResponseHeadersToAdd()))
	require.Equal(t, "X-Limit=5 RateLimit-Remaining=2 RateLimit-Reset=30 ", text(s.Response(d).GetRequestHeadersToAdd()))
}
