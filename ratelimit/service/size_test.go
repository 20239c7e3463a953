package service_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

func many(descriptors, entries int) *ratelimitv3.RateLimitRequest {
	in := &ratelimitv3.RateLimitRequest{Domain: "d"}
	for range descriptors {
		d := &commonv3.RateLimitDescriptor{}
		for range entries {
			d.Entries = append(d.Entries, entry("client", "a"))
		}
		in.Descriptors = append(in.Descriptors, d)
	}
	return in
}

func TestRequestsOfManyParts(t *testing.T) {
	odd := many(4, 1) // is decoded by the generated code
	odd.ProtoReflect().SetUnknown([]byte{0x7a, 1, 'x'})
	for _, setup := range setups() {
		t.Run(setup.name, func(t *testing.T) {
			client := setup.start(t, service.New(newEngine(t, nil, nil), &service.Options{MaxDescriptors: 3}))
			for _, c := range []struct {
				in      *ratelimitv3.RateLimitRequest
				message string // empty if the request is accepted
			}{
				{many(3, 1), ""},
				{many(1, ratelimit.MaxDepth), ""},
				{many(2, ratelimit.MaxDepth), "descriptors: too many entries"},
				{many(4, 1), "at most 3"},
				{odd, "at most 3"},
				{many(2, ratelimit.MaxDepth+1), "descriptors[0].entries: "},
			} {
				_, err := client.ShouldRateLimit(t.Context(), c.in)
				if c.message == "" {
					require.NoError(t, err)
					continue
				}
				require.Equal(t, codes.InvalidArgument, status.Code(err))
				require.Contains(t, status.Convert(err).Message(), c.message)
			}
		})
	}
	h := service.New(newEngine(t, nil, nil), &service.Options{MaxDescriptors: 3}).JSON()
	w := post(h, `{"domain":"d","descriptors":[{},{},{},{}]}`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "at most 3")
	w = post(h, `{"domain":"d","descriptors":[{"entries":[`+strings.Repeat(`{},`, 60)+`{}]}]}`)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), "at most 48")
}

// Two million empty elements fit into one message of 4 MiB. Decoding must not allocate an
// object for each.
func TestMessageOfEmptyParts(t *testing.T) {
	parts := []byte(strings.Repeat("\x12\x00", 2_000_000))
	inner := []byte{0x12, 0x80, 0x89, 0x7a} // one descriptor of 2,000,000 bytes
	inner = append(inner, strings.Repeat("\x0a\x00", 1_000_000)...)
	setup := setups()[2]
	require.Equal(t, "own with codec", setup.name)
	g := grpc.NewServer(setup.options...)
	setup.register(service.New(newEngine(t, nil, nil), nil), g)
	conn := serve(t, g)
	for _, body := range [][]byte{parts, append([]byte{0x7a, 0}, parts...), inner, append([]byte{0x7a, 0}, inner...)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var out ratelimitv3.RateLimitResponse
		err := conn.Invoke(t.Context(), ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName, rawMessage(body), &out, grpc.ForceCodec(rawCodec{}))
		runtime.ReadMemStats(&after)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
		used := after.TotalAlloc - before.TotalAlloc
		require.Less(t, used, uint64(40<<20), "a message of %d bytes made %d bytes of memory", len(body), used)
	}
}

// rawMessage is sent unchanged.
type rawMessage []byte

type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)   { return v.(rawMessage), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { return proto.Unmarshal(b, v.(proto.Message)) }
func (rawCodec) Name() string                    { return "proto" }
