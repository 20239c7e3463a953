package main

import (
	"fmt"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
)

// descriptorsFlag collects the descriptors of repeated flags.
type descriptorsFlag struct {
	list [][]*commonv3.RateLimitDescriptor_Entry
}

// String is how the descriptors are shown among the flags: each in brackets, with its
// pairs in angle brackets and the spaces that the reference service's client has.
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

// Set adds one descriptor. Values may hold "=" but no comma.
func (d *descriptorsFlag) Set(text string) error {
	var entries []*commonv3.RateLimitDescriptor_Entry
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return fmt.Errorf("invalid descriptor list: %q is not name=value", pair)
		}
		entries = append(entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	d.list = append(d.list, entries)
	return nil
}
