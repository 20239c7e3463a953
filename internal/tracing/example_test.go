package tracing_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/ashlar-go/ashlar/internal/tracing"
)

func ExampleNew() {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println("spans arrive:", r.Method, r.URL.Path)
	}))
	defer receiver.Close()
	os.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL) // as a deployment would
	defer os.Unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT")

	ctx := context.Background()
	t, err := tracing.New(ctx, 1, &tracing.Options{ServiceNamespace: "edge"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, end := t.StartSpan(ctx, "decision", func() []slog.Attr {
		return []slog.Attr{slog.String("domain", "mongo")}
	})
	end(nil)
	fmt.Println("shutdown:", t.Shutdown(ctx))

	_, err = tracing.New(ctx, 1.5, nil)
	fmt.Println(err)
	// Output:
	// spans arrive: POST /v1/traces
	// shutdown: <nil>
	// tracing: sampling rate of 1.5: use a number from 0 (no trace) to 1 (every trace)
}
