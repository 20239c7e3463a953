package service

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// convert fills the call's request from the generated type. Missing elements, which are
// possible in JSON, count as empty.
func (c *call) convert(in *ratelimitv3.RateLimitRequest) error {
	if err := c.bounds.descriptors(len(in.GetDescriptors())); err != nil {
		return err
	}
	c.request.Domain = in.GetDomain()
	c.request.HitsAddend = in.GetHitsAddend()
	for i, d := range in.GetDescriptors() {
		out := ratelimit.Descriptor{Refund: d.GetIsNegativeHits()}
		start := len(c.entries)
		if err := c.bounds.entries(i, len(d.GetEntries()), start); err != nil {
			return err
		}
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
	l := d.GetLimit()
	if l == nil {
		return nil
	}
	if m := l.GetUnitMultiplier(); m != nil && m.GetValue() == 0 {
		return invalid("descriptors[%d].limit.unit_multiplier: must be 1 or more", i)
	}
	unit := int32(l.GetUnit())
	if unit < 0 || unit > 255 || !ratelimit.Unit(unit).Valid() {
		return invalid("descriptors[%d].limit.unit: invalid rate limit unit %d: use %s", i, unit, ratelimit.UnitNames)
	}
	out.Limit = c.addOverride(ratelimit.Override{
		RequestsPerUnit: l.GetRequestsPerUnit(), Unit: ratelimit.Unit(unit), UnitMultiplier: l.GetUnitMultiplier().GetValue(),
	})
	return nil
}

func invalid(format string, args ...any) error {
	return &ratelimit.Error{Kind: ratelimit.Invalid, Message: fmt.Sprintf(format, args...)}
}

// bounds limit the parts of a request.
type bounds struct{ maxDescriptors, maxEntries, maxAllEntries int }

// partsPerDescriptor limits the entries of all descriptors, and the objects in a JSON body:
// for each descriptor that is allowed, this many.
const partsPerDescriptor = 16

func newBounds(opts *Options) bounds {
	descriptors, entries := cmp.Or(opts.MaxDescriptors, 1000), cmp.Or(opts.MaxEntries, ratelimit.MaxDepth)
	return bounds{descriptors, entries, max(partsPerDescriptor*descriptors, entries)}
}

func (b bounds) descriptors(n int) error {
	if n > b.maxDescriptors {
		return invalid("descriptors: too many: use at most %d", b.maxDescriptors)
	}
	return nil
}

// entries checks the entries of descriptor i, which follow others.
func (b bounds) entries(i, n, before int) error {
	switch {
	case n > b.maxEntries:
		return invalid("descriptors[%d].entries: too many: use at most %d", i, b.maxEntries)
	case n > b.maxAllEntries-before:
		return invalid("descriptors: too many entries: use at most %d in all descriptors together", b.maxAllEntries)
	}
	return nil
}

// Pointers into these slices stay valid when append moves the slice: they refer to the old
// array, which is not written to again.

func (c *call) addHits(n uint64) *uint64 {
	c.hits = append(c.hits, n)
	return &c.hits[len(c.hits)-1]
}

func (c *call) addOverride(o ratelimit.Override) *ratelimit.Override {
	c.overrides = append(c.overrides, o)
	return &c.overrides[len(c.overrides)-1]
}

// response returns the response as the generated type.
func (s *Service) response(c *call) *ratelimitv3.RateLimitResponse {
	d := &c.decision
	out := &ratelimitv3.RateLimitResponse{
		OverallCode: ratelimitv3.RateLimitResponse_Code(d.Code),
		Statuses:    make([]*ratelimitv3.RateLimitResponse_DescriptorStatus, len(d.Statuses)),
	}
	for i := range d.Statuses {
		out.Statuses[i] = descriptorStatus(&d.Statuses[i])
	}
	response, request := s.headers(d)
	out.ResponseHeadersToAdd, out.RequestHeadersToAdd = headerValues(response), headerValues(request)
	if s.opts.DynamicMetadata {
		out.DynamicMetadata = dynamicMetadata(&c.request, d)
	}
	return out
}

// headers returns the headers that the caller should add to its response, and to the request that it sends on.
func (s *Service) headers(d *ratelimit.Decision) (response, request []ratelimit.HeaderField) {
	for i := 0; s.opts.AllHeaders && i < len(d.Statuses); i++ {
		if t := &d.Statuses[i]; t.Limited {
			unit := strings.ReplaceAll(t.Unit.Text(max(t.UnitMultiplier, 1)), " ", "-")
			if t.UnitMultiplier <= 1 {
				unit += "s"
			}
			response = append(response,
				ratelimit.HeaderField{Name: "ratelimit-limit-" + unit, Value: uint64(t.RequestsPerUnit)},
				ratelimit.HeaderField{Name: "ratelimit-remaining-" + unit, Value: uint64(t.Remaining)})
		}
	}
	if s.opts.Headers == nil && s.opts.RequestHeaders == nil {
		return response, nil
	}
	t := d.Tightest()
	if t != nil && s.opts.Headers != nil {
		fields := s.opts.Headers.Fields(t)
		response = append(response, fields[:]...)
	}
	if t != nil && s.opts.RequestHeaders != nil {
		fields := s.opts.RequestHeaders.Fields(t)
		request = fields[:]
	}
	return response, request
}

func headerValues(fields []ratelimit.HeaderField) (out []*corev3.HeaderValue) {
	for _, f := range fields {
		out = append(out, &corev3.HeaderValue{Key: f.Name, Value: strconv.FormatUint(f.Value, 10)})
	}
	return out
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
		if in.UnitMultiplier > 0 {
			out.CurrentLimit.UnitMultiplier = wrapperspb.UInt32(in.UnitMultiplier)
		}
		out.DurationUntilReset = durationpb.New(in.Reset())
	}
	return out
}

