package server_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.sock")
	decides := func() {
		t.Helper()
		r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"GRPC_UDS": path}).start()
		require.Equal(t, path, r.addr.GRPC.String())
		conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		_, err = ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), ask("d", "a"))
		require.NoError(t, err)

		// A second server does not replace the socket of a running one.
		second := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"GRPC_UDS": path}).fail()
		var failed *server.ListenError
		require.ErrorAs(t, second, &failed)
		require.Equal(t, "GRPC_UDS", failed.Setting)
		require.ErrorContains(t, second, "another process listens on "+path)
		r.end()
	}
	decides()
	require.NoFileExists(t, path)

	// A socket that a killed server left behind is replaced.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	require.FileExists(t, path)
	decides()

	// A file that is not a socket stays unchanged.
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o644))
	err = prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"GRPC_UDS": path}).fail()
	require.ErrorContains(t, err, "is not a socket")
	require.FileExists(t, path)
}

// If one listener can't be opened, none stays open.
func TestTakenPortLeavesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	path := filepath.Join(t.TempDir(), "limits.sock")
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"GRPC_UDS": path, "PORT": port})
	require.Error(t, r.fail())
	require.NoFileExists(t, path)
}

// A port that is in use is reported at the start, before the server waits for a configuration.
func TestTakenPortIsToldBeforeTheWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for _, setting := range []string{"PORT", "GRPC_PORT"} {
		var failed *server.ListenError
		require.ErrorAs(t, prepare(t, nil, map[string]string{setting: port}).fail(), &failed)
		require.Equal(t, setting, failed.Setting)
	}
}

func TestRunOnce(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	r.end()
	require.ErrorContains(t, r.srv.Run(t.Context()), "called before")
}

// gRPC reflection is off unless a setting enables it.
func TestReflection(t *testing.T) {
	for value, want := range map[string]codes.Code{"false": codes.Unimplemented, "true": codes.OK} {
		r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"GRPC_REFLECTION": value}).start()
		stream, err := reflectionv1.NewServerReflectionClient(r.dial()).ServerReflectionInfo(t.Context())
		require.NoError(t, err)
		stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
		require.NoError(t, stream.CloseSend())
		res, err := stream.Recv()
		require.Equal(t, want, status.Code(err))
		if err == nil {
			require.Contains(t, res.String(), "envoy.service.ratelimit.v3.RateLimitService")
		}
		r.end()
	}
}
