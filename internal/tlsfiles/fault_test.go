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
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// Every error names the use and the path of the file.
func TestInvalidFiles(t *testing.T) {
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

	const pair, chain, key, authorities = "certificate key", "certificate", "key", "CA"
	for name, row := range map[string]struct {
		uses    string // words of the uses it is invalid for; empty for all
		content []byte
		want    string
	}{
		"empty":                {pair, nil, "any PEM"},
		"empty CA":             {authorities, nil, "no PEM"},
		"not PEM":              {pair, []byte("hello"), "any PEM"},
		"DER":                  {authorities, own.der, "no PEM"},
		"too large":            {"", bytes.Repeat([]byte("#"), 1<<20+1), "1048576"},
		"cut short":            {"", own.cert[:len(own.cert)/2], ""},
		"second block damaged": {chain, append(bytes.Clone(own.cert), other.cert[:100]...), "1 of 2"},
		"key for certificate":  {chain, own.key, "private key"},
		"key for CA":           {authorities, own.key, "no PEM"},
		"request":              {chain, block("CERTIFICATE REQUEST"), "CERTIFICATE REQUEST"},
		"garbage inside":       {chain, block("CERTIFICATE"), "malformed"},
		"certificate for key":  {key, own.cert, "certificate"},
		"public key":           {key, block("PUBLIC KEY"), "PUBLIC KEY"},
		"encrypted":            {key, encrypted, "passphrase"},
		"encrypted, old form":  {key, oldEncrypted, "passphrase"},
		"no key inside":        {key, block("PRIVATE KEY"), "parse"},
		"key that can't sign":  {key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: agreementDER}), "private key type"},
	} {
		for use, load := range loaders(t, ca, own, noLog(t)) {
			if row.uses != "" && !slices.ContainsFunc(strings.Fields(row.uses), func(w string) bool { return strings.Contains(use, w) }) ||
				row.uses != authorities && row.uses != "" && strings.Contains(use, authorities) {
				continue
			}
			t.Run(use+"/"+name, func(t *testing.T) {
				t.Parallel()
				path := write(t, t.TempDir(), "bad.pem", row.content)
				requireError(t, load(path), use, path, row.want)
			})
		}
	}
}

// loaders returns functions that load valid files except for the one with the given use.
func loaders(t testing.TB, ca *authority, own issued, opts *tlsfiles.Options) map[string]func(path string) error {
	t.Helper()
	dir := t.TempDir()
	cert, key, trusted := write(t, dir, "crt", own.cert), write(t, dir, "key", own.key), write(t, dir, "ca", ca.pem)
	server := func(files tlsfiles.Files) error { _, err := tlsfiles.NewServer(files, opts); return err }
	client := func(files tlsfiles.ClientFiles) error { _, err := tlsfiles.ClientConfig(files, opts); return err }
	return map[string]func(string) error{
		"server certificate": func(p string) error { return server(tlsfiles.Files{Cert: p, Key: key, ClientCA: trusted}) },
		"private key":        func(p string) error { return server(tlsfiles.Files{Cert: cert, Key: p, ClientCA: trusted}) },
		"client CA":          func(p string) error { return server(tlsfiles.Files{Cert: cert, Key: key, ClientCA: p}) },
		"CA certificate":     func(p string) error { return client(tlsfiles.ClientFiles{CACert: p, Cert: cert, Key: key}) },
		"client certificate": func(p string) error { return client(tlsfiles.ClientFiles{CACert: trusted, Cert: p, Key: key}) },
		"client private key": func(p string) error { return client(tlsfiles.ClientFiles{CACert: trusted, Cert: cert, Key: p}) },
	}
}

func requireError(t *testing.T, err error, use, path, want string) {
	t.Helper()
	require.ErrorContains(t, err, use+" \""+path+"\"")
	require.ErrorContains(t, err, want)
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, 1, strings.Count(err.Error(), path), "the path is named once")
}

func TestMissingFiles(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	for use, load := range loaders(t, ca, ca.issue(t, nil), noLog(t)) {
		dir := t.TempDir()
		missing := filepath.Join(dir, "missing.pem")
		err := load(missing)
		requireError(t, err, use, missing, "no such file or directory")
		require.ErrorIs(t, err, os.ErrNotExist)
		requireError(t, load(dir), use, dir, "regular file")
	}
}

