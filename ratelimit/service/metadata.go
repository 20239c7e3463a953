package service

import (
	"fmt"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// dynamicMetadata tells a proxy what was asked and what the passed rules say
// about themselves (reference 1.7).
func dynamicMetadata(r *ratelimit.Request, d *ratelimit.Decision) *structpb.Struct {
	out := map[string]*structpb.Value{"domain": text(r.Domain)}
	descriptors := make([]*structpb.Value, len(r.Descriptors))
	for i := range r.Descriptors {
		descriptors[i] = descriptorMetadata(&r.Descriptors[i])
	}
	out["descriptors"] = structpb.NewListValue(&structpb.ListValue{Values: descriptors})
	if r.HitsAddend != 0 {
		out["hitsAddend"] = structpb.NewNumberValue(float64(r.HitsAddend))
	}
	if len(d.Metadata) > 0 {
		out["metadata"] = jsonValue(d.Metadata)
	}
	return &structpb.Struct{Fields: out}
}

func descriptorMetadata(d *ratelimit.Descriptor) *structpb.Value {
	entries := make([]*structpb.Value, len(d.Entries))
	for i, e := range d.Entries {
		entries[i] = text(e.Key + "=" + e.Value)
	}
	out := map[string]*structpb.Value{
		"entries": structpb.NewListValue(&structpb.ListValue{Values: entries}),
	}
	if d.Limit != nil {
		out["limit"] = text((&commonv3.RateLimitDescriptor_RateLimitOverride{
			RequestsPerUnit: d.Limit.RequestsPerUnit,
			Unit:            typev3.RateLimitUnit(d.Limit.Unit),
		}).String())
	}
	if d.HitsAddend != nil {
		out["hitsAddend"] = structpb.NewNumberValue(float64(*d.HitsAddend))
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: out})
}

// text copies: the request's strings may lie in a buffer that is reused.
func text(s string) *structpb.Value { return structpb.NewStringValue(strings.Clone(s)) }

// jsonValue never fails: what a program put into a rule's metadata and JSON can't
// hold is shown as text.
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
	return text(strings.ToValidUTF8(fmt.Sprint(v), "\uFFFD"))
}
