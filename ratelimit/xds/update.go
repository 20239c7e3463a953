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
	// Faults report the resources of the response that can't be used. Instead, the Update has
	// the last ones with the same names that could be, if there were any. Empty with
	// Options.Strict.
	Faults config.Faults
}

// Parse converts the resources of a response to an Update without a Version. Of opts it
// uses MergeDomains and Fields only. The error is [config.Faults], even if only one resource has a
// fault. No resources make an empty Update.
//
// A [Client] does not need it; it is exported for tests of a control plane.
func Parse(resources []*anypb.Any, opts *Options) (*Update, error) {
	u, _, err := parse(decode(resources), opts, true)
	return u, err
}

// parse converts resources, in any order. The error is config.Faults, and faulty are the
// resources to do without; if not all faults are wanted, they are the faults of those.
func parse(resources []resource, opts *Options, all bool) (u *Update, faulty []resource, err error) {
	opts = cmp.Or(opts, &Options{})
	d := &decoder{resources: slices.Clone(resources), table: opts.Fields}
	if d.table == nil {
		d.table = ratelimit.Fields()
	}
	slices.SortStableFunc(d.resources, func(a, b resource) int {
		return cmp.Or(strings.Compare(a.name, b.name), bytes.Compare(a.data, b.data))
	})
	u = &Update{}
	for i := range d.resources {
		d.at.Source = i
		u.Domains = append(u.Domains, d.domain(&d.resources[i]))
		u.Resources = append(u.Resources, d.resources[i].name)
	}
	rules, err := ratelimit.Compile(u.Domains, &ratelimit.CompileOptions{MergeDomains: opts.MergeDomains, CalendarMonths: opts.CalendarMonths, Fields: d.table})
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

// decode decodes the resources of a response.
func decode(in []*anypb.Any) []resource {
	out := make([]resource, len(in))
	for i, a := range in {
		c := &ratelimitv3.RateLimitConfig{}
		r := resource{name: fmt.Sprintf("resources[%d]", i), data: a.GetValue()}
		if url := a.GetTypeUrl(); !isType(url) {
			r.fault = fmt.Sprintf("resource has type '%.100s': want '%s'", url, TypeURL)
		} else if err := proto.Unmarshal(a.GetValue(), c); err != nil {
			r.fault = fmt.Sprintf("resource can't be decoded as %s: %v", typeName, err)
		} else {
			r.config, r.name = c, cmp.Or(c.GetName(), r.name)
		}
		out[i] = r
	}
	return out
}

// decoder converts resources to domains.
type decoder struct {
	table            []ratelimit.Field
	resources        []resource
	faults, warnings []*ratelimit.Fault
	at               ratelimit.Position // of the current rule
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
	position := func(at ratelimit.Position, field string) *config.Fault {
		_, path, _ := strings.Cut(at.String()+"."+field, ".") // without the number of the domain
		return &config.Fault{File: d.resources[at.Source].name, Path: strings.TrimSuffix(path, ".")}
	}
	out := config.Translate(found[:min(len(found), maxFaults)], position)
	if len(found) > maxFaults {
		last := out[len(out)-1]
		out = append(out, &config.Fault{File: last.File, Reason: fmt.Sprintf("more than %d problems: the rest is omitted", maxFaults)})
	}
	return out
}

// Numbers of the fields that make the tree of rules. All others are in the table of fields.
const (
	configName, configDomain, configRules  protowire.Number = 1, 2, 3
	ruleKey, ruleValue, ruleLimit, ruleSub protowire.Number = 1, 2, 3, 4
	replacesName                           protowire.Number = 1
)

// FieldNumber returns the number of a field of a descriptor or of its rate_limit in the messages of a
// resource, 0 for an unknown name. Numbers above 1000 are of this module: see the package documentation.
func FieldNumber(name string) protowire.Number {
	for _, f := range ratelimit.Fields() {
		if f.Name == name {
			return protowire.Number(f.Number)
		}
	}
	return 0
}

func (d *decoder) domain(r *resource) ratelimit.Domain {
	if r.config == nil {
		d.fault("", "%s", r.fault)
		return ratelimit.Domain{}
	}
	m := read(r.data)
	d.warnUnknown("", m, configName, configDomain, configRules)
	return ratelimit.Domain{Name: r.config.GetDomain(), Rules: d.rules(m[configRules])}
}

// rules converts one level more than rules may be nested: Compile reports that level, and
// deeper ones need not be converted.
func (d *decoder) rules(in []wireValue) []ratelimit.Rule {
	depth := len(d.at.Path)
	if len(in) == 0 || depth > ratelimit.MaxDepth {
		return nil
	}
	out := make([]ratelimit.Rule, len(in))
	d.at.Path = append(d.at.Path, 0)
	for i, v := range in {
		d.at.Path[depth] = i
		r, m := &out[i], read(v.bytes())
		r.Key, r.Value = text(m[ruleKey]), text(m[ruleValue])
		d.fields(r, m, "", ruleKey, ruleValue, ruleLimit, ruleSub)
		if limit := m[ruleLimit]; limit != nil {
			r.Limit = &ratelimit.Limit{}
			d.fields(r, read(merged(limit)), "rate_limit")
		}
		r.Rules = d.rules(m[ruleSub])
	}
	d.at.Path = d.at.Path[:depth]
	return out
}

// fields sets the fields of a rule, or of its limit, from a message. others are numbers that are not in
// the table.
func (d *decoder) fields(r *ratelimit.Rule, m message, in string, others ...protowire.Number) {
	for i := range d.table {
		f := &d.table[i]
		number, path := protowire.Number(f.Number), strings.TrimPrefix(in+"."+f.Name, ".")
		if f.InLimit != (in != "") {
			continue
		}
		others = append(others, number)
		if m[number] == nil {
			continue
		}
		v, err := d.value(f, path, m[number])
		if err == nil && v != nil {
			err = f.Value.Set(r, v)
		}
		if _, ok := errors.AsType[ratelimit.IgnoredError](err); ok {
			d.warn(path, "%v", err)
		} else if err != nil {
			d.fault(path, "%v", err)
		}
	}
	d.warnUnknown(in, m, others...)
}

// value converts the values of a field, nil if they are the default. The last one counts, and
// messages are merged.
func (d *decoder) value(f *ratelimit.Field, path string, values []wireValue) (any, error) {
	want, last := protowire.BytesType, values[len(values)-1]
	switch f.Value.Kind {
	case ratelimit.KindBool, ratelimit.KindNumber, ratelimit.KindCount, ratelimit.KindCandidate, ratelimit.KindUnit:
		want = protowire.VarintType
	}
	if slices.ContainsFunc(values, func(v wireValue) bool { return v.typ != want }) {
		return nil, fmt.Errorf("field %d has an unknown type", f.Number)
	}
	n, _ := protowire.ConsumeVarint(last.encoded)
	switch f.Value.Kind {
	case ratelimit.KindBool:
		return protowire.DecodeBool(n), nil
	case ratelimit.KindUnit:
		switch unit := ratelimit.Unit(n); {
		case n == 0:
			return nil, nil
		case n <= math.MaxUint8 && unit.Valid():
			return unit.String(), nil
		}
		return fmt.Sprint(int32(n)), nil
	case ratelimit.KindText, ratelimit.KindWord:
		return text(values), nil
	case ratelimit.KindNames:
		names := make([]string, len(values))
		for i, v := range values {
			m := read(v.bytes())
			d.warnUnknown(fmt.Sprintf("%s[%d]", path, i), m, replacesName)
			names[i] = text(m[replacesName])
		}
		return names, nil
	case ratelimit.KindMap:
		s := &structpb.Struct{}
		if err := proto.Unmarshal(merged(values), s); err != nil {
			return nil, fmt.Errorf("%s can't be decoded as google.protobuf.Struct: %w", path, err)
		}
		return s.AsMap(), nil
	}
	return uint32(min(n, math.MaxUint32)), nil
}

// warnUnknown warns about fields with other numbers than the known ones, which a newer server may send.
// It names at most ten of a message.
func (d *decoder) warnUnknown(field string, m message, known ...protowire.Number) {
	var unknown []protowire.Number
	for number := range m {
		if !slices.Contains(known, number) {
			unknown = append(unknown, number)
		}
	}
	if slices.Sort(unknown); unknown != nil {
		d.warn(field, "unknown fields with the numbers %v are ignored", unknown[:min(len(unknown), 10)])
	}
}

// message holds the values of each field of an encoded message.
type message map[protowire.Number][]wireValue

type wireValue struct {
	typ     protowire.Type
	encoded []byte // without the tag
}

// bytes returns the value of a string, bytes or a message, nil for other types.
func (v wireValue) bytes() []byte {
	if v.typ != protowire.BytesType {
		return nil
	}
	b, _ := protowire.ConsumeBytes(v.encoded)
	return b
}

// read splits an encoded message, which is valid.
func read(b []byte) message {
	m := make(message)
	for len(b) > 0 {
		_, _, tag := protowire.ConsumeTag(b)
		number, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			break
		}
		m[number] = append(m[number], wireValue{typ, b[tag:n]})
		b = b[n:]
	}
	return m
}

// text returns the last value as a string.
func text(values []wireValue) string {
	if len(values) == 0 {
		return ""
	}
	return strings.ToValidUTF8(string(values[len(values)-1].bytes()), "?")
}

// merged returns the fields of all values, as one message has them.
func merged(values []wireValue) (b []byte) {
	for _, v := range values {
		b = append(b, v.bytes()...)
	}
	return b
}
