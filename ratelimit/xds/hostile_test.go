package xds_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// TestHostileServer: a server that sends without an end costs a few loads and log records a second, and the client stops when
// it shall. What it sends that is no configuration is rejected, or fails the stream, and what is in use stays.
//
// An operator sees it by the warning "responses of the stream are ignored" and by the failures that the client reports.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	good := func(n int) *discoveryv3.DiscoveryResponse {
		return response(fmt.Sprint(n), pack(t, domain("a", perMinute("k", uint32(n+1)))))
	}
	names := make([]*anypb.Any, 100_000)
	for i := range names {
		names[i] = &anypb.Any{TypeUrl: xds.TypeURL, Value: []byte{0x0a, 1, 'x'}}
	}
	for name, send := range map[string]func(n int) *discoveryv3.DiscoveryResponse{
		"another version each":  good,
		"versions that go back": func(n int) *discoveryv3.DiscoveryResponse { return good(1000 - n%1000) },
		"another type": func(n int) *discoveryv3.DiscoveryResponse {
			return &discoveryv3.DiscoveryResponse{TypeUrl: "type.googleapis.com/" + strings.Repeat("x", 1000), Nonce: fmt.Sprint(n)}
		},
		"resources of another type": func(n int) *discoveryv3.DiscoveryResponse {
			return response(fmt.Sprint(n), pack(t, &discoveryv3.Resource{}))
		},
		"bytes that are no message": func(n int) *discoveryv3.DiscoveryResponse {
			return response(fmt.Sprint(n), &anypb.Any{TypeUrl: xds.TypeURL, Value: []byte{0xff, 0xff, 0xff}})
		},
		"100,000 resources of one name": func(n int) *discoveryv3.DiscoveryResponse { return response(fmt.Sprint(n), names...) },
		"a rule 1,000 levels deep": func(n int) *discoveryv3.DiscoveryResponse {
			rule := perMinute("k", 1)
			for range 1000 {
				rule = &ratelimitv3.RateLimitDescriptor{Key: "k", Descriptors: []*ratelimitv3.RateLimitDescriptor{rule}}
			}
			return response(fmt.Sprint(n), pack(t, domain("a", rule)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := new(logtest.Log)
			first := good(0)
			at, _ := serve(t, address(t), scripted{talk: func(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
				if err := s.Send(first); err != nil {
					return err
				}
				for n := 1; ; n++ {
					if err := s.Send(send(n)); err != nil {
						return err
					}
				}
			}})
			opts := new(xds.Options)
			opts.Log = log.Logger()
			r := start(t, at, opts)
			require.Equal(t, []string{"a"}, r.update(t).Resources)
			began := time.Now()
			time.Sleep(time.Second)
			seconds := int(time.Since(began).Seconds()) + 1
			require.LessOrEqual(t, len(r.updates)+len(r.failures), 15*seconds)
			require.LessOrEqual(t, log.Count("\n"), 15*seconds)
			r.stop()
		})
	}
}
