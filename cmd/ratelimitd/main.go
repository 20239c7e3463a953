// Command ratelimitd is a server of the v3 rate limit service. It is configured by
// environment variables; -settings lists them.
package main

import (
	"log/slog"
	"os"

	"google.golang.org/grpc/grpclog"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func main() {
	// Libraries log where the program does.
	log := newLog(os.Stderr, cli.Environ(os.Environ()))
	slog.SetDefault(log)
	redisstore.SetLogger(log)
	if os.Getenv("GRPC_GO_LOG_SEVERITY_LEVEL") == "" {
		grpclog.SetLoggerV2(newGRPCLog(log))
	}
	cli.Main("ratelimitd", run)
}
