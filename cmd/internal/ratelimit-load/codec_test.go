package main

import (
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

func TestOverallCode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		response []byte
		want     ratelimitv3.RateLimitResponse_Code
	}{
		"empty is UNKNOWN":        {nil, 0},
		"first field":             {[]byte{0x08, 2}, 2},
		"after a status":          {[]byte{0x12, 2, 0x08, 1, 0x08, 2}, 2},
		"the last one counts":     {[]byte{0x08, 2, 0x08, 1}, 1},
		"unknown fields, a group": {[]byte{0xfb, 0x01, 0x08, 2, 0xfc, 0x01, 0x08, 1}, 1},
		"of another wire type":    {[]byte{0x0d, 2, 0, 0, 0}, 0},
	} {
		got, err := overallCode(tc.response)
		require.NoError(t, err, name)
		assert.Equal(t, tc.want, got, name)
	}
	for name, response := range map[string][]byte{
		"cut tag":    {0x80},
		"cut varint": {0x08},
		"cut status": {0x08, 1, 0x12, 9, 0},
		"field zero": {0x00, 0x00},
	} {
		_, err := overallCode(response)
		assert.ErrorContains(t, err, "malformed RateLimitResponse at byte", name)
	}
}

// FuzzOverallCode checks that what the generated code can read we read the same,
// and that what we refuse it refuses. It may refuse more: we do not parse its contents.
func FuzzOverallCode(f *testing.F) {
	full, err := proto.Marshal(baselineResponse)
	require.NoError(f, err)
	f.Add(full)
	f.Add([]byte{0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{0xfb, 0x01, 0x08, 2, 0xfc, 0x01, 0x08, 1})
	f.Fuzz(func(t *testing.T, response []byte) {
		code, err := overallCode(response)
		var generated ratelimitv3.RateLimitResponse
		switch failed := proto.Unmarshal(response, &generated); {
		case failed == nil && err != nil:
			t.Fatalf("refused %x, which the generated code reads: %v", response, err)
		case failed == nil && code != generated.GetOverallCode():
			t.Fatalf("%x: code %v, the generated code reads %v", response, code, generated.GetOverallCode())
		}
	})
}

func TestCodec(t *testing.T) {
	t.Parallel()
	x := &exchange{request: []byte{1, 2, 3}}
	data, err := byteCodec{}.Marshal(x)
	require.NoError(t, err)
	assert.Equal(t, x.request, data.Materialize())

	scattered := mem.BufferSlice{mem.SliceBuffer{0x08}, mem.SliceBuffer{0x02}}
	require.NoError(t, byteCodec{}.Unmarshal(scattered, x))
	assert.Equal(t, ratelimitv3.RateLimitResponse_OVER_LIMIT, x.code)

	_, err = byteCodec{}.Marshal("text")
	assert.ErrorContains(t, err, "marshal string: want *exchange")
	assert.ErrorContains(t, byteCodec{}.Unmarshal(nil, 1), "unmarshal int: want *exchange")
}
