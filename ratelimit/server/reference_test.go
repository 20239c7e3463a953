package server_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// hanging is a store that never replies.
type hanging struct{ entered chan bool }

func (h hanging) Add(ctx context.Context, _ []ratelimit.Hit) error {
	h.entered <- true
	<-ctx.Done()
	return ctx.Err()
}

// REQUEST_TIMEOUT ends calls that a store keeps waiting, and MAX_CONCURRENT_REQUESTS refuses further ones meanwhile.
func TestBoundsOfRequests(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"REQUEST_TIMEOUT": "1s", "MAX_CONCURRENT_REQUESTS": "1", "GRPC_MAX_CONCURRENT_STREAMS": "0",
	})
	store := hanging{make(chan bool, 1)}
	r.store = store
	r.start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	first := make(chan error)
	go func() {
		_, err := client.ShouldRateLimit(t.Context(), ask("d", "x"))
		first <- err
	}()
	<-store.entered
	_, err := client.ShouldRateLimit(t.Context(), ask("d", "x"))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	code, _, _ := r.do("POST", r.addr.HTTP, "/json", "localhost", `{"domain":"d","descriptors":[{"entries":[{"key":"client"}]}]}`)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, codes.DeadlineExceeded, status.Code(<-first))
	r.end()
}

// The limits of all descriptors are in the headers of the response, the tightest one in those of the request.
func TestFurtherHeaders(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": twoUnits}, map[string]string{
		"LIMIT_ALL_DESCRIPTORS_HEADERS_ENABLED": "true", "LIMIT_REQUEST_HEADERS_ENABLED": "true", "LIMIT_REQUEST_LIMIT_HEADER": "X-Limit",
	}).start()
	request := ask("d", "x")
	request.Descriptors = append(request.Descriptors, ask("d", "x").GetDescriptors()...)
	request.Descriptors[1].Entries[0].Key = "burst"
	out, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), request)
	require.NoError(t, err)
	text := func(headers []*corev3.HeaderValue) (all []string) {
		for _, h := range headers {
			all = append(all, h.GetKey()+"="+h.GetValue())
		}
		return all
	}
	require.Equal(t, []string{
		"ratelimit-limit-years=2", "ratelimit-remaining-years=1", "ratelimit-limit-seconds=1000", "ratelimit-remaining-seconds=999",
	}, text(out.GetResponseHeadersToAdd()))
	require.Len(t, out.GetRequestHeadersToAdd(), 3)
	require.Equal(t, "X-Limit=2", text(out.GetRequestHeadersToAdd())[0])
	r.end()
}

// The password of Redis may be in a file.
func TestRedisAuthFile(t *testing.T) {
	redis := redistest.Start(t, &redistest.Options{Password: "hunter2"})
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("hunter2\n"), 0o600))
	environ := map[string]string{"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": redis.Addr, "REDIS_AUTH_FILE": file, "REDIS_OP_TIMEOUT": "5s"}
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, environ).start()
	_, err := ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), ask("d", "x"))
	require.NoError(t, err)
	r.end()
	environ["REDIS_AUTH_FILE"] = file + "x"
	err = prepare(t, map[string]string{"d.yaml": goodConfig}, environ).fail()
	require.ErrorContains(t, err, "AUTH_FILE")
	require.ErrorContains(t, err, file+"x")
}
