package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

const adminToken = "0123456789abcdef"

// counters calls a method of the service for counters.
func (r *running) counters(method, token string, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	ctx := r.t.Context()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	out := new(ratelimitv3.RateLimitResponse)
	return out, r.dial().Invoke(ctx, "/"+service.CountersService+"/"+method, in, out)
}

func TestCountersAreOffByDefault(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	_, err := r.counters("Get", adminToken, ask("d", "a"))
	require.Equal(t, codes.Unimplemented, status.Code(err))
	r.end()
}

// Changes are logged, with the values of clients made harmless; the token is not.
func TestCountersAreChangedAndLogged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(adminToken+"\n"), 0o600))
	for name, environ := range map[string]map[string]string{
		"token": {"ADMIN_TOKEN": adminToken},
		"file":  {"ADMIN_TOKEN_FILE": file},
	} {
		t.Run(name, func(t *testing.T) {
			environ["LOG_LEVEL"], environ["LOCAL_CACHE_SIZE_IN_BYTES"] = "WARN", "1000000"
			r := prepare(t, map[string]string{"d.yaml": goodConfig}, environ).start()
			value := "a\nb" + strings.Repeat("x", 300)
			client := ratelimitv3.NewRateLimitServiceClient(r.dial())
			decide := func() ratelimitv3.RateLimitResponse_Code {
				out, err := client.ShouldRateLimit(t.Context(), ask("d", value))
				require.NoError(t, err)
				return out.GetOverallCode()
			}
			for _, want := range []ratelimitv3.RateLimitResponse_Code{1, 1, 2, 2} {
				require.Equal(t, want, decide())
			}
			out, err := r.counters("Get", adminToken, ask("d", value))
			require.NoError(t, err)
			require.EqualValues(t, 0, out.GetStatuses()[0].GetLimitRemaining())
			require.NotContains(t, r.log.String(), "counters", "reads are not logged")

			_, err = r.counters("GiveBack", adminToken, ask("d", value))
			require.NoError(t, err)
			require.EqualValues(t, 2, decide(), "the third hit was counted, the fourth was not")
			_, err = r.counters("Reset", adminToken, ask("d", value))
			require.NoError(t, err)
			require.EqualValues(t, 1, decide())

			log := r.log.String()
			require.Equal(t, 2, strings.Count(log, "counters changed"), log)
			require.Contains(t, log, "change=Reset from=127.0.0.1:")
			require.Contains(t, log, "client=a?bxxx")
			require.Contains(t, log, "xxx...: 1 given back, 2 used")
			require.Contains(t, log, "xxx...: 0 used")
			require.NotContains(t, log, strings.Repeat("x", 250))

			for range 3 {
				_, err = r.counters("Reset", "not-the-token-either", ask("d", value))
				require.Equal(t, codes.Unauthenticated, status.Code(err))
			}
			r.end()
			log = r.log.String()
			require.Contains(t, log, "access to counters denied")
			require.NotContains(t, log, "not-the-token")
			require.NotContains(t, log, adminToken)
		})
	}
}

// Counters of each algorithm are read and changed in the process and in Redis.
func TestCountersOfEachAlgorithm(t *testing.T) {
	for name, environ := range map[string]map[string]string{"embedded": {}, "Redis": {"REDIS_URL": redistest.Start(t, nil).Addr}} {
		environ["ADMIN_TOKEN"] = adminToken
		r := prepare(t, map[string]string{"d.yaml": goodConfig}, environ).start()
		engine := r.srv.Engine()
		for a := ratelimit.FixedWindow; a.Valid(); a++ {
			t.Run(name+"/"+a.String(), func(t *testing.T) {
				rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{
					{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 7, Unit: ratelimit.Year, Algorithm: a}},
				}}}, nil)
				require.NoError(t, err)
				require.NoError(t, engine.Use(rules))
				in := ask("d", a.String())
				in.HitsAddend = 5
				_, err = ratelimitv3.NewRateLimitServiceClient(r.dial()).ShouldRateLimit(t.Context(), in)
				require.NoError(t, err)
				used := func(method string) int {
					out, err := r.counters(method, adminToken, in)
					require.NoError(t, err)
					counter := out.GetDynamicMetadata().GetFields()["counters"].GetListValue().GetValues()[0].GetStructValue().GetFields()
					require.Equal(t, a.String(), counter["algorithm"].GetStringValue())
					n := int(counter["used"].GetNumberValue())
					require.EqualValues(t, 7-n, out.GetStatuses()[0].GetLimitRemaining())
					return n
				}
				require.Equal(t, 5, used("Get"))
				in.HitsAddend = 2
				require.Equal(t, 3, used("GiveBack"))
				require.Equal(t, 3, used("Get"))
				require.Equal(t, 0, used("Reset"))
				require.Equal(t, 0, used("Get"))
			})
		}
		r.end()
	}
}

func TestInvalidTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("short"), 0o600))
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"ADMIN_TOKEN_FILE": file})
	require.ErrorContains(t, r.fail(), "use at least 16")
}

// Reflection describes the service for counters.
func TestReflectionOfCounters(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"GRPC_REFLECTION": "true", "ADMIN_TOKEN": adminToken}).start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := reflectionv1.NewServerReflectionClient(r.dial()).ServerReflectionInfo(ctx)
	require.NoError(t, err)
	for _, name := range []string{service.CountersService, "envoy.service.ratelimit.v3.RateLimitService"} {
		require.NoError(t, stream.Send(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		}))
		res, err := stream.Recv()
		require.NoError(t, err)
		require.NotEmpty(t, res.GetFileDescriptorResponse().GetFileDescriptorProto(), "%s: %v", name, res)
	}
	require.NoError(t, stream.CloseSend())
	r.end()
}
