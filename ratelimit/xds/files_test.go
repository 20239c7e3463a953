package xds_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// TestSameAsFiles checks that rules have the same meaning, and the same number of faults,
// in a file and in a resource.
func TestSameAsFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := &ratelimitv3.RateLimitConfig{Name: "r", Domain: "d", Descriptors: drawRules(t, 3)}
		var text strings.Builder
		text.WriteString("domain: d\ndescriptors:\n")
		writeRules(&text, c.GetDescriptors(), "  ")
		resource, err := anypb.New(c)
		require.NoError(t, err)

		server, serverErr := xds.Parse([]*anypb.Any{resource}, nil)
		file, fileErr := config.Parse([]config.File{{Name: "r", Data: []byte(text.String())}}, nil)
		require.Equal(t, fileErr == nil, serverErr == nil, "%s\nfile: %v\nserver: %v", &text, fileErr, serverErr)
		if fileErr != nil {
			require.Len(t, serverErr, len(fileErr.(config.Faults)), "%s\nfile: %v\nserver: %v", &text, fileErr, serverErr)
			return
		}
		require.Equal(t, file.Domains, server.Domains, "%s", &text)
		one, two := decider(server.Ruleset), decider(file.Ruleset)
		for i := range 20 {
			r := drawRequest(t)
			require.Equal(t, two(t, r), one(t, r), "request %d: %v of\n%s", i, r, &text)
		}
	})
}

func drawRules(t *rapid.T, depth int) []*ratelimitv3.RateLimitDescriptor {
	var out []*ratelimitv3.RateLimitDescriptor
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		r := &ratelimitv3.RateLimitDescriptor{
			Key:            rapid.SampledFrom([]string{"a", "b", "a*"}).Draw(t, "key"),
			Value:          rapid.SampledFrom([]string{"", "", "x", "y", "x*", "*"}).Draw(t, "value"),
			ShadowMode:     rapid.IntRange(0, 4).Draw(t, "shadow") == 0,
			DetailedMetric: rapid.IntRange(0, 4).Draw(t, "detailed") == 0,
		}
		if rapid.Bool().Draw(t, "limited") {
			r.RateLimit = drawLimit(t)
		}
		if depth > 1 {
			r.Descriptors = drawRules(t, depth-1)
		}
		out = append(out, r)
	}
	return out
}

func drawLimit(t *rapid.T) *ratelimitv3.RateLimitPolicy {
	l := &ratelimitv3.RateLimitPolicy{Name: rapid.SampledFrom([]string{"", "n", "m"}).Draw(t, "name")}
	if rapid.IntRange(0, 4).Draw(t, "unlimited") == 0 {
		l.Unlimited = true
	} else {
		l.Unit = ratelimitv3.RateLimitUnit(rapid.IntRange(1, 4).Draw(t, "unit"))
		l.RequestsPerUnit = uint32(rapid.IntRange(0, 3).Draw(t, "requests"))
	}
	if rapid.Bool().Draw(t, "extended") {
		l.ProtoReflect().SetUnknown(drawAdded(t))
	}
	if rapid.IntRange(0, 3).Draw(t, "replacing") == 0 {
		l.Replaces = []*ratelimitv3.RateLimitReplace{{Name: rapid.SampledFrom([]string{"n", "m"}).Draw(t, "replaced")}}
	}
	return l
}

// addedName returns the name of a field that this module adds.
func addedName(number protowire.Number) string {
	for _, f := range ratelimit.Fields() {
		if f.Number == int32(number) {
			return f.Name
		}
	}
	return ""
}

