package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// reportInterval is the interval of reports: that of Envoy 1.40.
const reportInterval = 5 * time.Second

// quotas opens a stream, reports a bucket for each descriptor, and prints assignments as they come.
func (o *options) quotas(ctx context.Context, conn *grpc.ClientConn, p *printer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(cmp.Or(o.timeout, math.MaxInt64), func() { cancel(fmt.Errorf("no assignment came within %v", o.timeout)) })
	defer late.Stop()
	report := &rlqs.RateLimitQuotaUsageReports{Domain: o.domain}
	for _, d := range o.descriptors {
		id := map[string]string{}
		for _, e := range d.Entries {
			id[e.GetKey()] = e.GetValue()
		}
		report.BucketQuotaUsages = append(report.BucketQuotaUsages, &rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
			BucketId: &rlqs.BucketId{Bucket: id}, NumRequestsDenied: o.hits,
		})
	}
	stream, err := rlqs.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(ctx)
	if err == nil {
		go func() {
			for stream.Send(report) == nil { // Recv returns the error
				select {
				case <-time.After(reportInterval):
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for n := 0; err == nil; n++ {
		if n == o.repeat {
			return nil
		}
		var m *rlqs.RateLimitQuotaResponse
		if m, err = stream.Recv(); err == nil {
			late.Stop()
			if err := p.assignments(m); err != nil {
				return err
			}
		}
	}
	switch {
	case ctx.Err() != nil: // interrupted, or no assignment
		return context.Cause(ctx)
	case status.Code(err) == codes.Unimplemented:
		err = fmt.Errorf("%w: the service assigns no quotas: start it with QUOTA_ENABLED=true", err)
	}
	return fmt.Errorf("request error: %w", err)
}

// assignments prints what a message assigns.
func (p *printer) assignments(m *rlqs.RateLimitQuotaResponse) error {
	if p.json {
		return p.line(m)
	}
	all := m.GetBucketAction()
	for i, a := range all {
		id, assigned, text := a.GetBucketId().GetBucket(), a.GetQuotaAssignmentAction(), "all requests"
		if i+1 < len(all) && maps.Equal(id, all[i+1].GetBucketId().GetBucket()) {
			continue // the next one replaces it
		}
		switch s := assigned.GetRateLimitStrategy(); {
		case a.GetAbandonAction() != nil:
			text = "abandoned"
		case s.GetTokenBucket() != nil:
			if text = fmt.Sprintf("%d requests", s.GetTokenBucket().GetMaxTokens()); i == 0 || !maps.Equal(id, all[i-1].GetBucketId().GetBucket()) {
				text = "the rest of the " + text
			}
		case s.GetBlanketRule() == typev3.RateLimitStrategy_DENY_ALL:
			text = "no requests"
		}
		if ttl := assigned.GetAssignmentTimeToLive(); ttl != nil {
			text += " for " + resetText(ttl.AsDuration())
		}
		name := printable.Join(slices.Sorted(maps.Keys(id)), ",", func(key string) string { return key + "=" + id[key] })
		if _, err := fmt.Fprintf(p.out, "%s: %s\n", cli.Printable(name), text); err != nil {
			return err
		}
	}
	return nil
}