// Opening a pipe without a writer would block.
func TestPipesAreNotOpened(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skipf("no named pipes on this system: %v", err)
	}
	for use, load := range loaders(t, ca, ca.issue(t, nil), noLog(t)) {
		requireError(t, load(pipe), use, pipe, "regular file")
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := func(err error, want ...string) {
		t.Helper()
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
	files := tlsfiles.Files{Cert: filepath.Join(dir, "crt"), ClientCA: filepath.Join(dir, "ca"), ClientSAN: "a b"}
	_, err := tlsfiles.NewServer(files, nil)
	all(err, files.Cert, "private key", files.ClientCA, `"a b"`)

	// Also if all can be read.
	files = tlsfiles.Files{Cert: write(t, dir, "crt"), Key: write(t, dir, "key"), ClientCA: write(t, dir, "ca"), ClientSAN: "a b"}
	_, err = tlsfiles.NewServer(files, nil)
	all(err, files.Cert, files.Key, files.ClientCA, `"a b"`)

	_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{CACert: files.ClientCA, Cert: files.Cert, SAN: "a b"}, nil)
	all(err, files.ClientCA, "client private key", `"a b"`)
	_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{Key: write(t, dir, "key")}, nil)
	all(err, "client certificate")
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own, other := ca.issue(t, nil), ca.issue(t, nil)
	cert, key := write(t, dir, "crt", own.cert), write(t, dir, "key", other.key)
	_, err := tlsfiles.NewServer(tlsfiles.Files{Cert: cert, Key: key}, nil)
	requireError(t, err, "private key", key, "private key does not match")
	requireError(t, err, "server certificate", cert, "")
	_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{Cert: cert, Key: key}, nil)
	requireError(t, err, "client private key", key, "private key does not match")
	requireError(t, err, "client certificate", cert, "")
}

func TestClientSANErrors(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own := ca.issue(t, nil)
	files := tlsfiles.Files{Cert: write(t, dir, "crt", own.cert), Key: write(t, dir, "key", own.key), ClientSAN: "envoy.example.com"}
	_, err := tlsfiles.NewServer(files, noLog(t))
	require.ErrorContains(t, err, "no client CA")

	files.ClientCA = write(t, dir, "ca", ca.pem)
	for _, name := range []string{
		"10.0.0.1", "::1", "*.example.com", "spiffe://cluster/envoy", "a b", "a..b", ".", "-a", "ä.example",
		"a\nb", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a",
	} {
		files.ClientSAN = name
		_, err := tlsfiles.NewServer(files, noLog(t))
		require.ErrorContains(t, err, "DNS name", "%q", name)
		require.NotContains(t, err.Error(), "\n")
	}
	for _, name := range []string{"localhost", "envoy.example.com", "envoy.example.com.", "my_client.example", "1a.example"} {
		files.ClientSAN = name
		_, err := tlsfiles.NewServer(files, noLog(t))
		require.NoError(t, err, name)
	}
}

// All kinds and forms of keys, in the files that tools write.
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
		s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: write(t, dir, "crt", row.cert), Key: write(t, dir, "key", row.key)}, noLog(t))
		require.NoError(t, err, name)
		_, err = visit(listen(t, s.Config()), client(t, ca))
		require.NoError(t, err, name)
	}
}

// Certificates outside their validity period are used, with a warning for each load.
func TestWarnings(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t, "ca")
	expired := ca.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := ca.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) })
	for name, row := range map[string]struct {
		own  issued
		want int
	}{
		"valid": {ca.issue(t, nil), 0}, "expired": {expired, 2}, "not valid yet": {early, 2},
	} {
		log, dir := new(logtest.Log), t.TempDir()
		cert, key := write(t, dir, "crt", row.own.cert), write(t, dir, "key", row.own.key)
		s, err := tlsfiles.NewServer(tlsfiles.Files{Cert: cert, Key: key}, &tlsfiles.Options{Log: log.Logger()})
		require.NoError(t, err, name)
		_, err = tlsfiles.ClientConfig(tlsfiles.ClientFiles{Cert: cert, Key: key}, &tlsfiles.Options{Log: log.Logger()})
		require.NoError(t, err, name)
		require.Equal(t, row.want, log.Count("validity period"), name)
		require.Equal(t, row.want, log.Count(cert), name)
		_, err = s.Reload()
		require.NoError(t, err)
		require.Equal(t, row.want, log.Count(cert), "a reload without changes does not warn again")
	}
}

// sec1 returns a key in SEC 1 form.
func sec1(t *testing.T, i issued) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(i.signer.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
