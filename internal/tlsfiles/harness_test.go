package tlsfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hang is the timeout of connections.
const hang = 30 * time.Second

// listen serves TLS on a free port until the test ends and returns the address. Each
// accepted connection gets one byte and stays open until the client closes it.
func listen(t testing.TB, config *tls.Config) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() { welcome(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		group.Wait()
	})
	return l.Addr().String()
}

func welcome(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(hang))
	if _, err := conn.Write([]byte("k")); err != nil { // handshakes first
		return
	}
	io.Copy(io.Discard, conn)
}

// visit connects and returns the state of the connection when the server has accepted it,
// which in TLS 1.3 only the first byte shows.
func visit(addr string, config *tls.Config) (tls.ConnectionState, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: hang}, "tcp", addr, config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(hang))
	_, err = io.ReadFull(conn, make([]byte, 1))
	return conn.ConnectionState(), err
}

// visitUntil makes connections until done is closed. None may fail.
func visitUntil(t *testing.T, done <-chan struct{}, addr string, config *tls.Config) {
	for {
		select {
		case <-done:
			return
		default:
		}
		if _, err := visit(addr, config); err != nil {
			t.Errorf("a handshake failed: %v", err)
			return
		}
	}
}

// served returns the certificate that a server sends.
func served(t testing.TB, addr string, config *tls.Config) []byte {
	t.Helper()
	state, err := visit(addr, config)
	require.NoError(t, err)
	return state.PeerCertificates[0].Raw
}

// client returns a configuration that trusts an authority and sends a certificate, if any.
func client(t testing.TB, a *authority, own ...issued) *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	for _, i := range own {
		pair, err := tls.X509KeyPair(i.cert, i.key)
		require.NoError(t, err)
		config.Certificates = append(config.Certificates, pair)
	}
	return config
}

// versions runs a test for each version of TLS.
func versions(t *testing.T, f func(t *testing.T, limit func(*tls.Config) *tls.Config)) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, func(c *tls.Config) *tls.Config {
				c = c.Clone()
				c.MinVersion, c.MaxVersion = version, version
				return c
			})
		})
	}
}

// noLog returns options whose log must stay empty.
func noLog(t *testing.T) *tlsfiles.Options {
	t.Helper()
	l := new(logtest.Log)
	t.Cleanup(func() {
		if text := l.String(); text != "" {
			t.Errorf("logged: %s", text)
		}
	})
	return &tlsfiles.Options{Log: l.Logger()}
}

// clock is a clock that can be advanced.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *clock) pass(d time.Duration) { c.offset.Add(int64(d)) }
