package service

import (
	"fmt"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// convert fills the call's request from the generated type. Elements that are
// missing, which JSON can produce, count as empty.
func (c *call) convert(in *ratelimitv3.RateLimitRequest) error {
	if len(in.GetDescriptors()) > c.most {
		return tooManyDescriptors(c.most)
	}
	c.request.Domain = in.GetDomain()
	c.request.HitsAddend = in.GetHitsAddend()
	for i, d := range in.GetDescriptors() {
		out := ratelimit.Descriptor{}
		if len(d.GetEntries()) > ratelimit.MaxDepth {
			return tooManyEntries(i)
		}
		start := len(c.entries)
		for _, e := range d.GetEntries() {
			c.entries = append(c.entries, ratelimit.Entry{Key: e.GetKey(), Value: e.GetValue()})
		}
		out.Entries = c.entries[start:]
		if d.GetHitsAddend() != nil {
			out.HitsAddend = c.addHits(d.GetHitsAddend().GetValue())
		}
		if err := c.convertLimit(i, d, &out); err != nil {
			return err
		}
		c.request.Descriptors = append(c.request.Descriptors, out)
	}
	return nil
}

func (c *call) convertLimit(i int, d *commonv3.RateLimitDescriptor, out *ratelimit.Descriptor) error {
	if d.GetIsNegativeHits() {
		return invalid("descriptors[%d].is_negative_hits: giving hits back is not supported", i)
	}
	l := d.GetLimit()
	if l == nil {
		return nil
	}
	if m := l.GetUnitMultiplier(); m != nil && m.GetValue() != 1 {
		return invalid("descriptors[%d].limit.unit_multiplier: %d is not supported: windows are one unit long", i, m.GetValue())
	}
	unit := int32(l.GetUnit())
	if unit < 0 || unit > 255 || !ratelimit.Unit(unit).Valid() {
		return invalid("descriptors[%d].limit.unit: invalid rate limit unit %d: use %s", i, unit, ratelimit.UnitNames)
	}
	out.Limit = c.addOverride(ratelimit.Override{RequestsPerUnit: l.GetRequestsPerUnit(), Unit: ratelimit.Unit(unit)})
	return nil
}

func invalid(format string, args ...any) error {
	return &ratelimit.Error{Kind: ratelimit.Invalid, Message: fmt.Sprintf(format, args...)}
}

func tooManyDescriptors(most int) error {
	return invalid("descriptors: more than %d are refused", most)
}

func tooManyEntries(i int) error {
	return invalid("descriptors[%d].entries: more than %d are refused: rules are never that deep", i, ratelimit.MaxDepth)
}

// Pointers into slices stay good when append moves the slice: they keep the old
// memory, and nobody writes to it.

func (c *call) addHits(n uint64) *uint64 {
	c.hits = append(c.hits, n)
	return &c.hits[len(c.hits)-1]
}

func (c *call) addOverride(o ratelimit.Override) *ratelimit.Override {
	c.overrides = append(c.overrides, o)
	return &c.overrides[len(c.overrides)-1]
}

// response makes the answer in the generated type.
func (s *Service) response(c *call) *ratelimitv3.RateLimitResponse {
	d := &c.decision
	out := &ratelimitv3.RateLimitResponse{
		OverallCode: ratelimitv3.RateLimitResponse_Code(d.Code),
		Statuses:    make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, len(d.Statuses)),
	}
	for i := range d.Statuses {
		out.Statuses[i] = descriptorStatus(&d.Statuses[i])
	}
	if t := s.headerStatus(d); t != nil {
		for _, f := range s.headers.Fields(t) {
			h := &corev3.HeaderValue{Key: f.Name, Value: strconv.FormatUint(f.Value, 10)}
			out.ResponseHeadersToAdd = append(out.ResponseHeadersToAdd, h)
		}
	}
	if s.metadata {
		out.DynamicMetadata = dynamicMetadata(&c.request, d)
	}
	return out
}

// headerStatus is the status that the response headers speak of, nil for none.
func (s *Service) headerStatus(d *ratelimit.Decision) *ratelimit.Status {
	if s.headers == nil {
		return nil
	}
	return d.Tightest()
}

func descriptorStatus(in *ratelimit.Status) *ratelimitv3.RateLimitResponse_DescriptorStatus {
	out := &ratelimitv3.RateLimitResponse_DescriptorStatus{
		Code:           ratelimitv3.RateLimitResponse_Code(in.Code),
		LimitRemaining: in.Remaining,
	}
	if in.Limited {
		out.CurrentLimit = &ratelimitv3.RateLimitResponse_RateLimit{
			Name:            in.Name,
			RequestsPerUnit: in.RequestsPerUnit,
			Unit:            ratelimitv3.RateLimitResponse_RateLimit_Unit(in.Unit),
		}
		out.DurationUntilReset = durationpb.New(in.Reset())
	}
	return out
}
