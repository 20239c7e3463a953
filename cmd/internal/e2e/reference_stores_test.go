//go:build unix

package e2e_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/internal/redistest"
)

// The tests in files named reference_*_test.go check the behaviour that the integration tests of
// envoyproxy/ratelimit check, with ratelimitd as a process and real stores: with each store, one
// client and two limits of a request up to and over the limit, with the statistics after each call.

// limits has limits per year, because tests must not depend on the time of day, and one per second,
// which is counted in a store of its own if there is one.
const limits = `domain: shop
descriptors:
  - key: burst
    rate_limit: {unit: second, requests_per_unit: 50}
  - key: client
    rate_limit: {unit: year, requests_per_unit: 20}
  - key: order
    rate_limit: {unit: year, requests_per_unit: 10}
`

// limiter is a ratelimitd and a gRPC client of it.
type limiter struct {
	*server
	client ratelimitv3.RateLimitServiceClient
}

// limit starts a ratelimitd.
func limit(t *testing.T, files, environ map[string]string) *limiter {
	t.Helper()
	s := serve(t, files, environ)
	conn, err := grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &limiter{s, ratelimitv3.NewRateLimitServiceClient(conn)}
}

// descriptor returns a descriptor with entries like "key=value".
func descriptor(entries ...string) *commonv3.RateLimitDescriptor {
	d := &commonv3.RateLimitDescriptor{}
	for _, e := range entries {
		key, value, _ := strings.Cut(e, "=")
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	return d
}

// descriptors returns a list of one descriptor.
func descriptors(entries ...string) []*commonv3.RateLimitDescriptor {
	return []*commonv3.RateLimitDescriptor{descriptor(entries...)}
}

// ask makes a call and returns the overall code and the statuses as "code remaining/limit unit".
func (l *limiter) ask(domain string, descriptors ...*commonv3.RateLimitDescriptor) string {
	l.t.Helper()
	return l.send(&ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: descriptors})
}

func (l *limiter) send(in *ratelimitv3.RateLimitRequest) string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), timeout)
	defer cancel()
	out, err := l.client.ShouldRateLimit(ctx, in)
	require.NoError(l.t, err)
	text := out.GetOverallCode().String()
	for _, s := range out.GetStatuses() {
		text += "; " + s.GetCode().String()
		if c := s.GetCurrentLimit(); c != nil {
			text += fmt.Sprintf(" %d/%d %v", s.GetLimitRemaining(), c.GetRequestsPerUnit(), c.GetUnit())
		} else if s.GetLimitRemaining() != 0 {
			text += fmt.Sprintf(" %d", s.GetLimitRemaining())
		}
	}
	return text
}

// statistic returns the value of a statistic, 0 if there is none.
func (l *limiter) statistic(name string) int {
	l.t.Helper()
	_, page := httpDo(l.t, http.MethodGet, "http://"+l.debug+"/stats", "")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `: (\d+)$`).FindStringSubmatch(page)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	require.NoError(l.t, err)
	return n
}

// counts returns statistics of a limit in the order of the arguments.
func (l *limiter) counts(limit string, kinds ...string) (out []int) {
	l.t.Helper()
	for _, kind := range kinds {
		out = append(out, l.statistic("ratelimit.service.rate_limit."+limit+"."+kind))
	}
	return out
}

func TestReferenceStores(t *testing.T) {
	t.Parallel()
	for name, store := range referenceStores() {
		for _, cache := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cache %v", name, cache), func(t *testing.T) {
				t.Parallel()
				environ, secondKeys := store(t)
				if cache {
					environ["LOCAL_CACHE_SIZE_IN_BYTES"] = "1000"
				}
				l := limit(t, map[string]string{"shop.yaml": limits}, environ)
				l.basics(cache)
				if secondKeys != nil {
					require.Regexp(t, `^\[shop_burst_\w*_\d+\]$`, fmt.Sprint(secondKeys()), "the store of limits per second has these, and only these")
				}
				require.True(t, l.healthy())
				l.terminate()
			})
		}
	}
}

