package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	grpcstats "google.golang.org/grpc/stats"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// accessLog logs decisions over gRPC, for Options.AccessLog. As a stats.Handler it remembers when a call began.
type accessLog struct{ log *slog.Logger }

// begunKey is the key of the time in the context of a call over gRPC.
type begunKey struct{}

// TagRPC implements stats.Handler.
func (accessLog) TagRPC(ctx context.Context, _ *grpcstats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, begunKey{}, time.Now())
}

// TagConn, HandleRPC and HandleConn implement stats.Handler.
func (accessLog) TagConn(ctx context.Context, _ *grpcstats.ConnTagInfo) context.Context { return ctx }
func (accessLog) HandleRPC(context.Context, grpcstats.RPCStats)                         {}
func (accessLog) HandleConn(context.Context, grpcstats.ConnStats)                       {}

// decided logs a decision over gRPC. Those over HTTP are requests, which are logged there.
func (a accessLog) decided(ctx context.Context, r *ratelimit.Request, d *ratelimit.Decision) {
	begun, ok := ctx.Value(begunKey{}).(time.Time)
	if !ok || !a.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "call", slog.String("method", "ShouldRateLimit"),
		slog.String("domain", printable.Truncate(r.Domain, maxAccessText)), slog.String("descriptors", shortDescriptors(r.Descriptors)),
		slog.String("code", d.Code.String()), slog.Duration("duration", time.Since(begun)))
}

// failed logs a call over gRPC that was not decided.
func (a accessLog) failed(ctx context.Context, err error) {
	if begun, ok := ctx.Value(begunKey{}).(time.Time); ok {
		a.log.LogAttrs(ctx, slog.LevelInfo, "call", slog.String("method", "ShouldRateLimit"),
			slog.String("error", printable.Truncate(err.Error(), maxText)), slog.Duration("duration", time.Since(begun)))
	}
}

const (
	maxAccessText        = 40 // bytes of a text of a request in its line
	maxAccessDescriptors = 3
	maxAccessEntries     = 4 // of a descriptor
)

// shortDescriptors writes the first entries of the first descriptors, such as "client=bob; method=POST,path=/api".
func shortDescriptors(all []ratelimit.Descriptor) string {
	var b strings.Builder
	for i := range all[:min(len(all), maxAccessDescriptors)] {
		if i > 0 {
			b.WriteString("; ")
		}
		entries := all[i].Entries
		for j, e := range entries[:min(len(entries), maxAccessEntries)] {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(printable.Truncate(e.Key, maxAccessText) + "=" + printable.Truncate(e.Value, maxAccessText))
		}
		if len(entries) > maxAccessEntries {
			b.WriteString(",...")
		}
	}
	if more := len(all) - maxAccessDescriptors; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}
