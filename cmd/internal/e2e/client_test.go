//go:build unix

package e2e_test

import (
	"encoding/json"
	"regexp"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// dial returns a connection that is closed when the test ends.
func dial(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// newRequest returns a request with one descriptor for each value of a key.
func newRequest(domain, key string, values ...string) *ratelimitv3.RateLimitRequest {
	request := &ratelimitv3.RateLimitRequest{Domain: domain}
	for _, value := range values {
		request.Descriptors = append(request.Descriptors, &commonv3.RateLimitDescriptor{
			Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: key, Value: value}},
		})
	}
	return request
}

// loadReport contains the fields of a report of ratelimit-load that the tests check.
type loadReport struct {
	Interrupted bool              `json:"interrupted"`
	Calls       uint64            `json:"calls"`
	OK          uint64            `json:"ok"`
	OverLimit   uint64            `json:"over_limit"`
	Errors      map[string]uint64 `json:"errors"`
	Unfinished  uint64            `json:"unfinished"`
}

// reportOf decodes the report of a completed load.
func reportOf(t *testing.T, load *process) loadReport {
	t.Helper()
	var r loadReport
	require.NoError(t, json.Unmarshal([]byte(load.stdout.String()), &r), "%s", load.stdout)
	return r
}

// submatch returns the first submatch of a pattern, which must match.
func submatch(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, "%q in:\n%s", pattern, text)
	return found[1]
}
