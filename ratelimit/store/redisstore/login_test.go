package redisstore_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func TestAuth(t *testing.T) {
	const secret = "s3c:ret"
	server := redistest.Start(t, &redistest.Options{
		Password: secret, Users: []string{"alice on >wonder:land ~* +@all", "bob on >plain ~* +incrby"},
	})
	for auth, good := range map[string]bool{
		secret:               true, // also has the form of a user with a password
		":" + secret:         true,
		"default:" + secret:  true,
		"alice:wonder:land":  true,
		"bob:plain":          true, // who may not send PING
		"":                   false,
		"s3c":                false,
		"wonder:land":        false,
		"alice:wonder":       false,
		"alice:wonder:land ": false,
	} {
		var log logtest.Log
		store := open(t, server.Addr, &redisstore.Options{Auth: auth, Log: log.Logger()})
		for range 2 {
			err := store.Ping(t.Context())
			if good {
				require.NoError(t, err, auth)
				continue
			}
			require.ErrorContains(t, err, server.Addr)
			require.Regexp(t, "WRONGPASS|NOAUTH", err.Error())
			for _, part := range strings.Split(auth, ":") {
				if part != "" && part != "alice" {
					require.NotContains(t, err.Error()+log.String(), part)
				}
			}
		}
	}
}

func TestTLSIsVerified(t *testing.T) {
	server := redistest.Start(t, &redistest.Options{TLS: true})
	good := server.ClientTLS()
	for what, config := range map[string]func(*tls.Config){
		"another host":          func(c *tls.Config) { c.ServerName = "example.com" },
		"no trust":              func(c *tls.Config) { c.RootCAs = nil },
		"no client certificate": func(c *tls.Config) { c.Certificates = nil },
	} {
		t.Run(what, func(t *testing.T) {
			bad := good.Clone()
			config(bad)
			store := open(t, server.Addr, &redisstore.Options{TLS: bad, Timeout: 5 * time.Second})
			require.Error(t, withinTestTimeout(t, store.Ping))
		})
	}
	_, port, _ := strings.Cut(server.Addr, ":")
	store := open(t, "localhost:"+port, &redisstore.Options{TLS: good})
	require.NoError(t, store.Ping(t.Context()))
	for range 5 { // on a connection that was idle, with what TLS sends in between
		require.NoError(t, store.Ping(t.Context()))
	}
	require.EqualValues(t, 1, store.Stats().Total)
}

func TestWaitReady(t *testing.T) {
	server := redistest.Start(t, nil)
	server.Kill()
	store := open(t, server.Addr, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan error, 1)
	go func() { ready <- store.WaitReady(ctx, &redisstore.Backoff{Initial: time.Hour}) }()
	cancel()
	require.ErrorIs(t, <-ready, context.Canceled)
	require.Eventually(t, store.Idle, testTimeout, time.Millisecond, "the abandoned attempt has ended")

	go func() {
		ready <- store.WaitReady(t.Context(), &redisstore.Backoff{Initial: time.Millisecond, Max: 5 * time.Millisecond})
	}()
	server.Restart()
	require.NoError(t, <-ready)
	require.EqualValues(t, 1, store.Stats().Active)
}

// TestWaitReadyGivesUp uses a fake clock, so that there is always time for an attempt.
func TestWaitReadyGivesUp(t *testing.T) {
	for what, b := range map[string]redisstore.Backoff{
		"short waits":                  {Initial: time.Millisecond, Max: 5 * time.Millisecond},
		"waits longer than MaxElapsed": {Initial: time.Hour, Max: 2 * time.Hour},
		"no waits given":               {},
		"negative waits":               {Initial: -4, Max: -time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Log
				store := open(t, "192.0.2.1:6379", &redisstore.Options{
					Log: log.Logger(),
					Dial: func(context.Context, string, string) (net.Conn, error) {
						return nil, errors.New("no server")
					},
				})
				b.MaxElapsed = 50 * time.Millisecond
				begin := time.Now()
				err := store.WaitReady(t.Context(), &b)
				require.Equal(t, b.MaxElapsed, time.Since(begin))
				require.ErrorContains(t, err, "50ms")
				require.ErrorContains(t, err, "192.0.2.1:6379")
				synctest.Wait()
				require.Contains(t, log.String(), "retry_in")
			})
		})
	}
}

func TestInvalidOptions(t *testing.T) {
	_, err := redisstore.New("localhost:6379", &redisstore.Options{
		PoolSize: -1, OnEmpty: 9, Timeout: -1, PipelineWindow: time.Hour, Parallelism: -1, MaxWaiting: -1,
	})
	for _, name := range []string{"PoolSize -1", "OnEmpty 9", "Timeout -1ns", "PipelineWindow 1h", "Parallelism -1", "MaxWaiting -1"} {
		require.ErrorContains(t, err, name, "all of them are reported at once")
	}
	for _, addr := range []string{"", "localhost", ":6379", "localhost:", "a:b:c", "redis://x:1/0x:1"} {
		_, err := redisstore.New(addr, nil)
		require.ErrorContains(t, err, "host:port", addr)
	}
	_, err = redisstore.New("redis://user:s3cret@localhost:6379", nil)
	require.ErrorContains(t, err, "***@localhost:6379")
	require.NotContains(t, err.Error(), "s3cret", "the text before an @ may be a password")
	_, err = redisstore.NewCluster(nil, nil)
	require.ErrorContains(t, err, "no servers")
	_, err = redisstore.NewCluster([]string{"a:1", "b"}, nil)
	require.ErrorContains(t, err, `"b"`)
	_, err = redisstore.NewSentinel("", []string{"a:1"}, nil)
	require.ErrorContains(t, err, "no master name")
	_, err = redisstore.NewSentinel("main", nil, nil)
	require.ErrorContains(t, err, "no sentinels")
	_, err = redisstore.NewSentinel("main", []string{"a:1"}, &redisstore.Options{PoolSize: -1})
	require.ErrorContains(t, err, "PoolSize")
}

// TestLibraryLog writes the lines of the Redis library with the level and format of the program's.
func TestLibraryLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	redisstore.LibraryLog(slog.New(slog.NewJSONHandler(&out, nil))).Printf(t.Context(), "Conn %d has unread data", 7)
	require.Contains(t, out.String(), `"level":"WARN","msg":"redis library: Conn 7 has unread data"`)
	redisstore.LibraryLog(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))).Printf(t.Context(), "hidden")
	require.NotContains(t, out.String(), "hidden")
}
