package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// accessLog logs decisions over gRPC, for Options.AccessLog.
type accessLog struct{ log *slog.Logger }

// begunKey is the key of the time in the context of a call over gRPC.
type begunKey struct{}

// begin is a grpc.UnaryServerInterceptor that remembers when a call began.
func (accessLog) begin(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	return handle(context.WithValue(ctx, begunKey{}, time.Now()), request)
}

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
	var texts []string
	for i := range all[:min(len(all), maxAccessDescriptors)] {
		entries := all[i].Entries
		text := entriesText(entries[:min(len(entries), maxAccessEntries)], maxAccessText)
		if len(entries) > maxAccessEntries {
			text += ",..."
		}
		texts = append(texts, text)
	}
	if more := len(all) - maxAccessDescriptors; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
