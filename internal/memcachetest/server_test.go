package memcachetest_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
)

func TestServer(t *testing.T) {
	server := memcachetest.Start(t, nil)
	require.Empty(t, server.Value("key"))
	require.Nil(t, server.ClientTLS())
	server.Set("key", "a b")
	require.Equal(t, "a b", server.Value("key"))
	require.Equal(t, "VA 3 t-1\na b", server.Do("mg key t v"))

	server.Freeze()
	reply := make(chan string, 1)
	go func() { reply <- server.Do("version") }()
	select {
	case got := <-reply:
		t.Fatalf("a frozen server replied %q", got)
	case <-time.After(20 * time.Millisecond):
	}
	server.Thaw()
	require.Contains(t, <-reply, "VERSION")

	addr := server.Addr
	server.Restart()
	require.Equal(t, addr, server.Addr)
	require.Empty(t, server.Value("key"), "a restarted server must be empty")
}

func TestServerWithTLS(t *testing.T) {
	server := memcachetest.Start(t, &memcachetest.Options{TLS: true})
	server.Set("key", "1")
	require.Equal(t, "1", server.Value("key"))

	config := server.ClientTLS()
	config.Certificates = nil
	conn, err := tls.Dial("tcp", server.Addr, config)
	if err == nil { // with TLS 1.3 the first read fails, not the handshake
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte("version\r\n"))
		_, err = conn.Read(make([]byte, 1))
	}
	require.Error(t, err, "a client without a certificate must be rejected")
}
