package tlsfiles_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// fileErrors are the parts of an error that are about files.
func fileErrors(err error) []*tlsfiles.FileError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*tlsfiles.FileError
		for _, part := range joined.Unwrap() {
			all = append(all, fileErrors(part)...)
		}
		return all
	}
	if e, ok := errors.AsType[*tlsfiles.FileError](err); ok {
		return []*tlsfiles.FileError{e}
	}
	return nil
}

// Each thing that can be wrong with a file, in each role that it can have.
func TestFileFaults(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	own, other := ca.issue(t, nil), ca.issue(t, nil)
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("secret")})
	oldEncrypted := pem.EncodeToMemory(&pem.Block{
		Type: "EC PRIVATE KEY", Bytes: []byte("secret"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"},
	})
	block := func(kind string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("secret")})
	}
	agreement, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	agreementDER, err := x509.MarshalPKCS8PrivateKey(agreement)
	require.NoError(t, err)

	const certificates, keys = "certificates", "keys"
	for name, row := range map[string]struct {
		of      string // the roles it is wrong for; "" for all
		content []byte
		want    string
	}{
		"empty":                 {"", nil, "empty: it must be a PEM file with"},
		"not PEM":               {"", []byte("hello"), "not PEM (no line begins with -----BEGIN)"},
		"DER":                   {"", own.der, "not PEM"},
		"too large":             {"", bytes.Repeat([]byte("#"), 1<<20+1), "larger than 1048576 bytes"},
		"cut short":             {"", own.cert[:len(own.cert)/2], "1 of 1 PEM blocks can't be read"},
		"second block damaged":  {certificates, append(bytes.Clone(own.cert), other.cert[:100]...), "1 of 2 PEM blocks can't be read"},
		"key for certificate":   {certificates, own.key, "no certificate in it, it holds a private key"},
		"request":               {certificates, block("CERTIFICATE REQUEST"), "no certificate in it, it holds a certificate request"},
		"OpenSSL's own form":    {certificates, block("TRUSTED CERTIFICATE"), "it holds a certificate in a form of OpenSSL's own"},
		"revocation list":       {certificates, block("X509 CRL"), "it holds a revocation list"},
		"something else":        {certificates, block("MY SECRET"), "it holds something else"},
		"no certificate inside": {certificates, block("CERTIFICATE"), "certificate 1 can't be read"},
		"second not readable":   {certificates, append(bytes.Clone(own.cert), block("CERTIFICATE")...), "certificate 2 can't be read"},
		"certificate for key":   {keys, own.cert, "no private key in it, it holds a certificate"},
		"public key":            {keys, block("PUBLIC KEY"), "no private key in it, it holds a public key"},
		"encrypted":             {keys, encrypted, "encrypted: give it without a passphrase"},
		"encrypted, old form":   {keys, oldEncrypted, "encrypted: give it without a passphrase"},
		"no key inside":         {keys, block("PRIVATE KEY"), "the key can't be read: it must be an RSA, ECDSA or Ed25519 key"},
		"key that can't sign":   {keys, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: agreementDER}), "the key can't be read"},
	} {
		for role, load := range loaders(t, ca, own, quiet(t)) {
			isKey := role == tlsfiles.ServerKey || role == tlsfiles.ClientKey
			if row.of == certificates && isKey || row.of == keys && !isKey {
				continue
			}
			t.Run(string(role)+"/"+name, func(t *testing.T) {
				t.Parallel()
				path := write(t, t.TempDir(), "bad.pem", row.content)
				requireFault(t, load(path), role, path, row.want)
			})
		}
	}
}

// loaders load what is good but for one file, by its role.
func loaders(t testing.TB, ca *authority, own issued, opts *tlsfiles.Options) map[tlsfiles.Role]func(path string) error {
	t.Helper()
	dir := t.TempDir()
	cert, key, trusted := write(t, dir, "crt", own.cert), write(t, dir, "key", own.key), write(t, dir, "ca", ca.pem)
	server := func(files tlsfiles.Files) error { _, err := tlsfiles.NewServer(files, opts); return err }
	client := func(files tlsfiles.ClientFiles) error { _, err := tlsfiles.ClientConfig(files, opts); return err }
	return map[tlsfiles.Role]func(string) error{
		tlsfiles.ServerCertificate: func(p string) error { return server(tlsfiles.Files{Cert: p, Key: key, ClientCA: trusted}) },
		tlsfiles.ServerKey:         func(p string) error { return server(tlsfiles.Files{Cert: cert, Key: p, ClientCA: trusted}) },
		tlsfiles.ClientCA:          func(p string) error { return server(tlsfiles.Files{Cert: cert, Key: key, ClientCA: p}) },
		tlsfiles.CACertificate:     func(p string) error { return client(tlsfiles.ClientFiles{CACert: p, Cert: cert, Key: key}) },
		tlsfiles.ClientCertificate: func(p string) error { return client(tlsfiles.ClientFiles{CACert: trusted, Cert: p, Key: key}) },
		tlsfiles.ClientKey:         func(p string) error { return client(tlsfiles.ClientFiles{CACert: trusted, Cert: cert, Key: p}) },
	}
}

