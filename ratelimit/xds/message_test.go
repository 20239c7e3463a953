package xds_test

import (
	"fmt"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// number returns the number of a line like "and 12 more".
func number(t *testing.T, line string) (n int) {
	t.Helper()
	_, err := fmt.Sscanf(line, "and %d more", &n)
	require.NoError(t, err)
	return n
}

// large returns a resource of more than 5 MiB.
func large() *ratelimitv3.RateLimitConfig {
	c := domain("large")
	for i := range 100 {
		rule := perMinute("user", uint32(i))
		rule.Value = fmt.Sprint(i, strings.Repeat("x", 54<<10))
		c.Descriptors = append(c.Descriptors, rule)
	}
	return c
}

// A response over the limit leaves the configuration in use, and the error names the
// setting.
func TestMessageOverTheLimit(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo"))
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, quick())
	r.update(t)
	server.acknowledged("v1")

	server.set("v2", large())
	size := proto.Size(large())
	require.Greater(t, size, 5<<20)
	for range 3 {
		err := connectionFailure(t, r)
		require.Contains(t, err.Error(), "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES")
		require.Regexp(t, `5\d{6} vs\. 4194304`, err.Error(), "with the size of the response")
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
	}
	require.Empty(t, r.updates)

	server.set("v3", domain("redis"))
	require.Equal(t, "v3", r.update(t).Version)
}

func TestMessageUnderARaisedLimit(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", large())
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, &xds.Options{MaxMessageBytes: 8 << 20})
	require.Len(t, r.update(t).Domains[0].Rules, 100)
	server.acknowledged("v1")
	require.Empty(t, r.failures)
}
