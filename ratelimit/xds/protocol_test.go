package xds_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// pack returns a resource as it is sent.
func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	out, err := anypb.New(m)
	require.NoError(t, err)
	return out
}

func response(version string, resources ...*anypb.Any) *discoveryv3.DiscoveryResponse {
	return &discoveryv3.DiscoveryResponse{VersionInfo: version, Nonce: "nonce of " + version, TypeUrl: xds.TypeURL, Resources: resources}
}

// conversation is an ADS server that sends given responses and records requests.
type conversation struct {
	send chan *discoveryv3.DiscoveryResponse
	got  chan *discoveryv3.DiscoveryRequest
}

func newConversation() *conversation {
	return &conversation{
		send: make(chan *discoveryv3.DiscoveryResponse),
		got:  make(chan *discoveryv3.DiscoveryRequest, 10_000),
	}
}

func (c *conversation) server() scripted {
	return scripted{talk: func(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			for {
				in, err := s.Recv()
				if err != nil {
					return
				}
				c.got <- in
			}
		})
		for {
			select {
			case out := <-c.send:
				if err := s.Send(out); err != nil {
					return err
				}
			case <-s.Context().Done():
				return nil
			}
		}
	}}
}

func (c *conversation) respond(t *testing.T, out *discoveryv3.DiscoveryResponse) {
	t.Helper()
	select {
	case c.send <- out:
	case <-time.After(timeout):
		require.FailNow(t, "there is no stream")
	}
}

func TestUndecodableResourcesAreRejected(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, want string
		resource   *anypb.Any
	}{
		{
			"no protocol buffer", "decoded",
			&anypb.Any{TypeUrl: xds.TypeURL, Value: []byte{0xff}},
		},
		{
			"not UTF-8", "decoded",
			&anypb.Any{TypeUrl: xds.TypeURL, Value: []byte{0x0a, 1, 0xff}},
		},
		{
			"another type", "DiscoveryRequest",
			pack(t, &discoveryv3.DiscoveryRequest{}),
		},
		{
			"no type", "type ''",
			&anypb.Any{},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newConversation()
			addr, _ := serve(t, "127.0.0.1:0", server.server())
			r := start(t, addr, nil)
			receive(t, server.got, "first request")
			good := pack(t, domain("mongo"))
			server.respond(t, response("v1", good, c.resource))
			rejected := receive(t, server.got, "rejection")
			require.Equal(t, "nonce of v1", rejected.GetResponseNonce())
			require.Empty(t, rejected.GetVersionInfo(), "nothing is in use")
			text := rejected.GetErrorDetail().GetMessage()
			require.Regexp(t, `^resources\[1\]: .*`+c.want, text)
			require.NotContains(t, text, "\n", "one fault, no echo of it")
			require.Equal(t, []string{"mongo"}, r.update(t).Resources, "the other one is used")

			server.respond(t, response("v2", good))
			require.Equal(t, "v2", r.update(t).Version)
			require.Equal(t, "v2", receive(t, server.got, "acknowledgement").GetVersionInfo())
		})
	}
}

// The type URL may have any prefix, and that of a response may be empty.
func TestTypeURLs(t *testing.T) {
	t.Parallel()
	server := newConversation()
	addr, _ := serve(t, "127.0.0.1:0", server.server())
	r := start(t, addr, nil)
	resource := pack(t, domain("mongo"))
	resource.TypeUrl = "example.com/types/ratelimit.config.ratelimit.v3.RateLimitConfig"
	for version, url := range map[string]string{"v1": "", "v2": resource.GetTypeUrl()} {
		out := response(version, resource)
		out.TypeUrl = url
		server.respond(t, out)
		require.Equal(t, version, r.update(t).Version)
	}
}

// A response of a type that was not requested must be neither acknowledged nor rejected:
// servers interpret both as a subscription.
func TestOtherTypesAreIgnored(t *testing.T) {
	t.Parallel()
	server := newConversation()
	addr, _ := serve(t, "127.0.0.1:0", server.server())
	log := new(logtest.Log)
	r := start(t, addr, &xds.Options{Log: log.Logger()})
	receive(t, server.got, "first request")
	other := response("v1", pack(t, domain("mongo")))
	other.TypeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	server.respond(t, other)
	server.respond(t, response("v2"))
	require.Equal(t, "v2", r.update(t).Version)
	require.Equal(t, "nonce of v2", receive(t, server.got, "request").GetResponseNonce())
	require.Contains(t, log.String(), other.GetTypeUrl())
}

