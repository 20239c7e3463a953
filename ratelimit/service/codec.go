package service

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec for all other messages
	"google.golang.org/grpc/mem"
)

// Codec returns a codec for a gRPC server that decodes rate limit requests
// straight into the engine's own, and writes the answers from its decisions. All
// other messages are left to the ordinary codec, and so is a request that holds
// anything out of the ordinary, so what clients see is the same with and without.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

type codec struct{ encoding.CodecV2 }

// wireRequest is a request on its way in. To every other codec it is the generated
// type that it embeds.
type wireRequest struct {
	ratelimitv3.RateLimitRequest
	call    *call
	decoded bool       // into call
	err     error      // why the request is not even looked at
	buffer  mem.Buffer // holds the call's strings; nil or to be freed after the call
}

// free ends the life of the call's strings.
func (in *wireRequest) free(s *Service) {
	s.release(in.call)
	if in.buffer != nil {
		in.buffer.Free()
	}
}

// wireResponse is an encoded answer on its way out.
type wireResponse []byte

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*wireRequest)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	if in.call.decode(buffer.ReadOnlyData()) {
		in.decoded, in.buffer = true, buffer
		return nil
	}
	in.err = oversized(buffer.ReadOnlyData(), in.call.most)
	buffer.Free()
	in.call.reset()
	if in.err != nil {
		return nil // the handler makes a proper answer of it
	}
	return c.CodecV2.Unmarshal(data, &in.RateLimitRequest)
}

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if out, ok := v.(wireResponse); ok {
		return mem.BufferSlice{mem.SliceBuffer(out)}, nil
	}
	return c.CodecV2.Marshal(v)
}
