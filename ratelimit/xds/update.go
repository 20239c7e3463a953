package xds

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// TypeURL is the type of the resources that the client requests (REFERENCE.md, 7.4).
const TypeURL = "type.googleapis.com/" + typeName

const typeName = "ratelimit.config.ratelimit.v3.RateLimitConfig"

// isType reports whether a type URL is that of the resources, with any prefix.
func isType(url string) bool { return url[strings.LastIndexByte(url, '/')+1:] == typeName }

// Update is the whole configuration that the server sent. It must not be changed.
type Update struct {
	// Version is the server's name for the configuration. Versions have no order, and
	// different configurations may have the same.
	Version string
	// Ruleset is for [ratelimit.Engine.Use].
	Ruleset *ratelimit.Ruleset
	// Domains is the input of Ruleset, one domain for each of Resources.
	Domains []ratelimit.Domain
	// Resources are the names of the resources, sorted.
	Resources []string
	// Warnings report likely mistakes, in the order of the rules.
	Warnings []*config.Fault
	// Faults report the resources of the response that can't be used. In their place are
	// the last ones with the same names that could be, if there were any. Empty with
	// Options.Strict.
	Faults config.Faults
}

// Parse converts the resources of a response to an Update without a Version. Of opts it
// uses MergeDomains only. The error is [config.Faults], even if only one resource has a
// fault. No resources make an empty Update.
//
// A [Client] does not need it; it is exported for tests of a control plane.
func Parse(resources []*anypb.Any, opts *Options) (*Update, error) {
	decoded := make([]resource, len(resources))
	for i, in := range resources {
		decoded[i] = decode(i, in)
	}
	u, _, err := parse(decoded, opts, true)
	return u, err
}

// parse converts resources, in any order. The error is config.Faults, and faulty are the
// resources to do without; if not all faults are wanted, they are the faults of those.
func parse(resources []resource, opts *Options, all bool) (u *Update, faulty []resource, err error) {
	d := &decoder{resources: slices.Clone(resources)}
	slices.SortStableFunc(d.resources, func(a, b resource) int {
		return cmp.Or(strings.Compare(a.name, b.name), bytes.Compare(a.data, b.data))
	})
	u = &Update{}
	for i := range d.resources {
		d.at.Source = i
		u.Domains = append(u.Domains, d.domain(&d.resources[i]))
		u.Resources = append(u.Resources, d.resources[i].name)
	}
	rules, err := ratelimit.Compile(u.Domains, &ratelimit.CompileOptions{MergeDomains: opts != nil && opts.MergeDomains})
	if compiled, ok := errors.AsType[ratelimit.Faults](err); ok {
		d.addFaults(compiled)
	} else if err != nil {
		return nil, nil, err
	}
	if len(d.faults) > 0 {
		faulty := d.faulty(all)
		return nil, faulty, config.Faults(d.report(d.faults))
	}
	u.Ruleset = rules
	u.Warnings = d.report(append(d.warnings, rules.Warnings()...))
	return u, nil, nil
}

// resource is one resource of a response.
type resource struct {
	name   string
	data   []byte
	config *ratelimitv3.RateLimitConfig // nil if it could not be decoded
	fault  string                       // the reason
	kept   bool                         // it is of an earlier response
}

// key identifies the resource in later responses; empty if that is not known.
func (r *resource) key() string { return cmp.Or(r.config.GetName(), r.config.GetDomain()) }

// decode decodes the i-th resource of a response.
func decode(i int, in *anypb.Any) resource {
	r := resource{name: fmt.Sprintf("resources[%d]", i), data: in.GetValue()}
	c := &ratelimitv3.RateLimitConfig{}
	if url := in.GetTypeUrl(); !isType(url) {
		r.fault = fmt.Sprintf("resource has type '%.100s': want '%s'", url, TypeURL)
	} else if err := proto.Unmarshal(in.GetValue(), c); err != nil {
		r.fault = fmt.Sprintf("resource can't be decoded as %s: %v", typeName, err)
	} else {
		r.config, r.name = c, cmp.Or(c.GetName(), r.name)
	}
	return r
}

// decoder converts resources to domains.
type decoder struct {
	resources        []resource
	faults, warnings []*ratelimit.Fault
	at               ratelimit.Place // of the current rule
}

// faulty returns the resources that have a fault, but not those that only contradict one of
// them, such as the second resource of a domain whose first one has a fault. Unless all is
// set, it removes the faults of the others.
func (d *decoder) faulty(all bool) (out []resource) {
	contradicts := func(f *ratelimit.Fault) bool { return f.Other != nil && f.Other.Source != f.Source }
	alone, found := make([]bool, len(d.resources)), make([]bool, len(d.resources))
	for _, f := range d.faults {
		alone[f.Source] = alone[f.Source] || !contradicts(f)
	}
	for _, f := range d.faults {
		found[f.Source] = found[f.Source] || alone[f.Source] || !alone[f.Other.Source]
	}
	for i, is := range found {
		if is {
			out = append(out, d.resources[i])
		}
	}
	if !all {
		d.faults = slices.DeleteFunc(d.faults, func(f *ratelimit.Fault) bool { return !found[f.Source] })
	}
	return out
}

