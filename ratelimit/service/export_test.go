package service

import (
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Decode runs the fast decoder. It reports false if the decoder left the request to the
// generated code.
func Decode(b []byte) (ratelimit.Request, bool) {
	c := &call{bounds: newBounds(&Options{})}
	ok := c.decode(b)
	return c.request, ok
}

// Convert converts a request of the generated type to the engine's.
func Convert(in *ratelimitv3.RateLimitRequest) (ratelimit.Request, error) {
	c := &call{bounds: newBounds(&Options{})}
	err := c.convert(in)
	return c.request, err
}

// Encode runs the fast encoder.
func (s *Service) Encode(d *ratelimit.Decision) []byte { return s.appendResponse(nil, d) }

// Response returns the response as the generated type.
func (s *Service) Response(d *ratelimit.Decision) *ratelimitv3.RateLimitResponse {
	return s.response(&call{decision: *d})
}
