package tlsfiles_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"maps"
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

// FuzzFile checks for any content of one of the files that loading ends soon and without
// a panic, and that an error names the file in one line and quotes nothing of it.
func FuzzFile(f *testing.F) {
	ca := newAuthority(f, "ca")
	own := ca.issue(f, nil, "a.example")
	load, path := loaders(f, ca, own, &tlsfiles.Options{Log: slog.New(slog.DiscardHandler)}), filepath.Join(f.TempDir(), "fuzzed")
	uses := slices.Sorted(maps.Keys(load))
	for _, content := range seeds(f, ca, own) {
		for use := range len(uses) {
			f.Add(uint8(use), content)
		}
	}
	f.Fuzz(func(t *testing.T, use uint8, content []byte) {
		u := uses[int(use)%len(uses)]
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := load[u](path)
		if took := time.Since(start); took > hang {
			t.Fatalf("took %v for %d bytes", took, len(content))
		}
		if err != nil {
			requireSafe(t, err, u, path, content)
		}
	})
}

func requireSafe(t *testing.T, err error, use, path string, content []byte) {
	t.Helper()
	text := err.Error()
	if !strings.Contains(text, use+" \""+path+"\"") {
		t.Errorf("%q does not name the %s and its path", text, use)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%q is not one printable line", text)
	}
	for line := range bytes.Lines(content) {
		// Short lines may be words of the message by chance.
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

// Content that would keep a naive PEM reader busy is read quickly.
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
