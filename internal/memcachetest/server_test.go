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
	require.Equal(t, "VA 3 t-1\na b", server.Ask("mg key t v"))

	server.Freeze()
	answer := make(chan string, 1)
	go func() { answer <- server.Ask("version") }()
	select {
	case text := <-answer:
		t.Fatalf("a frozen server answered %q", text)
	case <-time.After(20 * time.Millisecond):
	}
	server.Thaw()
	require.Contains(t, <-answer, "VERSION")

	addr := server.Addr
	server.Restart()
	require.Equal(t, addr, server.Addr)
	require.Empty(t, server.Value("key"), "a server that was killed starts empty")
}

func TestServerWithTLS(t *testing.T) {
	server := memcachetest.Start(t, &memcachetest.Options{TLS: true})
	server.Set("key", "1")
	require.Equal(t, "1", server.Value("key"))

	config := server.ClientTLS()
	config.Certificates = nil
	conn, err := tls.Dial("tcp", server.Addr, config)
	if err == nil { // with TLS 1.3 the client learns it with the first answer
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte("version\r\n"))
		_, err = conn.Read(make([]byte, 1))
	}
	require.Error(t, err, "a client without a certificate must be turned away")
}
