package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
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
	large := open(r)
	_, err = large.Recv()
	require.NoError(t, err)
	report := &rlqs.RateLimitQuotaUsageReports{Domain: "d"}
	for i := range 6000 {
		report.BucketQuotaUsages = append(report.BucketQuotaUsages, &rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
			BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": fmt.Sprint("a customer with the number ", i)}}, NumRequestsDenied: 1,
		})
	}
	require.NoError(t, large.Send(report))
	for err = nil; err == nil; {
		_, err = large.Recv()
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "GRPC_MAX_MESSAGE_BYTES: %v", err)
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

// What clients report is in the statistics and the busiest keys, and the pages show what they have. What is claimed for them
// is not.
func TestQuotasAreSeen(t *testing.T) {
	t.Parallel()
	r := prepare(t, map[string]string{"d.yaml": `domain: d
descriptors:
- key: client
  value: busy
  rate_limit: {requests_per_unit: 10, unit: hour, limit_type: concurrency}
- key: client
  value: shadow
  shadow_mode: true
  rate_limit: {requests_per_unit: 4, unit: year}
- key: client
  rate_limit: {requests_per_unit: 100000, unit: year}
  descriptors:
  - key: client
    rate_limit: {requests_per_unit: 9, unit: year}
`}, map[string]string{"QUOTA_ENABLED": "true"}).start()
	stream, err := rlqs.NewRateLimitQuotaServiceClient(r.dial()).StreamRateLimitQuotas(t.Context())
	require.NoError(t, err)
	report := func(client string, allowed, denied uint64) {
		require.NoError(t, stream.Send(&rlqs.RateLimitQuotaUsageReports{Domain: "d", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
			{BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": client}}, NumRequestsAllowed: allowed, NumRequestsDenied: denied},
		}}))
	}
	report("ann", 0, 1)
	_, err = stream.Recv()
	require.NoError(t, err)
	report("ann", 20, 4)
	report("shadow", 7, 2)
	report("busy", 0, 3)
	const begin = "ratelimit.service.rate_limit.d.client"
	r.becomes("all reports are counted", func() bool {
		return r.count(begin+".total_hits") == 25 && r.count(begin+"_busy.total_hits") == 3 && r.count(begin+"_shadow.total_hits") == 9
	})
	require.EqualValues(t, 20, r.count(begin+".within_limit"))
	require.EqualValues(t, 5, r.count(begin+".over_limit"))
	require.EqualValues(t, 0, r.count(begin+".near_limit"), "little was assigned")
	require.EqualValues(t, 3+2, r.count(begin+"_shadow.over_limit"))
	require.EqualValues(t, 3, r.count(begin+"_shadow.shadow_mode"))
	require.EqualValues(t, 3, r.count(begin+"_busy.over_limit"))

	_, text := r.getAt(r.addr.Debug, "/topkeys?keys=1")
	require.Contains(t, text, "d.client: 25 hits, 5 refused\n  25 hits: client=ann\n  5 refused: client=ann\n")
	_, text = r.getAt(r.addr.Debug, "/rlconfig")
	require.Regexp(t, `d\.client: unit=YEAR requests_per_unit=100000 bucket_id=client,`, text)
	require.NotRegexp(t, `(client_busy|client\.client):.*bucket_id`, text, "no quotas are assigned of it")
	_, page := r.getAt(r.addr.Debug, "/rlconfig?format=json")
	var shown struct{ Limits []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(page), &shown))
	require.Equal(t, []any{"client"}, shown.Limits[0]["bucket_id"])

	_, list := r.getAt(r.addr.Debug, "/console/?q=client")
	quotas := ""
	for _, id := range regexp.MustCompile(`data-rule="([0-9a-f]+)"`).FindAllStringSubmatch(list, -1) {
		_, text := r.getAt(r.addr.Debug, "/console/rules/"+id[1])
		quotas += text
	}
	require.Regexp(t, `client=ann</span></td><td data-label="Client"><span class="mono">127\.0\.0\.1:\d+</span></td><td data-label="Assigned" class="number">12\D*500<`, quotas)
	require.Regexp(t, `client=shadow</span>.*>all<`, quotas)
	require.Regexp(t, `client=busy</span>.*>none<`, quotas)
}
