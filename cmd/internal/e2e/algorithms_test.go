//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// algorithms has a limit of each algorithm, for descriptors as Envoy's actions make them.
const algorithms = `domain: edge
descriptors:
  - key: remote_address
    rate_limit: {unit: year, requests_per_unit: 2, algorithm: token_bucket, burst: 3}
  - key: header_match
    value: api
    descriptors:
      - key: remote_address
        rate_limit: {unit: year, requests_per_unit: 3, algorithm: sliding_window}
  - key: destination_cluster
    value: slow
    rate_limit: {unit: hour, requests_per_unit: 2, limit_type: concurrency}
  - key: generic_key
    value: two_years
    rate_limit: {unit: year, unit_multiplier: 2, requests_per_unit: 2}
  - key: generic_key
    value: calendar
    rate_limit: {unit: year, align: calendar, time_zone: Europe/Vienna, requests_per_unit: 2}
`

const year = 365 * 24 * time.Hour

// algorithmCase is one limit with a sequence of calls and their results.
type algorithmCase struct {
	name, descriptor, statistics string
	// steps are calls with one hit, "+", or with one that is given back, "-", and the status
	// that is expected: OK or OVER_LIMIT, remaining/limit and the window.
	steps []string
	// The time until the reset after the first call.
	atLeast, atMost time.Duration
	negative        int // total_negative_hits
}

func algorithmCases() []algorithmCase {
	return []algorithmCase{
		{
			name: "token bucket", descriptor: "remote_address=192.0.2.1", statistics: "edge.remote_address",
			steps: []string{
				"+ OK 2/2 YEAR", "+ OK 1/2 YEAR", "+ OK 0/2 YEAR", "+ OVER_LIMIT 0/2 YEAR", "- OK 1/2 YEAR", "+ OK 0/2 YEAR", "+ OVER_LIMIT 0/2 YEAR",
			},
			atLeast: year/2 - time.Hour, atMost: year / 2, negative: 1,
		},
		{
			name: "sliding window", descriptor: "header_match=api,remote_address=192.0.2.1", statistics: "edge.header_match_api.remote_address",
			steps: []string{
				"+ OK 2/3 YEAR", "+ OK 1/3 YEAR", "+ OK 0/3 YEAR", "+ OVER_LIMIT 0/3 YEAR", "+ OVER_LIMIT 0/3 YEAR",
				"- OK 1/3 YEAR", "+ OK 0/3 YEAR", // hits over the limit were not counted
			},
			atLeast: time.Second, atMost: 2 * year, negative: 1,
		},
		{
			name: "concurrency", descriptor: "destination_cluster=slow", statistics: "edge.destination_cluster_slow",
			steps: []string{
				"+ OK 1/2 HOUR", "+ OK 0/2 HOUR", "+ OVER_LIMIT 0/2 HOUR", "- OK 1/2 HOUR", "+ OK 0/2 HOUR", "+ OVER_LIMIT 0/2 HOUR",
				"- OK 1/2 HOUR", "- OK 2/2 HOUR", "- OK 2/2 HOUR",
			},
			atLeast: time.Hour, atMost: 8*time.Hour/7 + time.Second, negative: 4,
		},
		{
			name: "unit_multiplier", descriptor: "generic_key=two_years", statistics: "edge.generic_key_two_years",
			steps: []string{
				"+ OK 1/2 2 YEAR", "+ OK 0/2 2 YEAR", "+ OVER_LIMIT 0/2 2 YEAR", "- OK 0/2 2 YEAR", "- OK 1/2 2 YEAR", "+ OK 0/2 2 YEAR",
			},
			atLeast: time.Second, atMost: 2 * year, negative: 2,
		},
		{
			name: "calendar", descriptor: "generic_key=calendar", statistics: "edge.generic_key_calendar",
			steps:   []string{"+ OK 1/2 YEAR", "+ OK 0/2 YEAR", "+ OVER_LIMIT 0/2 YEAR"},
			atLeast: untilNewYear(timeout), atMost: untilNewYear(0) + time.Second,
		},
	}
}

