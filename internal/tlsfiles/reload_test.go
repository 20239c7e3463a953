package tlsfiles_test

import (
	"context"
	"crypto/tls"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

func TestServer(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own := ca.issue(t, nil)
	s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: write(t, dir, "crt", own.cert), Key: write(t, dir, "key", own.key)}, noLog(t))
	require.NoError(t, err)
	addr := listen(t, s.Config("h2"))

	state, err := visit(addr, client(t, ca))
	require.NoError(t, err)
	require.Equal(t, own.der, state.PeerCertificates[0].Raw)

	old := client(t, ca)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	_, err = visit(addr, old)
	require.ErrorContains(t, err, "protocol version")
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own := ca.issue(t, nil)
	s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: write(t, dir, "crt", own.cert), Key: write(t, dir, "key", own.key)}, noLog(t))
	require.NoError(t, err)
	for _, row := range []struct {
		offered, requested []string
		want               string
	}{
		{[]string{"h2"}, []string{"h2"}, "h2"},
		{[]string{"h2", "http/1.1"}, []string{"http/1.1", "h2"}, "h2"},
		{[]string{"http/1.1"}, []string{"h2", "http/1.1"}, "http/1.1"},
		{nil, []string{"h2"}, ""},
	} {
		config := s.Config(row.offered...)
		require.Equal(t, row.offered, config.NextProtos)
		c := client(t, ca)
		c.NextProtos = row.requested
		state, err := visit(listen(t, config), c)
		require.NoError(t, err)
		require.Equal(t, row.want, state.NegotiatedProtocol)
	}
}

// The whole chain is sent, for clients that know only the root.
func TestIntermediates(t *testing.T) {
	t.Parallel()
	root, dir := newAuthority(t, "root"), t.TempDir()
	middle := root.intermediate(t, "middle")
	own := middle.issue(t, nil)
	s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: write(t, dir, "crt", own.cert, middle.pem), Key: write(t, dir, "key", own.key)}, noLog(t))
	require.NoError(t, err)
	require.Equal(t, own.der, served(t, listen(t, s.Config()), client(t, root)))
}

func TestReloadCertificateAndKey(t *testing.T) {
	t.Parallel()
	ca, certDir, keyDir := newAuthority(t, "ca"), t.TempDir(), t.TempDir()
	first, second := ca.issue(t, nil), ca.issue(t, nil)
	files := tlsfiles.Files{Cert: write(t, certDir, "crt", first.cert), Key: write(t, keyDir, "key", first.key)}
	s, err := tlsfiles.NewServer(files, noLog(t))
	require.NoError(t, err)
	addr := listen(t, s.Config())
	require.Equal(t, first.der, served(t, addr, client(t, ca)))

	changed, err := s.Reload()
	require.NoError(t, err)
	require.False(t, changed, "the files are as they were")

	// The certificate is written before its key: the state in between is invalid.
	write(t, certDir, "crt", second.cert)
	changed, err = s.Reload()
	require.ErrorContains(t, err, "does not match")
	require.False(t, changed)
	require.Equal(t, first.der, served(t, addr, client(t, ca)))

	write(t, keyDir, "key", second.key)
	require.Equal(t, first.der, served(t, addr, client(t, ca)), "not before Reload")
	changed, err = s.Reload()
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, second.der, served(t, addr, client(t, ca)))

	changed, err = s.Reload()
	require.NoError(t, err)
	require.False(t, changed, "the second time is nothing new")
}

// A new certificate for the same key is a change of one file.
func TestReloadRenewedCertificate(t *testing.T) {
	t.Parallel()
	ca, other, dir := newAuthority(t, "ca"), newAuthority(t, "other"), t.TempDir()
	own := ca.issue(t, nil)
	files := tlsfiles.Files{Cert: write(t, dir, "crt", own.cert), Key: write(t, dir, "key", own.key)}
	s, err := tlsfiles.NewServer(files, noLog(t))
	require.NoError(t, err)
	addr := listen(t, s.Config())

	write(t, dir, "crt", own.cert, other.pem) // the chain gets longer
	changed, err := s.Reload()
	require.NoError(t, err)
	require.True(t, changed)
	state, err := visit(addr, client(t, ca))
	require.NoError(t, err)
	require.Len(t, state.PeerCertificates, 2)
}

