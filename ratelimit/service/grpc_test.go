package service_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

func ask(client string) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: "d", Descriptors: []*commonv3.RateLimitDescriptor{
		{Entries: []*commonv3.RateLimitDescriptor_Entry{entry("client", client)}},
	}}
}

func requireJSON(t *testing.T, want string, got proto.Message) {
	t.Helper()
	text, err := protojson.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, want, string(text))
}

func TestDecisionsOverGRPC(t *testing.T) {
	for _, setup := range setups() {
		t.Run(setup.name, func(t *testing.T) {
			client := setup.start(t, service.New(newEngine(t, nil, nil), nil))
			call := func(in *ratelimitv3.RateLimitRequest) *ratelimitv3.RateLimitResponse {
				out, err := client.ShouldRateLimit(t.Context(), in)
				require.NoError(t, err)
				return out
			}
			requireJSON(t, `{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"name":"per-client","requestsPerUnit":2,"unit":"MINUTE"},"limitRemaining":1,"durationUntilReset":"45s"}]}`, call(ask("a")))
			requireJSON(t, `{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"name":"per-client","requestsPerUnit":2,"unit":"MINUTE"},"durationUntilReset":"45s"}]}`, call(ask("a")))
			requireJSON(t, `{"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":{"name":"per-client","requestsPerUnit":2,"unit":"MINUTE"},"durationUntilReset":"45s"}]}`, call(ask("a")))
			requireJSON(t, `{"overallCode":"OK","statuses":[{"code":"OK","limitRemaining":4294967295}]}`, call(ask("free")))
			nowhere := ask("a")
			nowhere.Domain = "nowhere"
			requireJSON(t, `{"overallCode":"OK","statuses":[{"code":"OK"}]}`, call(nowhere))

			// The codec leaves a request with an unknown field to the generated code.
			odd := ask("odd")
			odd.ProtoReflect().SetUnknown([]byte{0x7a, 1, 'x'})
			requireJSON(t, `{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"name":"per-client","requestsPerUnit":2,"unit":"MINUTE"},"limitRemaining":1,"durationUntilReset":"45s"}]}`, call(odd))
		})
	}
}

// negative is ask with hits to refund.
func negative(client string) *ratelimitv3.RateLimitRequest {
	in := ask(client)
	in.Descriptors[0].IsNegativeHits = true
	return in
}

// Hits are refunded, never below zero, and the status is OK.
func TestNegativeHits(t *testing.T) {
	for _, setup := range setups() {
		t.Run(setup.name, func(t *testing.T) {
			client := setup.start(t, service.New(newEngine(t, nil, nil), nil))
			for i, step := range []struct {
				in   *ratelimitv3.RateLimitRequest
				code ratelimitv3.RateLimitResponse_Code
				left uint32
			}{
				{ask("a"), 1, 1},
				{ask("a"), 1, 0},
				{ask("a"), 2, 0},
				{negative("a"), 1, 0}, // the refused hit was counted
				{negative("a"), 1, 1},
				{ask("a"), 1, 0},
				{negative("a"), 1, 1},
				{negative("a"), 1, 2},
				{negative("a"), 1, 2},
				{ask("a"), 1, 1},
			} {
				out, err := client.ShouldRateLimit(t.Context(), step.in)
				require.NoError(t, err)
				require.Equal(t, step.code, out.GetOverallCode(), "step %d", i)
				require.Equal(t, step.left, out.GetStatuses()[0].GetLimitRemaining(), "step %d", i)
			}
		})
	}
}

