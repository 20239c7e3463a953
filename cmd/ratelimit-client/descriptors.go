package main

import (
	"fmt"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
)

// descriptorsFlag collects the values of the repeatable flag -descriptors.
type descriptorsFlag struct {
	list [][]*commonv3.RateLimitDescriptor_Entry
}

// String returns nothing: the flag has no default.
func (d *descriptorsFlag) String() string { return "" }

// Type implements pflag.Value.
func (d *descriptorsFlag) Type() string { return "descriptors" }

// text returns a descriptor as in the flag.
func (d *descriptorsFlag) text(i int) string {
	pairs := make([]string, len(d.list[i]))
	for j, e := range d.list[i] {
		pairs[j] = e.GetKey() + "=" + e.GetValue()
	}
	return strings.Join(pairs, ",")
}

// Set parses and adds one descriptor. Values may contain "=" but no comma.
func (d *descriptorsFlag) Set(list string) error {
	var entries []*commonv3.RateLimitDescriptor_Entry
	for pair := range strings.SplitSeq(list, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return fmt.Errorf("invalid descriptor list: %q does not have the form name=value", pair)
		}
		entries = append(entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	d.list = append(d.list, entries)
	return nil
}
