package service_test

import (
	"fmt"
	"net/http"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// reservingEngine allows 100 hits a minute of each client, with reservations.
func reservingEngine(t *testing.T) *ratelimit.Engine {
	limit := ratelimit.Per(100, ratelimit.Minute)
	limit.Algorithm, limit.Reservations = ratelimit.SlidingWindow, true
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{{Key: "client", Limit: &limit}}}}, nil)
	require.NoError(t, err)
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	require.NoError(t, engine.Use(rules))
	return engine
}

func TestReserveOverGRPC(t *testing.T) {
	for _, setup := range setups() {
		t.Run(setup.name, func(t *testing.T) {
			client := setup.start(t, service.New(reservingEngine(t), nil))
			call := func(hits uint64, name, value string) (*ratelimitv3.RateLimitResponse, metadata.MD, error) {
				in := ask("a")
				in.Descriptors[0].HitsAddend = wrapperspb.UInt64(hits)
				var headers metadata.MD
				out, err := client.ShouldRateLimit(metadata.AppendToOutgoingContext(t.Context(), name, value), in, grpc.Header(&headers))
				return out, headers, err
			}
			out, headers, err := call(80, service.ReserveHeader, "90s")
			require.NoError(t, err)
			require.EqualValues(t, 20, out.GetStatuses()[0].GetLimitRemaining())
			reservation := headers.Get(service.ReservationHeader)
			require.Len(t, reservation, 1)

			out, headers, err = call(21, service.ReserveHeader, "90s")
			require.NoError(t, err)
			require.Equal(t, ratelimitv3.RateLimitResponse_OVER_LIMIT, out.GetOverallCode())
			require.Empty(t, headers.Get(service.ReservationHeader))

			for range 2 { // which may be repeated
				out, headers, err = call(250, service.SettleHeader, reservation[0])
				require.NoError(t, err)
				require.Equal(t, ratelimitv3.RateLimitResponse_OK, out.GetOverallCode())
				require.EqualValues(t, 0, out.GetStatuses()[0].GetLimitRemaining())
			}
			require.Equal(t, []string{"0"}, headers.Get(service.UnchargedHeader))

			for name, value := range map[string]string{service.ReserveHeader: "a minute", service.SettleHeader: "no reservation"} {
				_, _, err = call(1, name, value)
				require.Equal(t, codes.InvalidArgument, status.Code(err), name)
			}
		})
	}
}

func TestReserveAsJSON(t *testing.T) {
	h := service.New(reservingEngine(t), nil).JSON()
	body := func(hits int) string {
		return fmt.Sprintf(`{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"a"}],"hitsAddend":%d}]}`, hits)
	}
	w := send(h, http.MethodPost, body(80), map[string]string{service.ReserveHeader: "90s"})
	require.Equal(t, http.StatusOK, w.Code)
	reservation := w.Header().Get(service.ReservationHeader)
	require.NotEmpty(t, reservation)
	require.Equal(t, http.StatusTooManyRequests, send(h, http.MethodPost, body(21), map[string]string{service.ReserveHeader: "90s"}).Code)
	w = send(h, http.MethodPost, body(250), map[string]string{service.SettleHeader: reservation})
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "50", w.Header().Get(service.UnchargedHeader))
	require.Equal(t, http.StatusBadRequest, send(h, http.MethodPost, body(1), map[string]string{service.ReserveHeader: "soon"}).Code)
	require.Equal(t, http.StatusTooManyRequests, post(h, body(1)).Code)
}
