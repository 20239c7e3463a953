package service

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Decode runs the fast decoder. It reports false if that gave up.
func Decode(b []byte) (ratelimit.Request, bool) {
	c := &call{maxDescriptors: 1000}
	ok := c.decode(b)
	return c.request, ok
}

// Convert makes the engine's request of the generated type.
func Convert(in *ratelimitv3.RateLimitRequest) (ratelimit.Request, error) {
	c := &call{maxDescriptors: 1000}
	err := c.convert(in)
	return c.request, err
}

// Encode runs the fast encoder, and Response the one by the generated type.
func (s *Service) Encode(d *ratelimit.Decision) []byte { return s.appendResponse(nil, d) }

// Response is the answer in the generated type.
func (s *Service) Response(d *ratelimit.Decision) *ratelimitv3.RateLimitResponse {
	return s.response(&call{decision: *d})
}
