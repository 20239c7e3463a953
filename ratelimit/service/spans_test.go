package service_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// spanRecorder records the spans that were started, their parents, and how they ended.
type spanRecorder struct {
	mu    sync.Mutex
	spans []spanRecord
}

type spanRecord struct {
	name, parent string
	attrs        []slog.Attr
	err          error
	ended        bool
}

type parentKey struct{}

func (r *spanRecorder) StartSpan(ctx context.Context, name string, attrs func() []slog.Attr) (context.Context, func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	parent, _ := ctx.Value(parentKey{}).(string)
	r.spans = append(r.spans, spanRecord{name: name, parent: parent, attrs: attrs()})
	i := len(r.spans) - 1
	return context.WithValue(ctx, parentKey{}, name), func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.spans[i].err, r.spans[i].ended = err, true
	}
}

func TestSpans(t *testing.T) {
	spans := &spanRecorder{}
	s := service.New(newEngine(t, nil, nil), &service.Options{Spans: spans})
	request := &ratelimitv3.RateLimitRequest{
		Domain: "d", HitsAddend: 3,
		Descriptors: []*commonv3.RateLimitDescriptor{{
			Entries:    []*commonv3.RateLimitDescriptor_Entry{{Key: "client", Value: "a"}, {Key: "x", Value: "y"}},
			Limit:      &commonv3.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 5, Unit: 2},
			HitsAddend: wrapperspb.UInt64(7), IsNegativeHits: true,
		}},
	}
	_, err := s.ShouldRateLimit(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, spans.spans, 1)
	require.Equal(t, "ShouldRateLimit Execution", spans.spans[0].name)
	require.True(t, spans.spans[0].ended)
	require.Equal(t, []slog.Attr{
		slog.String("domain", "d"),
		slog.String("request string", `domain:"d" descriptors:{entries:{key:"client" value:"a"} entries:{key:"x" value:"y"} `+
			`limit:{requests_per_unit:5 unit:MINUTE} hits_addend:{value:7} is_negative_hits:true} hits_addend:3`),
	}, spans.spans[0].attrs)

	w := post(s.JSON(), `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"b"}]}]}`)
	require.Equal(t, 200, w.Code)
	require.Len(t, spans.spans, 3)
	require.Equal(t, "NewJsonHandler Remaining Execution", spans.spans[1].name)
	require.Equal(t, "ShouldRateLimit Execution", spans.spans[2].name)
	require.Equal(t, "NewJsonHandler Remaining Execution", spans.spans[2].parent)
	require.True(t, spans.spans[1].ended)
	require.True(t, spans.spans[2].ended)
}

func TestSpanOfFailure(t *testing.T) {
	spans := &spanRecorder{}
	s := service.New(newEngine(t, storeFunc(failing), nil), &service.Options{Spans: spans})
	_, err := s.ShouldRateLimit(t.Context(), ask("a"))
	require.Error(t, err)
	require.Len(t, spans.spans, 1)
	require.ErrorIs(t, spans.spans[0].err, errSecret)
}

type durations chan time.Duration

func (d durations) Record(took time.Duration) { d <- took }

// Every gRPC call is recorded once, whichever way the service was registered and
// whether it succeeded, and calls over HTTP are not.
func TestCallsAreRecorded(t *testing.T) {
	for _, setup := range setups() {
		t.Run(setup.name, func(t *testing.T) {
			took := make(durations, 10)
			s := service.New(newEngine(t, nil, nil), &service.Options{Calls: took})
			client := setup.start(t, s)
			_, err := client.ShouldRateLimit(t.Context(), ask("a"))
			require.NoError(t, err)
			require.Len(t, took, 1)
			require.Positive(t, <-took)
			_, err = client.ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{})
			require.Error(t, err)
			require.Len(t, took, 1)
			<-took
			post(s.JSON(), `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"b"}]}]}`)
			require.Empty(t, took)
		})
	}
}
