package xds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
)

// Header is sent to the server when a stream is opened.
type Header struct {
	// Name consists of ASCII letters, digits, "-", "_" and "."; it is sent in lower
	// case. Names that belong to the transport are refused.
	Name string
	// Value is printable ASCII, or any bytes if Name ends in "-bin".
	Value string
}

// String shows the name only, because values are often secrets.
func (h Header) String() string { return h.Name + ": ***" }

// LogValue is String.
func (h Header) LogValue() slog.Value { return slog.StringValue(h.String()) }

// reserved are the names that gRPC sets itself, and leaves out if they come from
// elsewhere, and those that HTTP/2 forbids.
var reserved = []string{
	"connection", "content-length", "content-type", "host", "keep-alive",
	"proxy-connection", "te", "transfer-encoding", "upgrade", "user-agent",
}

func (h Header) check(i int) error {
	name := strings.ToLower(h.Name)
	switch {
	case name == "":
		return fmt.Errorf("Options.Headers[%d]: the name is empty", i)
	case strings.ContainsFunc(name, notInName):
		return fmt.Errorf("Options.Headers[%d] %q: a name consists of ASCII letters, digits, '-', '_' and '.'", i, h.Name)
	case slices.Contains(reserved, name) || strings.HasPrefix(name, "grpc-"):
		return fmt.Errorf("Options.Headers[%d] %q: the name belongs to the transport: use another", i, h.Name)
	case !strings.HasSuffix(name, "-bin") && strings.ContainsFunc(h.Value, notInValue):
		return errors.New(valueFault(i, h.Name))
	}
	return nil
}

// valueFault does not show the value, of which the byte at fault is a part.
func valueFault(i int, name string) string {
	return fmt.Sprintf("Options.Headers[%d] %q: the value must be printable ASCII; a name that ends in '-bin' takes any bytes", i, name)
}

func notInName(c rune) bool {
	return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.')
}

func notInValue(c rune) bool { return c < ' ' || c > '~' }

// withHeaders adds headers to the stream that is opened with ctx.
func withHeaders(ctx context.Context, headers []Header) context.Context {
	for _, h := range headers {
		ctx = metadata.AppendToOutgoingContext(ctx, h.Name, h.Value)
	}
	return ctx
}
