package xds_test

import (
	"errors"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// TestInvalidResourceBlocksNoOther changes resources of which one is invalid: the others take
// effect, it keeps its last valid version, and the server learns which one was rejected.
func TestInvalidResourceBlocksNoOther(t *testing.T) {
	t.Parallel()
	server := newConversation()
	addr, _ := serve(t, "127.0.0.1:0", server.server())
	r := start(t, addr, quick())
	receive(t, server.got, "first request")
	send := func(version string, resources ...*anypb.Any) *discoveryv3.DiscoveryRequest {
		server.respond(t, response(version, resources...))
		answer := receive(t, server.got, "answer")
		require.Equal(t, "nonce of "+version, answer.GetResponseNonce())
		return answer
	}
	limits := func() map[string]uint32 {
		u, out := r.update(t), make(map[string]uint32)
		for _, d := range u.Domains {
			out[d.Name] = d.Rules[0].Limit.RequestsPerUnit
		}
		return out
	}
	rejected := func(partial bool) {
		t.Helper()
		e, ok := errors.AsType[*xds.RejectedError](receive(t, r.failures, "failure"))
		require.True(t, ok)
		require.Equal(t, partial, e.Partial, "%v", e)
	}
	a1, b1 := pack(t, domain("a", perMinute("user", 1))), pack(t, domain("b", perMinute("user", 1)))
	a2, broken := pack(t, domain("a", perMinute("user", 2))), pack(t, domain("b", bad("user")))

	require.Nil(t, send("v1", a1, b1).GetErrorDetail())
	require.Equal(t, map[string]uint32{"a": 1, "b": 1}, limits())

	answer := send("v2", a2, broken)
	require.Equal(t, "v1", answer.GetVersionInfo(), "the last version without faults")
	require.Contains(t, answer.GetErrorDetail().GetMessage(), "b: descriptors[0].rate_limit.unit: invalid rate limit unit")
	require.NotContains(t, answer.GetErrorDetail().GetMessage(), "a: ")
	require.Equal(t, map[string]uint32{"a": 2, "b": 1}, limits())
	rejected(true)

	require.NotNil(t, send("v2", a2, broken).GetErrorDetail(), "sent again")
	require.Empty(t, r.updates, "the same is not used twice")
	require.Empty(t, r.failures, "nor reported")

	send("v3", pack(t, domain("c", perMinute("user", 3))), broken)
	require.Equal(t, map[string]uint32{"b": 1, "c": 3}, limits(), "a is removed")
	rejected(true)

	garbage := &anypb.Any{TypeUrl: xds.TypeURL, Value: []byte{0xff}}
	send("v4", a1, garbage)
	require.Equal(t, map[string]uint32{"a": 1, "b": 1, "c": 3}, limits(), "it may be b or c")
	rejected(true)

	// A new resource for the domain of one with a fault replaces it; so b is configured once.
	moved := domain("b", perMinute("user", 7))
	moved.Name = "moved"
	send("v5", pack(t, moved), broken)
	require.Equal(t, map[string]uint32{"b": 7}, limits())
	rejected(true)

	require.NotNil(t, send("v6", broken).GetErrorDetail())
	rejected(false)
	require.Empty(t, r.updates, "a response without anything to use is not an empty configuration")

	require.Nil(t, send("v7", a1).GetErrorDetail())
	require.Equal(t, map[string]uint32{"a": 1}, limits())
}

// TestStrict rejects a response as a whole.
func TestStrict(t *testing.T) {
	t.Parallel()
	server := newConversation()
	addr, _ := serve(t, "127.0.0.1:0", server.server())
	opts := quick()
	opts.Strict = true
	r := start(t, addr, opts)
	receive(t, server.got, "first request")
	server.respond(t, response("v1", pack(t, domain("a")), pack(t, domain("b", bad("user")))))
	require.NotNil(t, receive(t, server.got, "rejection").GetErrorDetail())
	require.Empty(t, r.updates)
	server.respond(t, response("v2", pack(t, domain("a"))))
	require.Equal(t, "v2", r.update(t).Version)
}