// drawAdded returns some of those fields as they are on the wire. Those that don't go together are faults.
func drawAdded(t *rapid.T) (b []byte) {
	number := func(field protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(field protowire.Number, v string) {
		b = protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	seldom := func(what string) bool { return rapid.IntRange(0, 19).Draw(t, what) == 0 }
	algorithm := rapid.SampledFrom([]string{"", "", "fixed_window", "SLIDING_WINDOW", "token_bucket", "concurrency"}).Draw(t, "algorithm")
	switch {
	case seldom("invalid"):
		text(xds.FieldNumber("algorithm"), "token_bukcet")
	case algorithm == "concurrency":
		text(xds.FieldNumber("limit_type"), algorithm)
	case algorithm != "":
		text(xds.FieldNumber("algorithm"), algorithm)
	}
	if algorithm == "token_bucket" && rapid.Bool().Draw(t, "burst") || seldom("bad burst") {
		number(xds.FieldNumber("burst"), rapid.Uint64Range(1, 5).Draw(t, "size"))
	}
	if algorithm != "token_bucket" && algorithm != "concurrency" && rapid.Bool().Draw(t, "calendar") || seldom("bad calendar") {
		text(xds.FieldNumber("align"), rapid.SampledFrom([]string{"calendar", "calendar", "calendar", "epoch", "lunar"}).Draw(t, "align"))
		text(xds.FieldNumber("time_zone"), rapid.SampledFrom([]string{"UTC", "Europe/Vienna"}).Draw(t, "zone"))
	}
	if rapid.Bool().Draw(t, "multiplied") {
		number(xds.FieldNumber("unit_multiplier"), rapid.Uint64Range(1, 20).Draw(t, "multiplier"))
	}
	if rapid.Bool().Draw(t, "leased") {
		number(xds.FieldNumber("lease"), rapid.Uint64Range(0, 1).Draw(t, "lease"))
	}
	if rapid.Bool().Draw(t, "on trial") {
		number(xds.FieldNumber("candidate"), rapid.Uint64Range(0, 3).Draw(t, "candidate"))
	}
	return b
}

// addedText returns those fields as YAML.
func addedText(l *ratelimitv3.RateLimitPolicy) (fields []string) {
	for rest := l.ProtoReflect().GetUnknown(); len(rest) > 0; {
		field, kind, n := protowire.ConsumeTag(rest)
		rest = rest[n:]
		if kind == protowire.BytesType {
			v, n := protowire.ConsumeString(rest)
			fields, rest = append(fields, fmt.Sprintf("%s: %q", addedName(field), v)), rest[n:]
			continue
		}
		v, n := protowire.ConsumeVarint(rest)
		text := fmt.Sprint(v)
		switch field {
		case xds.FieldNumber("lease"):
			text = fmt.Sprint(v == 1)
		case xds.FieldNumber("candidate"):
			text = fmt.Sprintf("{requests_per_unit: %d}", v)
		}
		fields, rest = append(fields, addedName(field)+": "+text), rest[n:]
	}
	return fields
}

// writeRules writes rules as YAML.
func writeRules(w *strings.Builder, rules []*ratelimitv3.RateLimitDescriptor, indent string) {
	for _, r := range rules {
		fmt.Fprintf(w, "%s- key: %q\n%s  value: %q\n%s  shadow_mode: %v\n%s  detailed_metric: %v\n",
			indent, r.GetKey(), indent, r.GetValue(), indent, r.GetShadowMode(), indent, r.GetDetailedMetric())
		if l := r.GetRateLimit(); l != nil {
			fmt.Fprintf(w, "%s  rate_limit: {%s}\n", indent, limitText(l))
		}
		if len(r.GetDescriptors()) > 0 {
			fmt.Fprintf(w, "%s  descriptors:\n", indent)
			writeRules(w, r.GetDescriptors(), indent+"    ")
		}
	}
}

func limitText(l *ratelimitv3.RateLimitPolicy) string {
	fields := append([]string{fmt.Sprintf("name: %q", l.GetName())}, addedText(l)...)
	if l.GetUnlimited() {
		fields = append(fields, "unlimited: true")
	} else {
		fields = append(fields, fmt.Sprintf("unit: %s, requests_per_unit: %d", strings.ToLower(l.GetUnit().String()), l.GetRequestsPerUnit()))
	}
	for _, r := range l.GetReplaces() {
		fields = append(fields, fmt.Sprintf("replaces: [{name: %q}]", r.GetName()))
	}
	return strings.Join(fields, ", ")
}

func drawRequest(t *rapid.T) *ratelimit.Request {
	r := &ratelimit.Request{Domain: "d"}
	for range rapid.IntRange(1, 2).Draw(t, "descriptors") {
		var entries []ratelimit.Entry
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			entries = append(entries, ratelimit.Entry{
				Key:   rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "key"),
				Value: rapid.SampledFrom([]string{"x", "y", "xy", ""}).Draw(t, "value"),
			})
		}
		r.Descriptors = append(r.Descriptors, ratelimit.Descriptor{Entries: entries})
	}
	return r
}

// decider returns a function that decides requests at a fixed time.
func decider(rules *ratelimit.Ruleset) func(*rapid.T, *ratelimit.Request) string {
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }
	engine := ratelimit.MustNew(memstore.MustNew(&memstore.Options{Now: now}), &ratelimit.Options{Now: now})
	engine.Use(rules)
	return func(t *rapid.T, r *ratelimit.Request) string {
		var d ratelimit.Decision
		require.NoError(t, engine.DecideInto(context.Background(), r, &d))
		return fmt.Sprintf("%v %+v", d.Code, d.Statuses)
	}
}
