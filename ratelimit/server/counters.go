package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// buildCounters builds the service for counters if an admin token is set.
func (s *Server) buildCounters(context.Context) error {
	token, err := s.settings.ReadAdminToken()
	if err != nil || token == "" {
		return err
	}
	denied := &throttle{}
	s.counters, err = s.service.Counters(&service.CountersOptions{
		Token: token,
		OnDenied: func(ctx context.Context, address string, err error) {
			if suppressed, ok := denied.allow(1); ok {
				s.log.WarnContext(ctx, "access to counters denied", "from", address, "err", err, "others_since_last", suppressed)
			}
		},
		OnCall: s.logCountersCall,
	})
	if err != nil {
		return fmt.Errorf("ADMIN_TOKEN: %w", err)
	}
	return nil
}

// registerCounters registers the service for counters and gRPC reflection, if they are on.
func (s *Server) registerCounters(g *grpc.Server) {
	if s.counters != nil {
		s.counters.Register(g)
	}
	if !s.settings.GRPCReflection {
		return
	}
	all, err := service.Descriptors()
	if err != nil {
		s.log.Error("gRPC reflection can't describe all services", "err", err)
		reflection.Register(g)
		return
	}
	opts := reflection.ServerOptions{Services: g, DescriptorResolver: all}
	reflectionv1.RegisterServerReflectionServer(g, reflection.NewServerV1(opts))
	reflectionv1alpha.RegisterServerReflectionServer(g, reflection.NewServer(opts))
}

// loggedCounters limits the counters in a record of the log; more are in further records.
const loggedCounters = 20

// logCountersCall logs each change of counters, and reads that fail.
func (s *Server) logCountersCall(ctx context.Context, c *service.CountersCall) {
	if c.Method == "Get" {
		if c.Err != nil {
			s.logFailure(ctx, c.Err)
		}
		return
	}
	lines := make([]string, len(c.Request.Descriptors))
	for i := range lines {
		lines[i] = changeLine(c, i)
	}
	attrs := []slog.Attr{
		slog.String("change", c.Method), slog.String("from", c.Address),
		slog.String("domain", printable.Truncate(c.Request.Domain, maxText)),
	}
	message := "counters changed"
	if c.Err != nil {
		message = "counters could not be changed"
		attrs = append(attrs, slog.Any("err", c.Err))
	}
	for some := range slices.Chunk(lines, loggedCounters) {
		s.log.LogAttrs(ctx, slog.LevelWarn, message, append(slices.Clip(attrs), slog.Any("descriptors", some))...)
	}
}

// changeLine returns "<entries>: <hits> given back, <used> used".
func changeLine(c *service.CountersCall, i int) string {
	d := &c.Request.Descriptors[i]
	line := entriesText(d.Entries, maxText)
	if c.Err != nil {
		return line
	}
	line += ": "
	if c.Method == "GiveBack" {
		hits := uint64(max(1, c.Request.HitsAddend)) // REFERENCE.md, 1.2
		if d.HitsAddend != nil {
			hits = *d.HitsAddend
		}
		line += strconv.FormatUint(hits, 10) + " given back, "
	}
	if !c.States[i].Limited {
		return line + "no limit"
	}
	return line + strconv.FormatUint(c.States[i].Used, 10) + " used"
}