func requireFault(t *testing.T, err error, role tlsfiles.Role, path, want string) {
	t.Helper()
	faults := fileErrors(err)
	require.Len(t, faults, 1, "%v", err)
	require.Equal(t, role, faults[0].Role)
	require.Equal(t, path, faults[0].Path)
	require.ErrorContains(t, err, string(role))
	require.ErrorContains(t, err, want)
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, 1, strings.Count(err.Error(), path), "the path is named once")
}

func TestMissingFiles(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	for role, load := range loaders(t, ca, ca.issue(t, nil), quiet(t)) {
		dir := t.TempDir()
		missing := filepath.Join(dir, "missing.pem")
		err := load(missing)
		requireFault(t, err, role, missing, "no such file or directory: it must be a PEM file with")
		require.ErrorIs(t, err, os.ErrNotExist)
		requireFault(t, load(dir), role, dir, "not a regular file")
	}
}

// A pipe that nobody writes to would keep its reader for ever.
func TestPipesAreNotOpened(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skipf("no pipes with names on this system: %v", err)
	}
	for role, load := range loaders(t, ca, ca.issue(t, nil), quiet(t)) {
		requireFault(t, load(pipe), role, pipe, "not a regular file")
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := tlsfiles.Files{Cert: filepath.Join(dir, "crt"), ClientCA: filepath.Join(dir, "ca")}
	_, err := tlsfiles.NewServer(files, nil)
	faults := fileErrors(err)
	require.Len(t, faults, 3, "%v", err)
	require.ErrorContains(t, err, "private key: no file is named: it must be")

	// Also if all can be read.
	files = tlsfiles.Files{Cert: write(t, dir, "crt"), Key: write(t, dir, "key"), ClientCA: write(t, dir, "ca"), ClientSAN: "a b"}
	_, err = tlsfiles.NewServer(files, nil)
	require.Len(t, fileErrors(err), 3, "%v", err)
	require.ErrorContains(t, err, `the name "a b" required of client certificates is no DNS name`)

	_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{CACert: files.ClientCA, Cert: files.Cert, SAN: "a b"}, nil)
	require.Len(t, fileErrors(err), 2, "%v", err)
	require.ErrorContains(t, err, "client private key: no file is named")
	require.ErrorContains(t, err, `the name "a b" required of the server's certificate is no DNS name or address`)
	_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{Key: write(t, dir, "key")}, nil)
	require.ErrorContains(t, err, "client certificate: no file is named")
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own, other := ca.issue(t, nil), ca.issue(t, nil)
	cert, key := write(t, dir, "crt", own.cert), write(t, dir, "key", other.key)
	_, err := tlsfiles.NewServer(tlsfiles.Files{Cert: cert, Key: key}, nil)
	requireFault(t, err, tlsfiles.ServerKey, key, "does not belong to the server certificate \""+cert+"\": give the key that this certificate was made for")
	_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{Cert: cert, Key: key}, nil)
	requireFault(t, err, tlsfiles.ClientKey, key, "does not belong to the client certificate \""+cert+"\"")

	// A chain in the wrong order is a mistake with a name of its own.
	write(t, dir, "crt", ca.pem, other.cert)
	_, err = tlsfiles.NewServer(tlsfiles.Files{Cert: cert, Key: key}, nil)
	requireFault(t, err, tlsfiles.ServerKey, key, "belongs to certificate 2 of the server certificate \""+cert+"\": that one must stand first there")
}

