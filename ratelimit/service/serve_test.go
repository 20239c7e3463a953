package service_test

import (
	"context"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler calls a service as a gRPC server does, without a server.
type handler struct {
	codec encoding.CodecV2
	desc  *grpc.ServiceDesc
	impl  any
}

func newHandler(s *service.Service) *handler {
	h := &handler{codec: service.Codec()}
	s.Register(h)
	return h
}

// RegisterService implements grpc.ServiceRegistrar.
func (h *handler) RegisterService(desc *grpc.ServiceDesc, impl any) { h.desc, h.impl = desc, impl }

// call returns the response to the bytes of a request.
func (h *handler) call(in []byte) (*ratelimitv3.RateLimitResponse, error) {
	decode := func(v any) error { return h.codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(in)}, v) }
	reply, err := h.desc.Methods[0].Handler(h.impl, context.Background(), decode, nil)
	if err != nil {
		return nil, err
	}
	encoded, err := h.codec.Marshal(reply)
	if err != nil {
		return nil, err
	}
	defer encoded.Free()
	out := new(ratelimitv3.RateLimitResponse)
	return out, proto.Unmarshal(encoded.Materialize(), out)
}

// FuzzServe checks that a call with any bytes ends with a response or a documented error,
// and that the generated types lead to the same result.
func FuzzServe(f *testing.F) {
	addSamples(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := newHandler(service.New(newEngine(t, nil, nil), nil)).call(b)
		in := new(ratelimitv3.RateLimitRequest)
		if parseErr := proto.Unmarshal(b, in); parseErr != nil {
			require.Error(t, err, "bytes that are not a request were accepted")
			return
		}
		want, wantErr := service.New(newEngine(t, nil, nil), nil).ShouldRateLimit(t.Context(), in)
		requireSameAnswer(t, want, wantErr, got, err)
		if code := status.Code(err); code != codes.OK && code != codes.InvalidArgument {
			t.Fatalf("status %v for a request of the protocol: %v", code, err)
		}
	})
}

func requireSameAnswer(t require.TestingT, want *ratelimitv3.RateLimitResponse, wantErr error, got *ratelimitv3.RateLimitResponse, err error) {
	require.Equal(t, status.Code(wantErr), status.Code(err), "want %v, got %v", wantErr, err)
	require.Equal(t, status.Convert(wantErr).Message(), status.Convert(err).Message())
	if wantErr == nil {
		require.True(t, proto.Equal(want, got), "codec and generated types lead to different responses:\nwant %v\ngot  %v", want, got)
	}
}

// requests draws any valid message: known and unknown domains and clients,
// overrides with any unit, hits of any size.
func requests() *rapid.Generator[*ratelimitv3.RateLimitRequest] {
	text := rapid.SampledFrom([]string{"", "d", "client", "free", "a", "b", "é", "x_y", "*"})
	return rapid.Custom(func(t *rapid.T) *ratelimitv3.RateLimitRequest {
		in := &ratelimitv3.RateLimitRequest{
			Domain:     rapid.SampledFrom([]string{"d", "d", "d", "", "other"}).Draw(t, "domain"),
			HitsAddend: rapid.SampledFrom([]uint32{0, 1, 2, 1<<32 - 1}).Draw(t, "hits"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "descriptors") {
			d := &commonv3.RateLimitDescriptor{IsNegativeHits: rapid.IntRange(0, 3).Draw(t, "negative") == 0}
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				d.Entries = append(d.Entries, entry(text.Draw(t, "key"), text.Draw(t, "value")))
			}
			if rapid.IntRange(0, 3).Draw(t, "has limit") == 0 {
				d.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{
					RequestsPerUnit: rapid.SampledFrom([]uint32{0, 1, 3, 1<<32 - 1}).Draw(t, "requests"),
					Unit:            typev3.RateLimitUnit(rapid.SampledFrom([]int32{1, 2, 3, 4, 5, 6, 7, 0, 8, 256, 257, 1000, -1, -1 << 31}).Draw(t, "unit")),
				}
			}
			if rapid.IntRange(0, 2).Draw(t, "has hits") == 0 {
				d.HitsAddend = wrapperspb.UInt64(rapid.SampledFrom([]uint64{0, 1, 5, 1 << 62, 1<<64 - 1}).Draw(t, "own hits"))
			}
			in.Descriptors = append(in.Descriptors, d)
		}
		return in
	})
}

// A sequence of valid messages has the same responses through the codec as through the
// generated types.
func TestBothWaysAnswerTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fast := newHandler(service.New(newEngine(t, nil, nil), nil))
		plain := service.New(newEngine(t, nil, nil), nil)
		for _, in := range rapid.SliceOfN(requests(), 1, 12).Draw(rt, "requests") {
			b, err := proto.Marshal(in)
			require.NoError(rt, err)
			got, err := fast.call(b)
			want, wantErr := plain.ShouldRateLimit(t.Context(), in)
			requireSameAnswer(rt, want, wantErr, got, err)
		}
	})
}