// basics is the basic test of the reference service.
func (l *limiter) basics(cache bool) {
	t := l.t
	t.Helper()
	require.Equal(t, "OK; OK", l.ask("unknown", descriptor("client=x")))
	require.Equal(t, "OK; OK", l.ask("shop", descriptor("unknown=x")))
	require.Equal(t, "OK; OK 49/50 SECOND", l.ask("shop", descriptor("burst=x")))
	for i := range 25 {
		want := fmt.Sprintf("OK; OK %d/20 YEAR", 19-i)
		if i >= 20 {
			want = "OVER_LIMIT; OVER_LIMIT 0/20 YEAR"
		}
		require.Equal(t, want, l.ask("shop", descriptor("client=one")), "call %d", i)
	}
	cached := func(n int) int {
		if cache {
			return n
		}
		return 0
	}
	kinds := []string{"total_hits", "within_limit", "near_limit", "over_limit", "over_limit_with_local_cache"}
	require.Equal(t, []int{25, 20, 4, 5, cached(4)}, l.counts("shop.client", kinds...))

	for i := range 15 {
		want := fmt.Sprintf("OK; OK %d/20 YEAR; OK %d/10 YEAR", 19-i, 9-i)
		if i >= 10 {
			want = fmt.Sprintf("OVER_LIMIT; OK %d/20 YEAR; OVER_LIMIT 0/10 YEAR", 19-i)
		}
		require.Equal(t, want, l.ask("shop", descriptor("client=two"), descriptor("order=two")), "call %d", i)
	}
	require.Equal(t, []int{40, 35, 4, 5, cached(4)}, l.counts("shop.client", kinds...))
	require.Equal(t, []int{15, 10, 2, 5, cached(4)}, l.counts("shop.order", kinds...))
	// Each lookup is a hit or a miss; of 25 and twice 15 lookups, eight were for remembered counters.
	require.Equal(t, []int{cached(8), cached(48)}, []int{l.statistic("ratelimit.localcache.hitCount"), l.statistic("ratelimit.localcache.missCount")})
	code, body := httpDo(t, http.MethodPost, "http://"+l.http+"/json", `{"domain":"shop","descriptors":[{"entries":[{"key":"client","value":"one"}]}]}`)
	require.Equal(t, http.StatusTooManyRequests, code, body)
	code, body = httpDo(t, http.MethodPost, "http://"+l.http+"/json", `{"domain":"shop","descriptors":[{"entries":[{"key":"client","value":"three"}]}]}`)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"limitRemaining":19`)
}

// startStore starts a store and returns the settings for it, and a function that lists the counters
// of limits per second, if these are in a store of their own.
type startStore func(t *testing.T) (environ map[string]string, secondKeys func() []string)

func referenceStores() map[string]startStore {
	only := func(environ func(t *testing.T) map[string]string) startStore {
		return func(t *testing.T) (map[string]string, func() []string) { return environ(t), nil }
	}
	return map[string]startStore{
		"embedded": only(func(*testing.T) map[string]string { return map[string]string{"BACKEND_TYPE": "embedded"} }),
		"Redis": only(func(t *testing.T) map[string]string {
			return map[string]string{"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": redistest.Start(t, nil).Addr}
		}),
		"Redis, per second": func(t *testing.T) (map[string]string, func() []string) { return twoRedis(t, nil) },
		"Redis, password": func(t *testing.T) (map[string]string, func() []string) {
			return twoRedis(t, &redistest.Options{Password: "password123"})
		},
		"Redis, TLS and password": only(func(t *testing.T) map[string]string {
			s := redistest.Start(t, &redistest.Options{Password: "password123", TLS: true})
			environ := map[string]string{"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": s.Addr, "REDIS_AUTH": "password123", "REDIS_TLS": "true"}
			maps.Copy(environ, clientFiles(t, s))
			return environ
		}),
		"Redis cluster": only(func(t *testing.T) map[string]string {
			c := redistest.StartCluster(t, 3, false, nil)
			return map[string]string{"REDIS_TYPE": "cluster", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": strings.Join(c.Addrs(), ",")}
		}),
		"Redis sentinel": only(func(t *testing.T) map[string]string {
			s := redistest.StartSentinel(t, nil, "")
			return map[string]string{"REDIS_TYPE": "sentinel", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": s.Name + "," + strings.Join(s.Addrs, ",")}
		}),
		"memcached": only(func(t *testing.T) map[string]string {
			return map[string]string{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": memcachetest.Start(t, nil).Addr}
		}),
		"memcached, two nodes": only(func(t *testing.T) map[string]string {
			return map[string]string{"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": memcachetest.Start(t, nil).Addr + "," + memcachetest.Start(t, nil).Addr}
		}),
	}
}

// twoRedis starts a Redis server and one for limits per second.
func twoRedis(t *testing.T, opts *redistest.Options) (map[string]string, func() []string) {
	t.Helper()
	first, second := redistest.Start(t, opts), redistest.Start(t, opts)
	environ := map[string]string{
		"REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": first.Addr, "REDIS_PERSECOND": "true",
		"REDIS_PERSECOND_SOCKET_TYPE": "tcp", "REDIS_PERSECOND_URL": second.Addr,
	}
	if opts != nil {
		environ["REDIS_AUTH"], environ["REDIS_PERSECOND_AUTH"] = opts.Password, opts.Password
	}
	return environ, func() []string {
		keys, err := second.Client().Keys(context.Background(), "*").Result()
		require.NoError(t, err)
		return keys
	}
}

// clientFiles writes the certificates that a client of the server needs.
func clientFiles(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, blocks ...[]byte) string {
		var text []byte
		for _, b := range blocks {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})...)
		}
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	conn, err := tls.Dial("tcp", s.Addr, s.ClientTLS())
	require.NoError(t, err)
	chain := conn.ConnectionState().VerifiedChains[0]
	conn.Close()
	client := s.ClientTLS().Certificates[0]
	key, err := x509.MarshalECPrivateKey(client.PrivateKey.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	return map[string]string{
		"REDIS_TLS_CACERT":      write("ca.pem", "CERTIFICATE", chain[len(chain)-1].Raw),
		"REDIS_TLS_CLIENT_CERT": write("client.pem", "CERTIFICATE", client.Certificate...),
		"REDIS_TLS_CLIENT_KEY":  write("client-key.pem", "EC PRIVATE KEY", key),
	}
}