func TestFailedReloadKeepsPrevious(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own, next, guest := ca.issue(t, nil), ca.issue(t, nil), ca.issue(t, nil)
	files := tlsfiles.Files{
		Cert:     write(t, dir, "crt", own.cert),
		Key:      write(t, dir, "key", own.key),
		ClientCA: write(t, dir, "ca", ca.pem),
	}
	s, err := tlsfiles.NewServer(files, noLog(t))
	require.NoError(t, err)
	addr := listen(t, s.Config())

	for _, path := range []string{files.Cert, files.Key, files.ClientCA} {
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, bad := range [][]byte{nil, []byte("nonsense"), good[:len(good)/2]} {
			write(t, dir, filepath.Base(path), bad)
			changed, err := s.Reload()
			require.ErrorContains(t, err, path)
			require.False(t, changed)
			require.Equal(t, own.der, served(t, addr, client(t, ca, guest)))
		}
		require.NoError(t, os.Remove(path))
		_, err = s.Reload()
		require.ErrorContains(t, err, "no such file")
		require.Equal(t, own.der, served(t, addr, client(t, ca, guest)))

		write(t, dir, filepath.Base(path), good)
		changed, err := s.Reload()
		require.NoError(t, err)
		require.False(t, changed, "the files have the content in use")
	}

	// One invalid file prevents the use of the others.
	write(t, dir, "crt", next.cert)
	write(t, dir, "key", next.key)
	write(t, dir, "ca", []byte("nonsense"))
	_, err = s.Reload()
	require.ErrorContains(t, err, "client CA")
	require.Equal(t, own.der, served(t, addr, client(t, ca, guest)))
	write(t, dir, "ca", ca.pem)
	changed, err := s.Reload()
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, next.der, served(t, addr, client(t, ca, guest)))
}

// Mounted secrets are replaced all at once, by a link to another directory.
func TestReloadBySymbolicLink(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	first, second := ca.issue(t, nil), ca.issue(t, nil)
	for name, i := range map[string]issued{"..1": first, "..2": second} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		write(t, filepath.Join(dir, name), "tls.crt", i.cert)
		write(t, filepath.Join(dir, name), "tls.key", i.key)
	}
	require.NoError(t, os.Symlink("..1", filepath.Join(dir, "..data")))
	files := tlsfiles.Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	require.NoError(t, os.Symlink("..data/tls.crt", files.Cert))
	require.NoError(t, os.Symlink("..data/tls.key", files.Key))
	s, err := tlsfiles.NewServer(files, noLog(t))
	require.NoError(t, err)
	addr := listen(t, s.Config())
	require.Equal(t, first.der, served(t, addr, client(t, ca)))

	require.NoError(t, os.Symlink("..2", filepath.Join(dir, "..tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	changed, err := s.Reload()
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, second.der, served(t, addr, client(t, ca)))
}

// Watch reports each change of the files once, and each error once.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, dir := newAuthority(t, "ca"), t.TempDir()
		own, next := ca.issue(t, nil), ca.issue(t, nil)
		s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: write(t, dir, "crt", own.cert), Key: write(t, dir, "key", own.key)}, noLog(t))
		require.NoError(t, err)
		reports := make(chan error, 100)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Watch(ctx, func(err error) { reports <- err })
		}()
		defer func() { cancel(); <-done }()
		after := func() (seen []error) {
			time.Sleep(3 * time.Second)
			synctest.Wait()
			for len(reports) > 0 {
				seen = append(seen, <-reports)
			}
			return seen
		}
		require.Empty(t, after(), "nothing has changed")

		write(t, dir, "crt", next.cert)
		seen := after()
		require.Len(t, seen, 1)
		require.ErrorContains(t, seen[0], "private key")
		require.NoError(t, os.Remove(filepath.Join(dir, "key")))
		seen = after()
		require.Len(t, seen, 1)
		require.ErrorIs(t, seen[0], fs.ErrNotExist)
		write(t, dir, "key", next.key)
		require.Equal(t, []error{nil}, after())
		require.Empty(t, after(), "nothing has changed since")
	})
}

// During reloads, each handshake uses one identity, and open connections are not affected.
func TestHandshakesDuringReloads(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	first, second, guest := ca.issue(t, nil), ca.issue(t, nil), ca.issue(t, nil)
	s, err := tlsfiles.NewServer(tlsfiles.Files{
		Cert:     write(t, dir, "crt", first.cert),
		Key:      write(t, dir, "key", first.key),
		ClientCA: write(t, dir, "ca", ca.pem),
	}, noLog(t))
	require.NoError(t, err)
	addr := listen(t, s.Config())
	open, err := tls.Dial("tcp", addr, client(t, ca, guest))
	require.NoError(t, err)
	defer open.Close()

	done := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		config := client(t, ca, guest)
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		group.Go(func() { visitUntil(t, done, addr, config) })
	}
	for i := range 20 {
		own := []issued{second, first}[i%2]
		write(t, dir, "crt", own.cert)
		write(t, dir, "key", own.key)
		var others sync.WaitGroup
		for range 2 { // reloads may be concurrent too
			others.Go(func() {
				if _, err := s.Reload(); err != nil {
					t.Error(err)
				}
			})
		}
		others.Wait()
	}
	close(done)
	group.Wait()
	require.Equal(t, first.der, served(t, addr, client(t, ca, guest)))

	require.NoError(t, open.SetDeadline(time.Now().Add(hang)))
	_, err = io.ReadFull(open, make([]byte, 1))
	require.NoError(t, err)
	_, err = open.Write([]byte("still there"))
	require.NoError(t, err)
}
