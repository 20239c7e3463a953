package server_test

import (
	"io"
	"testing"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A stream of quotas lasts for longer than a message may take to arrive, and ends when the server does.
func TestQuotas(t *testing.T) {
	t.Parallel()
	open := func(r *running) rlqs.RateLimitQuotaService_StreamRateLimitQuotasClient {
		stream, err := rlqs.NewRateLimitQuotaServiceClient(r.dial()).StreamRateLimitQuotas(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(&rlqs.RateLimitQuotaUsageReports{Domain: "d", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
			{BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": "ann"}}, NumRequestsDenied: 1},
		}}))
		return stream
	}
	off := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	_, err := open(off).Recv()
	require.Equal(t, codes.Unimplemented, status.Code(err))

	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"QUOTA_ENABLED": "true", "QUOTA_TTL": "2s", "GRPC_MESSAGE_TIMEOUT": "200ms"}).start()
	stream := open(r)
	for begun := time.Now(); time.Since(begun) < 2*time.Second; { // renewed each second
		m, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, "ann", m.GetBucketAction()[0].GetBucketId().GetBucket()["client"])
		require.Equal(t, 2*time.Second, m.GetBucketAction()[0].GetQuotaAssignmentAction().GetAssignmentTimeToLive().AsDuration())
	}
	require.Zero(t, r.count("ratelimit.grpc.expired_messages"))
	r.end()
	for err = nil; err == nil; {
		_, err = stream.Recv()
	}
	require.NotErrorIs(t, err, io.EOF)
}
