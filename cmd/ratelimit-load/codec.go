package main

import (
	"fmt"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// An exchange is what one call sends and what it gets: the request as bytes, and
// of the answer nothing but the decision. A worker uses one for all its calls.
type exchange struct {
	request []byte
	code    ratelimitv3.RateLimitResponse_Code
}

// byteCodec is the gRPC codec of exchanges. It hands prepared bytes through and
// reads one field of the answer, so that the generator spends its time in the
// transport, where the service under load spends it too.
type byteCodec struct{}

// Name is that of the ordinary codec: what goes over the wire is the same.
func (byteCodec) Name() string { return "proto" }

// Marshal hands the prepared request to the transport, uncopied.
func (byteCodec) Marshal(v any) (mem.BufferSlice, error) {
	x, ok := v.(*exchange)
	if !ok {
		return nil, fmt.Errorf("marshal %T: want *exchange", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(x.request)}, nil
}

// Unmarshal reads the decision out of an answer.
func (byteCodec) Unmarshal(data mem.BufferSlice, v any) error {
	x, ok := v.(*exchange)
	if !ok {
		return fmt.Errorf("unmarshal %T: want *exchange", v)
	}
	answer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer answer.Free()
	code, err := overallCode(answer.ReadOnlyData())
	x.code = code
	return err
}

// overallCodeField is the number of RateLimitResponse.overall_code.
const overallCodeField = 1

// overallCode walks over the fields of an encoded RateLimitResponse and returns
// its overall_code: UNKNOWN if it has none, and the last if it has several, as
// the encoding demands. All other fields are skipped by their length.
func overallCode(answer []byte) (ratelimitv3.RateLimitResponse_Code, error) {
	var code ratelimitv3.RateLimitResponse_Code
	for rest := answer; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return 0, malformed(answer, rest, n)
		}
		value := rest[n:]
		size := protowire.ConsumeFieldValue(number, kind, value)
		if size < 0 {
			return 0, malformed(answer, value, size)
		}
		if number == overallCodeField && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(value)
			code = ratelimitv3.RateLimitResponse_Code(v)
		}
		rest = value[size:]
	}
	return code, nil
}

func malformed(answer, rest []byte, n int) error {
	return fmt.Errorf("malformed RateLimitResponse at byte %d of %d: %w", len(answer)-len(rest), len(answer), protowire.ParseError(n))
}
