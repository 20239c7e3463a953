package service

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// outcome is how one kind of failure looks on each transport.
type outcome struct {
	grpc codes.Code
	http int
}

// outcomes is the table kind -> status (ruling 8).
var outcomes = map[ratelimit.ErrorKind]outcome{
	ratelimit.Invalid:      {codes.InvalidArgument, http.StatusBadRequest},
	ratelimit.NotReady:     {codes.Unavailable, http.StatusServiceUnavailable},
	ratelimit.StoreFailure: {codes.Unavailable, http.StatusServiceUnavailable},
}

// Status is the gRPC status of an error of the engine:
//
//	InvalidArgument   a request that can't be decided: no domain, no descriptors, an invalid override
//	Unavailable       the counter store failed, or no configuration is loaded; the message says which
//	Canceled, DeadlineExceeded   the store failed because the caller went away or ran out of time, by ctx
//	Internal          anything else
//
// The message never holds the cause, which may name hosts.
func Status(ctx context.Context, err error) *status.Status {
	if ratelimit.KindOf(err) == ratelimit.StoreFailure && ctx.Err() != nil {
		return status.FromContextError(ctx.Err())
	}
	o, message := classify(err)
	return status.New(o.grpc, message)
}

func classify(err error) (outcome, string) {
	if e, ok := errors.AsType[*ratelimit.Error](err); ok {
		if o, known := outcomes[e.Kind]; known {
			return o, e.Message
		}
	}
	return outcome{codes.Internal, http.StatusInternalServerError}, "internal error"
}