// The control plane library responds to each rejection with the same update.
func TestRepeatedRejectionIsReportedOnce(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo", bad("user")))
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, nil)
	rejection(t, r)
	for range 3 {
		server.rejected()
	}
	require.Empty(t, r.failures)

	server.set("v2", domain("mongo"))
	require.Equal(t, "v2", r.update(t).Version)
	server.set("v3", domain("mongo", bad("user")))
	require.Equal(t, "v3", rejection(t, r).Version)
}

// Repeated rejections are delayed.
func TestRejectionsAreDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gaps []time.Duration
		wrong, right := response("v", pack(t, domain("mongo", bad("user")))), response("w")
		l, stop := serveInBubble(func(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
			for len(gaps) < 15 {
				began := time.Now()
				if _, err := s.Recv(); err != nil {
					return err
				}
				gaps = append(gaps, time.Since(began))
				out := wrong
				if len(gaps) == 12 {
					out = right
				}
				if err := s.Send(out); err != nil {
					return err
				}
			}
			return nil
		})
		defer stop()
		bubble(t, inPipe(xds.Options{}, l.dial), &[]*xds.Update{}, func(failures <-chan error) {
			require.IsType(t, &xds.RejectedError{}, <-failures)
			require.IsType(t, &xds.RejectedError{}, <-failures, "after one that was good")
			require.NotErrorAs(t, <-failures, new(*xds.RejectedError), "at the end")
		})
		require.Equal(t, "[0s 0s 100ms 200ms 400ms 800ms 1.6s 3.2s 6.4s 10s 10s 10s 0s 100ms 100ms]", text(gaps))
	})
}

func TestServerEndsStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		end        error
	}{
		{"orderly", "the server ended the stream", nil},
		{"with an error", "code = PermissionDenied desc = who? are?you", status.Error(codes.PermissionDenied, "who? are\nyou")},
		{"at its own limit", "code = ResourceExhausted desc = too many", status.Error(codes.ResourceExhausted, "too many")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			addr, _ := serve(t, "127.0.0.1:0", scripted{
				talk: func(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error { return c.end },
			})
			r := start(t, addr, quick())
			err := connectionFailure(t, r)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), "MAX_MSG_SIZE")
			require.Contains(t, err.Error(), "configuration server "+addr+": ")
			if c.end != nil {
				require.Equal(t, status.Code(c.end), status.Code(err))
			}
		})
	}
}

// The detail of a rejection has whole lines and the number of omitted lines.
func TestDetailIsBounded(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	broken := domain("mongo")
	for range 5000 {
		broken.Descriptors = append(broken.Descriptors, bad(""))
	}
	server.set("v1", broken)
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, nil)
	text := server.rejected().GetErrorDetail().GetMessage()
	require.Less(t, len(text), 10<<10)
	lines := strings.Split(text, "\n")
	shown := len(lines) - 1
	var faults config.Faults
	require.ErrorAs(t, rejection(t, r), &faults)
	require.Equal(t, faults[shown-1].Error(), lines[shown-1])
	require.Regexp(t, `^and \d+ more$`, lines[shown])
	require.Equal(t, len(faults)-shown, number(t, lines[shown]))
}

func TestLongDetailWithoutLines(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1")
	addr, _ := server.serve("127.0.0.1:0")
	client, err := xds.New(addr, &xds.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		client.Run(ctx, func(*xds.Update) error { return errors.New(strings.Repeat("ü", 10_000)) }, nil)
	})
	defer wg.Wait()
	defer cancel()
	text := server.rejected().GetErrorDetail().GetMessage()
	require.Equal(t, strings.Repeat("ü", 4<<10)+"...", text)
}

func contains(l *logtest.Log, what string) bool { return strings.Contains(l.String(), what) }
