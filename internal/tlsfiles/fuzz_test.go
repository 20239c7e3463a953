package tlsfiles_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// FuzzFile: whatever one of the files holds, loading ends soon and without a panic,
// and an error names the file in one line and quotes nothing of it.
func FuzzFile(f *testing.F) {
	ca := newAuthority(f, "ca")
	own := ca.issue(f, nil, "a.example")
	for _, content := range seeds(f, ca, own) {
		for role := range len(roles) {
			f.Add(uint8(role), content)
		}
	}
	load, path := loaders(f, ca, own, &tlsfiles.Options{Log: slog.New(slog.DiscardHandler)}), filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, role uint8, content []byte) {
		r := roles[int(role)%len(roles)]
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := load[r](path)
		if took := time.Since(start); took > hang {
			t.Fatalf("took %v for %d bytes", took, len(content))
		}
		if err != nil {
			requireSafe(t, err, r, path, content)
		}
	})
}

var roles = []tlsfiles.Role{
	tlsfiles.ServerCertificate, tlsfiles.ServerKey, tlsfiles.ClientCA,
	tlsfiles.CACertificate, tlsfiles.ClientCertificate, tlsfiles.ClientKey,
}

// requireSafe checks an error that is about one file, or about a key that does not
// belong to it.
func requireSafe(t *testing.T, err error, role tlsfiles.Role, path string, content []byte) {
	t.Helper()
	faults := fileErrors(err)
	if len(faults) != 1 {
		t.Fatalf("%d FileErrors, want 1: %v", len(faults), err)
	}
	text := err.Error()
	if !strings.Contains(text, path) || !strings.Contains(text, string(role)) {
		t.Errorf("%q does not name the %s and its path", text, role)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%q is not a line of text", text)
	}
	for line := range bytes.Lines(content) {
		// Short ones may be words of the message by chance.
		if line = bytes.TrimSpace(line); len(line) > 24 && strings.Contains(text, string(line)) {
			t.Errorf("%q quotes %q", text, line)
		}
	}
}

func seeds(f *testing.F, ca *authority, own issued) [][]byte {
	rot := bytes.Clone(own.der)
	rot[len(rot)/3] ^= 0xff
	named := ca.issue(f, func(c *x509.Certificate) { c.ExcludedURIDomains = []string{"not a domain"} })
	locked := map[string]string{"Proc-Type": "4,ENCRYPTED"}
	return [][]byte{
		nil, own.cert, own.key, own.der, ca.pem, certPEM(rot), named.cert, named.key,
		own.key[:50],
		slices.Concat(own.cert, ca.pem, own.key),
		[]byte("-----BEGIN CERTIFICATE-----\n"),
		[]byte(strings.Repeat("-----BEGIN ", 100)),
		[]byte(strings.Repeat("-----BEGIN X-----\n-----END X-----\n", 10)),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: locked, Bytes: []byte("secret")}),
	}
}

// What is made to keep a PEM reader busy is read as soon as anything else.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	for _, unit := range []string{"-----BEGIN ", "\n-----BEGIN ", "-----BEGIN A-----\n", "-----BEGIN A-----\nA:B\n", "\n-----BEGIN A-----\n-----END B-----", "\n-----END "} {
		dir := t.TempDir()
		content := []byte(strings.Repeat(unit, size/len(unit)))
		path := write(t, dir, "f", content)
		start := time.Now()
		_, err := tlsfiles.NewServer(tlsfiles.Files{Cert: path, Key: path}, nil)
		if err == nil {
			t.Errorf("%q is accepted", unit)
		}
		if took := time.Since(start); took > hang {
			t.Errorf("%q took %v", unit, took)
		}
	}
}