// untilNewYear returns the time from some time on until the year ends in Vienna.
func untilNewYear(later time.Duration) time.Duration {
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		panic(err)
	}
	now := time.Now().In(zone)
	return max(time.Date(now.Year()+1, 1, 1, 0, 0, 0, 0, zone).Sub(now)-later, 0)
}

// TestAlgorithms sends requests as Envoy does, through gRPC and JSON in turn, to limits of each
// algorithm.
func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for name, environOf := range map[string]func(*testing.T) map[string]string{
		"embedded": func(*testing.T) map[string]string { return map[string]string{} },
		"redis":    func(t *testing.T) map[string]string { return withRedis(t, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := environOf(t)
			environ["LIMIT_RESPONSE_HEADERS_ENABLED"] = "true"
			l := limit(t, map[string]string{"edge.yaml": algorithms}, environ)
			for _, c := range algorithmCases() {
				for i, step := range c.steps {
					d := descriptor(strings.Split(c.descriptor, ",")...)
					d.IsNegativeHits = step[0] == '-'
					out := l.answer(i%2 == 1, d)
					require.Equal(t, step[2:], limitText(out), "%s, call %d", c.name, i)
					reset := out.GetStatuses()[0].GetDurationUntilReset().AsDuration()
					if i == 0 {
						require.GreaterOrEqual(t, reset, c.atLeast, c.name)
						require.LessOrEqual(t, reset, c.atMost, c.name)
					}
					headers := map[string]string{}
					for _, h := range out.GetResponseHeadersToAdd() {
						headers[h.GetKey()] = h.GetValue()
					}
					status := out.GetStatuses()[0]
					require.Equal(t, map[string]string{
						"RateLimit-Limit":     fmt.Sprint(status.GetCurrentLimit().GetRequestsPerUnit()),
						"RateLimit-Remaining": fmt.Sprint(status.GetLimitRemaining()),
						"RateLimit-Reset":     fmt.Sprint(int64(reset / time.Second)),
					}, headers, "%s, call %d", c.name, i)
				}
				require.Equal(t, []int{len(c.steps) - c.negative, c.negative}, l.counts(c.statistics, "total_hits", "total_negative_hits"), c.name)
			}
			l.overrides()
			l.terminate()
		})
	}
}

// overrides sends a limit of several units with the request.
func (l *limiter) overrides() {
	l.t.Helper()
	d := descriptor("user_id=ann")
	d.Limit = &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: 6, UnitMultiplier: wrapperspb.UInt32(3)} // 6 is YEAR
	require.Equal(l.t, "OK 0/1 3 YEAR", limitText(l.answer(false, d)))
	require.Equal(l.t, "OVER_LIMIT 0/1 3 YEAR", limitText(l.answer(true, d)))
}

// answer sends a request through gRPC or POST /json.
func (l *limiter) answer(asJSON bool, d *commonv3.RateLimitDescriptor) *ratelimitv3.RateLimitResponse {
	l.t.Helper()
	in := &ratelimitv3.RateLimitRequest{Domain: "edge", Descriptors: []*commonv3.RateLimitDescriptor{d}}
	if !asJSON {
		ctx, cancel := context.WithTimeout(l.t.Context(), timeout)
		defer cancel()
		out, err := l.client.ShouldRateLimit(ctx, in)
		require.NoError(l.t, err)
		return out
	}
	body, err := protojson.Marshal(in)
	require.NoError(l.t, err)
	code, text := httpDo(l.t, http.MethodPost, "http://"+l.http+"/json", string(body))
	out := new(ratelimitv3.RateLimitResponse)
	require.NoError(l.t, protojson.Unmarshal([]byte(text), out), text)
	want := http.StatusOK
	if out.GetOverallCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT {
		want = http.StatusTooManyRequests
	}
	require.Equal(l.t, want, code)
	return out
}

// limitText returns the only status as "code remaining/limit units".
func limitText(out *ratelimitv3.RateLimitResponse) string {
	s := out.GetStatuses()[0]
	c := s.GetCurrentLimit()
	text := fmt.Sprintf("%v %d/%d ", out.GetOverallCode(), s.GetLimitRemaining(), c.GetRequestsPerUnit())
	if m := c.GetUnitMultiplier(); m != nil {
		text += fmt.Sprintf("%d ", m.GetValue())
	}
	return text + c.GetUnit().String()
}
