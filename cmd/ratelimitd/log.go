package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"google.golang.org/grpc/grpclog"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// newLog returns the log of LOG_LEVEL and LOG_FORMAT, even if other settings are invalid.
func newLog(w io.Writer, environ map[string]string) *slog.Logger {
	only := map[string]string{"LOG_LEVEL": environ["LOG_LEVEL"], "LOG_FORMAT": environ["LOG_FORMAT"]}
	s, err := settings.Parse(only)
	if err != nil {
		delete(only, "LOG_LEVEL")
		if s, err = settings.Parse(only); err != nil {
			s = settings.Default()
		}
	}
	return server.NewLogTo(w, s)
}

func logsJSON(environ map[string]string) bool {
	return strings.EqualFold(environ["LOG_FORMAT"], "json")
}

// reported is an error that was logged. It has the exit code of the error and no text, which
// package cli would print as it is.
type reported struct{ error }

// Error returns "".
func (reported) Error() string { return "" }

// Unwrap hides the error: what package cli knows of it is in ExitCode.
func (reported) Unwrap() error { return nil }

// ExitCode returns the exit code of the error.
func (r reported) ExitCode() int {
	if usage, ok := errors.AsType[*cli.UsageError](r.error); ok {
		return usage.ExitCode()
	}
	return cli.ExitFailure
}

// logError logs an error if the log is in JSON, and returns it as reported.
func logError(ctx context.Context, env cli.Env, err error) error {
	if err == nil || !logsJSON(env.Environ) || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return err
	}
	newLog(env.Stderr, env.Environ).Error("ratelimitd ends", "err", err)
	return reported{err}
}

// announce says where the server listens, whatever the log level.
func announce(env cli.Env, s *settings.Settings, a server.Addresses) {
	if !logsJSON(env.Environ) {
		fmt.Fprintf(env.Stderr, "ratelimitd: gRPC on %s, HTTP on %s, debug on %s, counters %s (%s)\n", a.GRPC, a.HTTP, a.Debug, s.Backend, s.BackendReason)
		return
	}
	always := server.NewLogTo(env.Stderr, &settings.Settings{LogLevel: "INFO", LogFormat: "json"})
	always.Info("ratelimitd is ready", "grpc", a.GRPC.String(), "http", a.HTTP.String(), "debug", a.Debug.String(),
		"counters", s.Backend, "because", s.BackendReason)
}

// grpcLog is the log of the gRPC library, which by default writes errors only. The library calls the methods that end
// in ln; the others write nothing.
type grpcLog struct {
	grpclog.LoggerV2
	log *slog.Logger
}

func newGRPCLog(log *slog.Logger) grpcLog {
	return grpcLog{grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard), log}
}

// Warningln and the others implement grpclog.LoggerV2.
func (l grpcLog) Warningln(args ...any) { l.log.Debug(sprintln(args)) }
func (l grpcLog) Errorln(args ...any)   { l.log.Error(sprintln(args)) }

// Fatalln ends the process, as the library expects.
func (l grpcLog) Fatalln(args ...any) {
	l.log.Error(sprintln(args))
	os.Exit(cli.ExitFailure)
}

func sprintln(args []any) string { return strings.TrimSuffix(fmt.Sprintln(args...), "\n") }
