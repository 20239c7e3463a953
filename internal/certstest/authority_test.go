package certstest_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/ashlar-go/ashlar/internal/certstest"
)

func TestIssued(t *testing.T) {
	a, other := certstest.NewAuthority(t), certstest.NewAuthority(t)
	dir := t.TempDir()
	cert, key := a.Write(dir, "server", "limits.example")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		verify := x509.VerifyOptions{Roots: a.Pool(), DNSName: "limits.example", KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := pair.Leaf.Verify(verify); err != nil {
			t.Error(err)
		}
		verify.Roots = other.Pool()
		if _, err := pair.Leaf.Verify(verify); err == nil {
			t.Error("another authority verifies it")
		}
	}
	pem, err := os.ReadFile(a.WriteCA(dir, "ca.pem"))
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(pem) {
		t.Errorf("the certificate of the authority cannot be read: %v", err)
	}
}