func TestClientSANFaults(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own := ca.issue(t, nil)
	files := tlsfiles.Files{Cert: write(t, dir, "crt", own.cert), Key: write(t, dir, "key", own.key), ClientSAN: "envoy.example.com"}
	_, err := tlsfiles.NewServer(files, quiet(t))
	require.EqualError(t, err, `a name ("envoy.example.com") is required of client certificates, and no client CA that they must come from: give both or none`)

	files.ClientCA = write(t, dir, "ca", ca.pem)
	for _, name := range []string{
		"10.0.0.1", "::1", "*.example.com", "spiffe://cluster/envoy", "a b", "a..b", ".", "-a", "ä.example",
		"a\nb", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a",
	} {
		files.ClientSAN = name
		_, err := tlsfiles.NewServer(files, quiet(t))
		require.ErrorContains(t, err, "is no DNS name: give one like client.example.com", "%q", name)
		require.NotContains(t, err.Error(), "\n")
	}
	for _, name := range []string{"localhost", "envoy.example.com", "envoy.example.com.", "my_client.example", "1a.example"} {
		files.ClientSAN = name
		_, err := tlsfiles.NewServer(files, quiet(t))
		require.NoError(t, err, name)
	}
}

// Keys of each kind and in each form, in files as people have them.
func TestKeyForms(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ec := ca.issue(t, nil)

	certify := func(public any) []byte {
		template := template("leaf")
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
		require.NoError(t, err)
		return certPEM(der)
	}
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	for name, row := range map[string]struct{ cert, key []byte }{
		"RSA, PKCS #1":         {certify(rsaKey.Public()), pkcs1},
		"RSA, PKCS #8":         {certify(rsaKey.Public()), keyPEM(t, rsaKey)},
		"Ed25519":              {certify(edKey.Public()), keyPEM(t, edKey)},
		"ECDSA, SEC 1":         {ec.cert, sec1(t, ec)},
		"both in one file":     {append(bytes.Clone(ec.key), ec.cert...), append(bytes.Clone(ec.cert), ec.key...)},
		"parameters first":     {ec.cert, append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6}}), ec.key...)},
		"text around":          {append([]byte("subject: leaf\n"), ec.cert...), append(ec.key, "the end\n"...)},
		"lines end in CR LF":   {bytes.ReplaceAll(ec.cert, []byte("\n"), []byte("\r\n")), ec.key},
		"with byte order mark": {append([]byte("\ufeff"), ec.cert...), ec.key},
	} {
		dir := t.TempDir()
		s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: write(t, dir, "crt", row.cert), Key: write(t, dir, "key", row.key)}, quiet(t))
		require.NoError(t, err, name)
		_, err = visit(listen(t, s.Config()), client(t, ca))
		require.NoError(t, err, name)
	}
}

// What works here but will be refused there is a warning.
func TestWarnings(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	past, future := time.Now().Add(-time.Minute), time.Now().Add(30*time.Minute)
	expired := ca.issue(t, func(c *x509.Certificate) { c.NotAfter = past })
	early := ca.issue(t, func(c *x509.Certificate) { c.NotBefore = future })
	nameless := ca.issue(t, func(c *x509.Certificate) { c.IPAddresses = nil })
	forClients := ca.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	forServers := ca.issue(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	good := ca.issue(t, nil)
	for name, row := range map[string]struct {
		server, client issued
		ca             []byte
		want           []string
	}{
		"none":    {good, good, ca.pem, nil},
		"expired": {expired, expired, expired.cert, []string{"server certificate", "client CA", "CA certificate", "client certificate", "it expired on " + past.UTC().Format("2006-01-02T15:04")}},
		"not yet": {early, early, early.cert, []string{"it is not valid before " + future.UTC().Format("2006-01-02T15:04")}},
		"no name": {nameless, nameless, ca.pem, []string{"it names no DNS name or address"}},
		"clients": {forClients, forClients, ca.pem, []string{"it is not for server authentication"}},
		"servers": {forServers, forServers, ca.pem, []string{"it is not for client authentication"}},
		"no CA":   {good, good, good.cert, []string{"it is not an authority's"}},
	} {
		log, dir := new(logged), t.TempDir()
		trusted := write(t, dir, "ca", row.ca)
		s, err := tlsfiles.NewServer(tlsfiles.Files{
			Cert: write(t, dir, "crt", row.server.cert), Key: write(t, dir, "key", row.server.key), ClientCA: trusted,
		}, log.options())
		require.NoError(t, err, name)
		_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{
			CACert: trusted, Cert: write(t, dir, "ccrt", row.client.cert), Key: write(t, dir, "ckey", row.client.key),
		}, log.options())
		require.NoError(t, err, name)
		text := log.String()
		for _, want := range row.want {
			require.Contains(t, text, want, name)
			require.Contains(t, text, dir, name)
		}
		require.Equal(t, row.want == nil, text == "", "%s: %s", name, text)
		_, err = s.Reload()
		require.NoError(t, err)
		require.Equal(t, text, log.String(), "a reload of the same says nothing again")
	}
}

// sec1 is a key in the form that is older than PKCS #8.
func sec1(t *testing.T, i issued) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(i.signer.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
