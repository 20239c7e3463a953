package xds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// resource is one resource of a response.
type resource struct {
	name   string
	data   []byte
	config *ratelimitv3.RateLimitConfig // nil if it could not be decoded
	fault  string                       // why
}

// decode decodes the i-th resource of a response.
func decode(i int, in *anypb.Any) resource {
	r := resource{name: fmt.Sprintf("resources[%d]", i), data: in.GetValue()}
	url := in.GetTypeUrl()
	if !isType(url) {
		r.fault = fmt.Sprintf("resource is of type '%s', not '%s'", oneLine(url, maxShown), TypeURL)
		return r
	}
	c := &ratelimitv3.RateLimitConfig{}
	if err := proto.Unmarshal(in.GetValue(), c); err != nil {
		r.fault = fmt.Sprintf("resource can't be decoded as %s: %v", typeName, err)
		return r
	}
	if c.GetName() != "" {
		r.name = c.GetName()
	}
	r.config = c
	return r
}

// isType reports whether a type URL is that of the resources, whatever its prefix.
func isType(url string) bool {
	return url[strings.LastIndexByte(url, '/')+1:] == typeName
}

// decoder turns resources into domains.
type decoder struct {
	resources []resource
	faults    []finding
	warnings  []finding

	// Where it is.
	source int
	path   []int
}

func (d *decoder) fault(field, format string, args ...any) {
	if len(d.faults) < tooMany {
		d.faults = append(d.faults, d.finding(field, format, args...))
	}
}

func (d *decoder) warn(field, format string, args ...any) {
	if len(d.warnings) < tooMany {
		d.warnings = append(d.warnings, d.finding(field, format, args...))
	}
}

func (d *decoder) finding(field, format string, args ...any) finding {
	return finding{source: d.source, path: slices.Clone(d.path), field: field, reason: fmt.Sprintf(format, args...)}
}

func (d *decoder) domain(r *resource) ratelimit.Domain {
	if r.config == nil {
		d.fault("", "%s", r.fault)
		return ratelimit.Domain{}
	}
	d.warnUnknown("", r.config)
	return ratelimit.Domain{Name: r.config.GetDomain(), Rules: d.rules(r.config.GetDescriptors())}
}

// rules converts one level more than rules may be nested, so that Compile finds too
// deep a tree but nothing here has to follow it down.
func (d *decoder) rules(in []*ratelimitv3.RateLimitDescriptor) []ratelimit.Rule {
	if len(in) == 0 || len(d.path) > ratelimit.MaxDepth {
		return nil
	}
	out := make([]ratelimit.Rule, len(in))
	d.path = append(d.path, 0)
	for i := range in {
		d.path[len(d.path)-1] = i
		out[i] = d.rule(in[i])
	}
	d.path = d.path[:len(d.path)-1]
	return out
}

func (d *decoder) rule(in *ratelimitv3.RateLimitDescriptor) ratelimit.Rule {
	d.warnUnknown("", in)
	return ratelimit.Rule{
		Key:            in.GetKey(),
		Value:          in.GetValue(),
		Limit:          d.limit(in.GetRateLimit()),
		Rules:          d.rules(in.GetDescriptors()),
		ShadowMode:     in.GetShadowMode(),
		DetailedMetric: in.GetDetailedMetric(),
	}
}

func (d *decoder) limit(in *ratelimitv3.RateLimitPolicy) *ratelimit.Limit {
	if in == nil {
		return nil
	}
	d.warnUnknown("rate_limit", in)
	out := &ratelimit.Limit{
		RequestsPerUnit: in.GetRequestsPerUnit(),
		Unit:            d.unit(in),
		Unlimited:       in.GetUnlimited(),
		Name:            in.GetName(),
	}
	for i, r := range in.GetReplaces() {
		d.warnUnknown("rate_limit.replaces["+strconv.Itoa(i)+"]", r)
		out.Replaces = append(out.Replaces, r.GetName())
	}
	return out
}

// unit is the zero Unit for one that the resource type does not name. Only here is
// known what was sent, so it is here that it is refused.
func (d *decoder) unit(in *ratelimitv3.RateLimitPolicy) ratelimit.Unit {
	switch in.GetUnit() {
	case ratelimitv3.RateLimitUnit_SECOND:
		return ratelimit.Second
	case ratelimitv3.RateLimitUnit_MINUTE:
		return ratelimit.Minute
	case ratelimitv3.RateLimitUnit_HOUR:
		return ratelimit.Hour
	case ratelimitv3.RateLimitUnit_DAY:
		return ratelimit.Day
	}
	switch unit := in.GetUnit(); {
	case !in.GetUnlimited():
		d.fault("rate_limit.unit", "invalid rate limit unit '%s': use SECOND, MINUTE, HOUR or DAY", unit)
	case unit != ratelimitv3.RateLimitUnit_UNKNOWN:
		d.warn("rate_limit.unit", "unit '%s' is not a unit; it is ignored because the limit is unlimited, and better left out", unit)
	}
	return 0
}

// warnUnknown warns about the fields of a message that the released type does not
// have. A newer server may well send them, and mean something by them.
func (d *decoder) warnUnknown(field string, m proto.Message) {
	var numbers []protowire.Number
	for rest := m.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		if !slices.Contains(numbers, number) && len(numbers) < maxNumbers {
			numbers = append(numbers, number)
		}
		rest = rest[n:]
	}
	if numbers != nil {
		d.warn(field, "fields with the numbers %v are unknown and ignored: quota_mode, metadata, value_to_metric and share_threshold come from files only", numbers)
	}
}

// maxNumbers is how many unknown fields of one message are named.
const maxNumbers = 10
