package server_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// storeFunc implements ratelimit.Store with a function.
type storeFunc func(context.Context, []ratelimit.Hit) error

func (f storeFunc) Add(ctx context.Context, hits []ratelimit.Hit) error { return f(ctx, hits) }

// Open calls finish when the server shuts down (REFERENCE.md, 8.3).
func TestCallsInFlightAreAnswered(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil)
	r.store = storeFunc(func(context.Context, []ratelimit.Hit) error {
		if calls.Add(1) == 1 { // a later one may come before new calls are refused
			close(entered)
			<-leave
		}
		return nil
	})
	r.start()
	conn := r.dial()
	result := make(chan error, 1)
	go func() {
		_, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), ask("d", "a"))
		result <- err
	}()
	<-entered
	r.stop()
	r.becomes("new calls are refused", func() bool {
		conn, err := grpc.NewClient(r.addr.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		_, err = ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), ask("d", "b"))
		return status.Code(err) == codes.Unavailable
	})
	close(leave)
	require.NoError(t, <-result)
	require.NoError(t, r.wait())
}

// A call that does not finish is canceled at the deadline, and so is its store call.
func TestCallsAreBrokenOff(t *testing.T) {
	entered := make(chan struct{})
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"SHUTDOWN_TIMEOUT": "100ms"})
	r.store = storeFunc(func(ctx context.Context, _ []ratelimit.Hit) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	})
	r.start()
	conn := r.dial()
	result := make(chan error, 1)
	go func() {
		_, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), ask("d", "a"))
		result <- err
	}()
	<-entered
	r.end()
	require.Equal(t, codes.Unavailable, status.Code(<-result))
	require.Contains(t, r.log.String(), "cut off")
}

// When the store is down, every call fails and is counted, but the log is rate-limited.
func TestFloodOfFailures(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil)
	r.store = storeFunc(func(context.Context, []ratelimit.Hit) error { return errors.New("the store is on fire") })
	r.start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	start := time.Now()
	for range 200 {
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "a"))
		require.Equal(t, codes.Unavailable, status.Code(err))
		require.NotContains(t, err.Error(), "fire", "errors to callers do not reveal details of the store")
	}
	lines := strings.Count(r.log.String(), "the store is on fire")
	require.Positive(t, lines)
	require.LessOrEqual(t, lines, 1+int(time.Since(start)/time.Second))
	require.EqualValues(t, 200, r.count("ratelimit.service.call.should_rate_limit.redis_error"))
	r.end()
}

// connections counts the connections that a client has opened.
type connections struct{ begun atomic.Int32 }

func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (c *connections) HandleRPC(context.Context, stats.RPCStats)                       {}
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnBegin); ok {
		c.begun.Add(1)
	}
}

// A connection that has reached its maximum age is replaced without failed calls.
func TestConnectionAge(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"GRPC_MAX_CONNECTION_AGE": "100ms", "GRPC_MAX_CONNECTION_AGE_GRACE": "10s",
	}).start()
	made := &connections{}
	conn, err := grpc.NewClient(r.addr.GRPC.String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(made))
	require.NoError(t, err)
	defer conn.Close()
	client := ratelimitv3.NewRateLimitServiceClient(conn)
	r.becomes("there is a third connection", func() bool {
		_, err := client.ShouldRateLimit(context.Background(), ask("d", "a"), grpc.WaitForReady(true))
		return err == nil && made.begun.Load() >= 3
	})
	r.end()
}

// LOG_FORMAT selects one of two formats.
func TestLogForms(t *testing.T) {
	text := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	text.end()
	require.Regexp(t, `(?m)^time=\S+ level=INFO msg="configuration loaded" `, text.log.String())
	json := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"LOG_FORMAT": "json"}).start()
	json.end()
	require.Regexp(t, `(?m)^\{"@timestamp":"[^"]+","level":"info","@message":"configuration loaded",`, json.log.String())
	quiet := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"LOG_LEVEL": "error"}).start()
	quiet.end()
	require.Empty(t, quiet.log.String())
}

// Options.AccessLog logs each call and request, with paths as sent and what clients sent shortened and printable.
func TestAccessLog(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil)
	r.lines = true
	r.start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	many := ask("d", "a\n\x1b[31m"+strings.Repeat("x", 100))
	for range 4 {
		many.Descriptors = append(many.Descriptors, ask("d", "b").Descriptors[0])
	}
	for _, call := range []*ratelimitv3.RateLimitRequest{ask("d", "a"), many} {
		_, err := client.ShouldRateLimit(t.Context(), call)
		require.NoError(t, err)
	}
	_, err := client.ShouldRateLimit(t.Context(), ask("", "a"))
	require.Error(t, err)
	code, _ := r.getAt(r.addr.Debug, "/console/try?domain=d")
	require.Equal(t, http.StatusOK, code)
	r.get("/healthcheck")
	r.end()
	log := r.log.String()
	require.Regexp(t, `msg=call method=ShouldRateLimit domain=d descriptors="client=a\?\?\[31mx{33}\.\.\.; client=b; client=b; and 2 more" code=OVER_LIMIT duration=\S+\n`, log)
	require.Regexp(t, `msg=call method=ShouldRateLimit domain=d descriptors="client=a" code=OK `, log)
	require.Regexp(t, `msg=call method=ShouldRateLimit error=".*domain.*" duration=`, log)
	require.Regexp(t, `msg=request method=GET path=/console/try status=200 `, log)
	require.Regexp(t, `msg=request method=GET path=/healthcheck status=200 `, log)
	require.Equal(t, 5, strings.Count(log, "msg=call ")+strings.Count(log, "msg=request "), log)
}

// With LOG_LEVEL=debug, each request is logged with the rules found and the decision, unless
// there are too many.
func TestDecisionsInTheLog(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"LOG_LEVEL": "debug", "LOG_FORMAT": "json"}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	for range 3 {
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "a"))
		require.NoError(t, err)
	}
	_, err := client.ShouldRateLimit(t.Context(), ask("", "a"))
	require.Error(t, err)
	other := ask("d", "a")
	other.Descriptors[0].Entries[0].Key = "tenant"
	_, err = client.ShouldRateLimit(t.Context(), other)
	require.NoError(t, err)
	for _, want := range []string{
		`"level":"debug","@message":"decision","domain":"d","code":"OK","descriptors":["client=a: rule d.client: OK, 1 of 2 per year left"],"others_since_last":0}`,
		`"code":"OVER_LIMIT","descriptors":["client=a: rule d.client: OVER_LIMIT, 0 of 2 per year left"]`,
		`"descriptors":["tenant=a: no rule: OK"]`,
		`"@message":"invalid request","err":"rate limit domain must not be empty"`,
	} {
		require.Contains(t, r.log.String(), want)
	}
	for range 1000 {
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "a"))
		require.NoError(t, err)
	}
	r.becomes("others are counted", func() bool {
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "a"))
		require.NoError(t, err)
		return regexp.MustCompile(`"others_since_last":[1-9]`).MatchString(r.log.String())
	})
	r.end()
}
