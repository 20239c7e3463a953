package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// begunKey is the key of the time in the context of a call over gRPC.
type begunKey struct{}

// beginCall is a grpc.UnaryServerInterceptor that remembers when a call began.
func beginCall(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	return handle(context.WithValue(ctx, begunKey{}, time.Now()), request)
}

// logCall logs a call over gRPC, for Options.AccessLog. Those over HTTP are requests, which are logged there.
func (s *Server) logCall(ctx context.Context, attrs func() []any) {
	begun, ok := ctx.Value(begunKey{}).(time.Time)
	if ok && s.opts.AccessLog && s.log.Enabled(ctx, slog.LevelInfo) {
		all := append([]any{"method", "ShouldRateLimit"}, attrs()...)
		s.log.InfoContext(ctx, "call", append(all, "duration", time.Since(begun))...)
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
