package service

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Spans starts spans of a trace. attrs is called only if somebody will see what it
// returns. The function returned ends the span, with the error if there was one.
type Spans interface {
	StartSpan(ctx context.Context, name string, attrs func() []slog.Attr) (context.Context, func(error))
}

// Names of spans (reference 1.17).
const (
	decisionSpan = "ShouldRateLimit Execution"
	jsonSpan     = "NewJsonHandler Remaining Execution"
)

// span starts the span of a decision. It takes the domain and the whole request with
// it, as text of its own: the request's memory is used again.
func (s *Service) span(ctx context.Context, c *call) (context.Context, func(error)) {
	return s.spans.StartSpan(ctx, decisionSpan, func() []slog.Attr {
		return []slog.Attr{
			slog.String("domain", strings.Clone(c.request.Domain)),
			slog.String("request string", requestText(&c.request)),
		}
	})
}

// requestText is a request for people.
func requestText(r *ratelimit.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "domain:%q", r.Domain)
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		b.WriteString(" descriptors:{")
		for j, e := range d.Entries {
			if j > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "entries:{key:%q value:%q}", e.Key, e.Value)
		}
		if d.Limit != nil {
			fmt.Fprintf(&b, " limit:{requests_per_unit:%d unit:%s}", d.Limit.RequestsPerUnit, strings.ToUpper(d.Limit.Unit.String()))
		}
		if d.HitsAddend != nil {
			fmt.Fprintf(&b, " hits_addend:{value:%d}", *d.HitsAddend)
		}
		b.WriteByte('}')
	}
	if r.HitsAddend != 0 {
		fmt.Fprintf(&b, " hits_addend:%d", r.HitsAddend)
	}
	return b.String()
}
