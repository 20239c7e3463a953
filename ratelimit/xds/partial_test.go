package xds_test

import (
	"errors"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// exchange is a client and a scripted server.
type exchange struct {
	*running
	t      *testing.T
	server *conversation
}

func startExchange(t *testing.T, opts *xds.Options) *exchange {
	t.Helper()
	server := newConversation()
	addr, _ := serve(t, "127.0.0.1:0", server.server())
	x := &exchange{start(t, addr, opts), t, server}
	receive(t, server.got, "first request")
	return x
}

// send sends a response and returns the request that replies to it.
func (x *exchange) send(version string, resources ...*anypb.Any) *discoveryv3.DiscoveryRequest {
	x.t.Helper()
	x.server.respond(x.t, response(version, resources...))
	reply := receive(x.t, x.server.got, "reply")
	require.Equal(x.t, "nonce of "+version, reply.GetResponseNonce())
	return reply
}

// limits returns the first limit of each domain of the next update.
func (x *exchange) limits() map[string]uint32 {
	x.t.Helper()
	out := make(map[string]uint32)
	for _, d := range x.update(x.t).Domains {
		out[d.Name] = d.Rules[0].Limit.RequestsPerUnit
	}
	return out
}

// rejected waits for a rejection.
func (x *exchange) rejected(partial bool) {
	x.t.Helper()
	e, ok := errors.AsType[*xds.RejectedError](receive(x.t, x.failures, "failure"))
	require.True(x.t, ok)
	require.Equal(x.t, partial, e.Partial, "%v", e)
}

// TestInvalidResourceBlocksNoOther changes resources of which one is invalid: the others take
// effect, it keeps its last valid version, and the server learns which one was rejected.
func TestInvalidResourceBlocksNoOther(t *testing.T) {
	t.Parallel()
	x := startExchange(t, quick())
	a1, b1 := pack(t, domain("a", perMinute("user", 1))), pack(t, domain("b", perMinute("user", 1)))
	a2, broken := pack(t, domain("a", perMinute("user", 2))), pack(t, domain("b", bad("user")))

	require.Nil(t, x.send("v1", a1, b1).GetErrorDetail())
	require.Equal(t, map[string]uint32{"a": 1, "b": 1}, x.limits())

	reply := x.send("v2", a2, broken)
	require.Equal(t, "v1", reply.GetVersionInfo(), "the last version without faults")
	require.Contains(t, reply.GetErrorDetail().GetMessage(), "b: descriptors[0].rate_limit.unit: ")
	require.NotContains(t, reply.GetErrorDetail().GetMessage(), "a: ")
	require.Equal(t, map[string]uint32{"a": 2, "b": 1}, x.limits())
	x.rejected(true)

	require.NotNil(t, x.send("v2", a2, broken).GetErrorDetail(), "sent again")
	require.Empty(t, x.updates, "the same is not used twice")
	require.Empty(t, x.failures, "nor reported")

	require.Nil(t, x.send("v3", a1).GetErrorDetail())
	require.Equal(t, map[string]uint32{"a": 1}, x.limits())
}

// TestWhatStaysInUse checks which resources of earlier responses stay in use beside invalid ones.
func TestWhatStaysInUse(t *testing.T) {
	t.Parallel()
	x := startExchange(t, quick())
	a1, b1 := pack(t, domain("a", perMinute("user", 1))), pack(t, domain("b", perMinute("user", 1)))
	broken := pack(t, domain("b", bad("user")))
	x.send("v1", a1, b1)
	x.limits()

	x.send("v2", pack(t, domain("c", perMinute("user", 3))), broken)
	require.Equal(t, map[string]uint32{"b": 1, "c": 3}, x.limits(), "a is removed")
	x.rejected(true)

	x.send("v3", a1, &anypb.Any{TypeUrl: xds.TypeURL, Value: []byte{0xff}})
	require.Equal(t, map[string]uint32{"a": 1, "b": 1, "c": 3}, x.limits(), "what can't be decoded may be b or c")
	x.rejected(true)

	moved := domain("b", perMinute("user", 7))
	moved.Name = "moved"
	x.send("v4", pack(t, moved), broken)
	require.Equal(t, map[string]uint32{"b": 7}, x.limits(), "another resource configures the domain of the invalid one")
	x.rejected(true)

	same := domain("a", perMinute("user", 8))
	same.Name = "b"
	x.send("v5", pack(t, same), broken)
	require.EqualValues(t, 8, x.limits()["a"], "the resource with a fault has the name of another")
	x.rejected(true)

	require.NotNil(t, x.send("v6", broken).GetErrorDetail())
	x.rejected(false)
	require.Empty(t, x.updates, "a response without anything to use is not an empty configuration")
}

// TestStrict rejects a response as a whole.
func TestStrict(t *testing.T) {
	t.Parallel()
	opts := quick()
	opts.Strict = true
	x := startExchange(t, opts)
	require.NotNil(t, x.send("v1", pack(t, domain("a")), pack(t, domain("b", bad("user")))).GetErrorDetail())
	require.Empty(t, x.updates)
	require.Nil(t, x.send("v2", pack(t, domain("a"))).GetErrorDetail())
	require.Equal(t, "v2", x.update(t).Version)
}