func (d *decoder) fault(field, format string, args ...any) {
	d.faults = d.add(d.faults, field, fmt.Sprintf(format, args...))
}

func (d *decoder) warn(field, format string, args ...any) {
	d.warnings = d.add(d.warnings, field, fmt.Sprintf(format, args...))
}

func (d *decoder) add(to []*ratelimit.Fault, field, reason string) []*ratelimit.Fault {
	if len(to) > maxFaults {
		return to
	}
	return append(to, &ratelimit.Fault{Source: d.at.Source, Path: slices.Clone(d.at.Path), Field: field, Reason: reason})
}

// addFaults adds the faults of Compile, except those of resources that could not be
// decoded and of fields that have a fault already.
func (d *decoder) addFaults(compiled []*ratelimit.Fault) {
	key := func(f *ratelimit.Fault) string { return fmt.Sprint(f.Source, f.Path, f.Field) }
	known := make(map[string]bool, len(d.faults))
	for _, f := range d.faults {
		known[key(f)] = true
	}
	for _, f := range compiled {
		if d.resources[f.Source].config != nil && !known[key(f)] {
			d.faults = append(d.faults, f)
		}
	}
}

// maxFaults bounds the faults, and the warnings, of a response.
const maxFaults = 1000

// report sorts faults by resource and rule, and names both.
func (d *decoder) report(found []*ratelimit.Fault) []*config.Fault {
	slices.SortStableFunc(found, func(a, b *ratelimit.Fault) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), slices.Compare(a.Path, b.Path))
	})
	place := func(at ratelimit.Place, field string) *config.Fault {
		path := ""
		for _, n := range at.Path {
			path += fmt.Sprintf("descriptors[%d].", n)
		}
		return &config.Fault{File: d.resources[at.Source].name, Path: strings.TrimSuffix(path+field, ".")}
	}
	out := config.Translate(found[:min(len(found), maxFaults)], place)
	if len(found) > maxFaults {
		last := out[len(out)-1]
		out = append(out, &config.Fault{File: last.File, Reason: fmt.Sprintf("more than %d problems: the rest is omitted", maxFaults)})
	}
	return out
}

func (d *decoder) domain(r *resource) ratelimit.Domain {
	if r.config == nil {
		d.fault("", "%s", r.fault)
		return ratelimit.Domain{}
	}
	d.warnUnknown("", r.config)
	return ratelimit.Domain{Name: r.config.GetDomain(), Rules: d.rules(r.config.GetDescriptors())}
}

// rules converts one level more than rules may be nested: Compile reports that level, and
// deeper ones need not be converted.
func (d *decoder) rules(in []*ratelimitv3.RateLimitDescriptor) []ratelimit.Rule {
	depth := len(d.at.Path)
	if len(in) == 0 || depth > ratelimit.MaxDepth {
		return nil
	}
	out := make([]ratelimit.Rule, len(in))
	d.at.Path = append(d.at.Path, 0)
	for i, r := range in {
		d.at.Path[depth] = i
		newer := d.newerFields(r)
		d.warnUnknown("", r, fieldQuotaMode, fieldMetadata)
		out[i] = ratelimit.Rule{
			Key:            r.GetKey(),
			Value:          r.GetValue(),
			Limit:          d.limit(r.GetRateLimit()),
			Rules:          d.rules(r.GetDescriptors()),
			ShadowMode:     r.GetShadowMode(),
			QuotaMode:      newer.quotaMode,
			Metadata:       newer.metadata,
			DetailedMetric: r.GetDetailedMetric(),
		}
	}
	d.at.Path = d.at.Path[:depth]
	return out
}

func (d *decoder) limit(in *ratelimitv3.RateLimitPolicy) *ratelimit.Limit {
	if in == nil {
		return nil
	}
	d.warnUnknown("rate_limit", in, addedFields...)
	out := &ratelimit.Limit{
		RequestsPerUnit: in.GetRequestsPerUnit(),
		Unit:            d.unit(in),
		Unlimited:       in.GetUnlimited(),
		Name:            in.GetName(),
	}
	d.added(in, out)
	for i, r := range in.GetReplaces() {
		d.warnUnknown(fmt.Sprintf("rate_limit.replaces[%d]", i), r)
		out.Replaces = append(out.Replaces, r.GetName())
	}
	return out
}

// Fields of rate_limit that this module adds to the resource type. A control plane sets them as
// unknown fields of the message RateLimitPolicy. Their values are those of configuration files.
const (
	FieldUnitMultiplier protowire.Number = 1001 // uint32
	FieldAlign          protowire.Number = 1002 // string
	FieldTimeZone       protowire.Number = 1003 // string
	FieldAlgorithm      protowire.Number = 1004 // string
	FieldBurst          protowire.Number = 1005 // uint32
	FieldLimitType      protowire.Number = 1006 // string
	FieldLease          protowire.Number = 1007 // bool
	FieldCandidate      protowire.Number = 1008 // uint32: requests_per_unit of the candidate
)