// dynamicMetadata returns the request and the metadata of the rules that it matched, for a
// proxy (REFERENCE.md, 4.6). It copies strings: those of the request may refer to a buffer
// that is reused.
func dynamicMetadata(r *ratelimit.Request, d *ratelimit.Decision) *structpb.Struct {
	descriptors := make([]any, len(r.Descriptors))
	for i := range r.Descriptors {
		descriptors[i] = descriptorMetadata(&r.Descriptors[i])
	}
	out := map[string]any{"domain": strings.Clone(r.Domain), "descriptors": descriptors}
	if r.HitsAddend != 0 {
		out["hitsAddend"] = float64(r.HitsAddend)
	}
	if len(d.Metadata) > 0 {
		out["metadata"] = d.Metadata
	}
	return jsonValue(out).GetStructValue()
}

func descriptorMetadata(d *ratelimit.Descriptor) map[string]any {
	entries := make([]any, len(d.Entries))
	for i, e := range d.Entries {
		entries[i] = e.Key + "=" + e.Value
	}
	out := map[string]any{"entries": entries}
	if d.Limit != nil {
		limit := &commonv3.RateLimitDescriptor_RateLimitOverride{
			RequestsPerUnit: d.Limit.RequestsPerUnit,
			Unit:            typev3.RateLimitUnit(d.Limit.Unit),
		}
		if d.Limit.UnitMultiplier > 0 {
			limit.UnitMultiplier = wrapperspb.UInt32(d.Limit.UnitMultiplier)
		}
		out["limit"] = limit.String()
	}
	if d.HitsAddend != nil {
		out["hitsAddend"] = float64(*d.HitsAddend)
	}
	return out
}

// jsonValue never fails: values in a rule's metadata that JSON does not support become
// strings.
func jsonValue(v any) *structpb.Value {
	switch v := v.(type) {
	case map[string]any:
		fields := make(map[string]*structpb.Value, len(v))
		for k, e := range v {
			fields[k] = jsonValue(e)
		}
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	case []any:
		values := make([]*structpb.Value, len(v))
		for i, e := range v {
			values[i] = jsonValue(e)
		}
		return structpb.NewListValue(&structpb.ListValue{Values: values})
	}
	if out, err := structpb.NewValue(v); err == nil {
		return out
	}
	return structpb.NewStringValue(strings.ToValidUTF8(fmt.Sprint(v), "\uFFFD"))
}
