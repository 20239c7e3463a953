package service

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Headers of reservations, as gRPC metadata or of POST /json (REFERENCE.md, 3.9). The reference service ignores them.
const (
	// ReserveHeader of a request reserves its hits, for a duration such as 90s.
	ReserveHeader = "x-ashlar-reserve"
	// ReservationHeader of the response is the reservation. It is absent if nothing was reserved.
	ReservationHeader = "x-ashlar-reservation"
	// SettleHeader of a request with the same descriptors is a reservation: the hits are how many there were.
	SettleHeader = "x-ashlar-settle"
	// UnchargedHeader of the response is how many of them are not charged, because of max_debt.
	UnchargedHeader = "x-ashlar-uncharged"
)

// reserving is what the headers of a call say. nil is a call without.
type reserving struct {
	reserve, settle string
	name, value     string // of the response; empty for none
}

// reserving returns nil if the rules keep no reservations, or the headers have none.
func (s *Service) reserving(get func(name string) string) *reserving {
	if !s.engine.KeepsReservations() {
		return nil
	}
	r := &reserving{reserve: get(ReserveHeader), settle: get(SettleHeader)}
	if r.reserve == "" && r.settle == "" {
		return nil
	}
	return r
}

// incoming returns a header of a gRPC call.
func incoming(ctx context.Context) func(string) string {
	return func(name string) string {
		for _, value := range metadata.ValueFromIncomingContext(ctx, name) {
			return value
		}
		return ""
	}
}

// send adds the header of the response to a gRPC call.
func (r *reserving) send(ctx context.Context) {
	if r != nil && r.value != "" {
		_ = grpc.SetHeader(ctx, metadata.Pairs(r.name, r.value)) // fails outside of a server
	}
}

// decide decides the call.
func (r *reserving) decide(ctx context.Context, e *ratelimit.Engine, c *call) error {
	switch {
	case r == nil:
		return e.DecideInto(ctx, &c.request, &c.decision)
	case r.settle != "":
		uncharged, err := e.SettleInto(ctx, &c.request, r.settle, &c.decision)
		r.name, r.value = UnchargedHeader, strconv.FormatUint(uncharged, 10)
		return err
	}
	ttl, err := time.ParseDuration(r.reserve)
	if err != nil {
		return &ratelimit.Error{Kind: ratelimit.Invalid, Message: "the header " + ReserveHeader + " is no duration: write one such as 90s"}
	}
	err = e.ReserveInto(ctx, &c.request, ttl, &c.decision)
	if err == nil {
		r.name, r.value = ReservationHeader, c.decision.Reservation()
	}
	return err
}