var addedFields = []protowire.Number{
	FieldUnitMultiplier, FieldAlign, FieldTimeZone, FieldAlgorithm, FieldBurst, FieldLimitType, FieldLease, FieldCandidate,
}

// added reads those fields. The last value of a field counts.
func (d *decoder) added(in *ratelimitv3.RateLimitPolicy, out *ratelimit.Limit) {
	var align, algorithm, limitType string
	numbers := map[protowire.Number]*uint32{FieldUnitMultiplier: &out.UnitMultiplier, FieldBurst: &out.Burst}
	texts := map[protowire.Number]*string{
		FieldAlign: &align, FieldTimeZone: &out.TimeZone, FieldAlgorithm: &algorithm, FieldLimitType: &limitType,
	}
	for rest := in.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			break
		}
		value := rest[n:]
		switch {
		case numbers[number] != nil && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			*numbers[number] = uint32(min(v, math.MaxUint32))
		case number == FieldCandidate && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			out.Candidate = &ratelimit.Candidate{RequestsPerUnit: uint32(min(v, math.MaxUint32))}
		case number == FieldLease && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			out.Lease = v != 0
		case texts[number] != nil && kind == protowire.BytesType:
			v, _ := protowire.ConsumeString(value)
			*texts[number] = strings.ToValidUTF8(v, "?")
		case slices.Contains(addedFields, number):
			d.fault("rate_limit", "field %d has an unknown type", number)
		}
		if n = protowire.ConsumeFieldValue(number, kind, value); n < 0 {
			break
		}
		rest = value[n:]
	}
	out.Align = ratelimit.Align(align)
	var field, reason string
	if out.Algorithm, field, reason = config.ParseAlgorithm(algorithm, limitType); reason != "" {
		d.fault("rate_limit."+field, "%s", reason)
		if out.Algorithm == ratelimit.FixedWindow {
			out.Burst = 0 // as in files
		}
	}
}

// unit reports units that the resource type does not have, because Compile does not know
// what was sent.
func (d *decoder) unit(in *ratelimitv3.RateLimitPolicy) ratelimit.Unit {
	units := map[ratelimitv3.RateLimitUnit]ratelimit.Unit{
		ratelimitv3.RateLimitUnit_SECOND: ratelimit.Second, ratelimitv3.RateLimitUnit_MINUTE: ratelimit.Minute,
		ratelimitv3.RateLimitUnit_HOUR: ratelimit.Hour, ratelimitv3.RateLimitUnit_DAY: ratelimit.Day,
		// Numbers of the current type, for which the released one has no names.
		5: ratelimit.Month, 6: ratelimit.Year, 7: ratelimit.Week,
	}
	sent := in.GetUnit()
	unit, ok := units[sent]
	if !ok && !in.GetUnlimited() {
		d.fault("rate_limit.unit", "invalid rate limit unit '%s': use SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR", sent)
	} else if !ok && sent != ratelimitv3.RateLimitUnit_UNKNOWN {
		d.warn("rate_limit.unit", "unknown unit '%s' is ignored because the limit is unlimited: remove it", sent)
	}
	return unit
}

// Fields of a descriptor in the current resource type that the released one lacks.
const (
	fieldQuotaMode protowire.Number = 7 // bool
	fieldMetadata  protowire.Number = 8 // google.protobuf.Struct
)

// newerFields are the values of those fields.
type newerFields struct {
	quotaMode bool
	metadata  map[string]any
}

// newerFields reads them from the unknown fields. As in all messages, the last value of a
// field counts, and messages are merged.
func (d *decoder) newerFields(r *ratelimitv3.RateLimitDescriptor) (out newerFields) {
	var metadata *structpb.Struct
	for rest := r.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			break
		}
		value := rest[n:]
		switch {
		case number == fieldQuotaMode && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			out.quotaMode = protowire.DecodeBool(v)
		case number == fieldMetadata && kind == protowire.BytesType:
			v, _ := protowire.ConsumeBytes(value)
			if metadata == nil {
				metadata = &structpb.Struct{}
			}
			if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(v, metadata); err != nil {
				d.fault("metadata", "metadata can't be decoded as google.protobuf.Struct: %v", err)
			}
		case number == fieldQuotaMode || number == fieldMetadata:
			d.fault("", "field %d has an unknown type", number)
		}
		if n = protowire.ConsumeFieldValue(number, kind, value); n < 0 {
			break
		}
		rest = value[n:]
	}
	if len(metadata.GetFields()) > 0 {
		out.metadata = metadata.AsMap()
	}
	return out
}

// warnUnknown warns about fields that the resource type does not have, which a
// newer server may send. It names at most ten of a message.
func (d *decoder) warnUnknown(field string, m proto.Message, known ...protowire.Number) {
	var numbers []protowire.Number
	for rest := m.ProtoReflect().GetUnknown(); len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		if !slices.Contains(known, number) && !slices.Contains(numbers, number) && len(numbers) < 10 {
			numbers = append(numbers, number)
		}
		rest = rest[n:]
	}
	if numbers != nil {
		d.warn(field, "unknown fields with the numbers %v are ignored: value_to_metric and share_threshold are supported in files only", numbers)
	}
}