// Errors and their gRPC codes (REFERENCE.md, 8.5), with the messages of the reference service.
func TestErrorsOverGRPC(t *testing.T) {
	ready := newEngine(t, nil, nil)
	noRules := ratelimit.MustNew(storeFunc(failing), nil)
	broken := newEngine(t, storeFunc(failing), nil)
	panicking := newEngine(t, storeFunc(func(context.Context, []ratelimit.Hit) error { panic("boom") }), nil)
	panickingEngine := newEngine(t, nil, &ratelimit.Options{OverLimitCache: panickingCache{}})
	s := samples()
	inDomain := func(name string) *ratelimitv3.RateLimitRequest { return s[name] }
	cases := []struct {
		name    string
		engine  *ratelimit.Engine
		in      *ratelimitv3.RateLimitRequest
		code    codes.Code
		message string
	}{
		{"no domain", ready, &ratelimitv3.RateLimitRequest{}, codes.InvalidArgument, "domain"},
		{"no descriptors", ready, inDomain("domain"), codes.InvalidArgument, "descriptor list"},
		{"unit 0", ready, inDomain("no unit"), codes.InvalidArgument, "descriptors[0].limit.unit: "},
		{"unit 257", ready, inDomain("bad unit"), codes.InvalidArgument, "unit 257"},
		{"unit -1", ready, inDomain("minus unit"), codes.InvalidArgument, "unit -1"},
		{"store can't subtract", broken, negative("a"), codes.Unavailable, "store failed"},
		{"multiplier 0", ready, inDomain("multiplier 0"), codes.InvalidArgument, "descriptors[0].limit.unit_multiplier: "},
		{"long window", ready, inDomain("long window"), codes.InvalidArgument, "descriptors[0].limit.unit_multiplier: 315360001 "},
		{"no rules", noRules, ask("a"), codes.Unavailable, "no rate limit configuration loaded"},
		{"store down", broken, ask("a"), codes.Unavailable, "store failed"},
		{"store panics", panicking, ask("a"), codes.Unavailable, "store failed"},
		{"cache panics", panickingEngine, ask("a"), codes.Internal, "internal error"},
	}
	for _, setup := range setups() {
		t.Run(setup.name, func(t *testing.T) {
			for _, c := range cases {
				var failures atomic.Int32
				svc := service.New(c.engine, &service.Options{OnError: func(context.Context, error) { failures.Add(1) }})
				_, err := setup.start(t, svc).ShouldRateLimit(t.Context(), c.in)
				require.Equal(t, c.code, status.Code(err), "%s: %v", c.name, err)
				require.Contains(t, status.Convert(err).Message(), c.message, c.name)
				require.NotContains(t, err.Error(), "hunter2", c.name)
				require.EqualValues(t, 1, failures.Load(), "%s: OnError is called once for each failed call", c.name)
			}
		})
	}
}

func TestErrorsHideTheCause(t *testing.T) {
	var cause error
	svc := service.New(newEngine(t, storeFunc(failing), nil), &service.Options{OnError: func(_ context.Context, err error) { cause = err }})
	_, err := svc.ShouldRateLimit(t.Context(), ask("a"))
	require.False(t, strings.Contains(err.Error(), "hunter2"), "the store's error went to the caller: %v", err)
	require.ErrorIs(t, cause, errSecret, "OnError must get the cause")
}

// A call canceled by its caller is not a failure of the store.
func TestCancelledCall(t *testing.T) {
	waiting := storeFunc(func(ctx context.Context, _ []ratelimit.Hit) error { <-ctx.Done(); return ctx.Err() })
	svc := service.New(newEngine(t, waiting, nil), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := svc.ShouldRateLimit(ctx, ask("a"))
	require.Equal(t, codes.Canceled, status.Code(err))

	// A timeout of the store's own is one.
	late := storeFunc(func(context.Context, []ratelimit.Hit) error { return context.DeadlineExceeded })
	_, err = service.New(newEngine(t, late, nil), nil).ShouldRateLimit(t.Context(), ask("a"))
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestInvalidBytes(t *testing.T) {
	for _, setup := range setups() {
		client := setup.start(t, service.New(newEngine(t, nil, nil), nil))
		bad := ask("a")
		bad.Domain = "\xff"
		_, err := client.ShouldRateLimit(t.Context(), bad)
		require.Error(t, err, setup.name)
	}
}

// TestCallsShareNothing checks that strings of one call do not appear in another call's
// counters when buffers are reused.
func TestCallsShareNothing(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	store := storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range hits {
			seen[string(hits[i].Key)]++
			hits[i].Count = 1
		}
		return nil
	})
	for _, setup := range setups() {
		clear(seen)
		client := setup.start(t, service.New(newEngine(t, store, nil), nil))
		var group sync.WaitGroup
		for g := range 8 {
			group.Go(func() {
				for range 200 {
					name := strings.Repeat(string(rune('a'+g)), 1+g*50)
					if _, err := client.ShouldRateLimit(t.Context(), ask(name)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		require.Len(t, seen, 8, "%s: keys got mixed up", setup.name)
		for key, n := range seen {
			require.Equal(t, 200, n, "%s: %s", setup.name, key)
		}
	}
}

func TestDynamicMetadata(t *testing.T) {
	for _, setup := range setups() {
		engine := newEngine(t, nil, &ratelimit.Options{Metadata: true})
		client := setup.start(t, service.New(engine, &service.Options{DynamicMetadata: true}))
		in := ask("a")
		in.HitsAddend = 2
		out, err := client.ShouldRateLimit(t.Context(), in)
		require.NoError(t, err)
		requireJSON(t, `{"domain":"d","hitsAddend":2,"descriptors":[{"entries":["client=a"]}],"metadata":{"tier":"basic","list":[1,true,null]}}`, out.GetDynamicMetadata())
	}
}
