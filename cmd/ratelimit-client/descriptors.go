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

// String formats the descriptors as the reference service's client does: each in brackets,
// its pairs in angle brackets, with the same spaces.
func (d *descriptorsFlag) String() string {
	var b strings.Builder
	for _, entries := range d.list {
		b.WriteByte('[')
		for _, e := range entries {
			b.WriteString(" <key=" + e.GetKey() + ", value=" + e.GetValue() + "> ")
		}
		b.WriteString("] ")
	}
	return b.String()
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
