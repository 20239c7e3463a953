package main

import (
	"fmt"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// descriptors are those of the flags -descriptors.
type descriptors []*commonv3.RateLimitDescriptor

// text returns a descriptor as in the flag.
func (d descriptors) text(i int) string {
	return printable.Join(d[i].Entries, ",", func(e *commonv3.RateLimitDescriptor_Entry) string { return e.GetKey() + "=" + e.GetValue() })
}

// add parses and adds one descriptor. Values may contain "=" but no comma.
func (d *descriptors) add(list string) error {
	made := &commonv3.RateLimitDescriptor{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return fmt.Errorf("invalid descriptor list: %q does not have the form name=value", pair)
		}
		made.Entries = append(made.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	*d = append(*d, made)
	return nil
}
