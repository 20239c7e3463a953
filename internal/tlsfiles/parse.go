package tlsfiles

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// certificates are all certificates of the file, in its order, at least one.
func (f *file) certificates() ([]*x509.Certificate, error) {
	blocks, err := f.blocks()
	if err != nil {
		return nil, err
	}
	var all []*x509.Certificate
	for _, b := range blocks {
		if b.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, f.fault(fmt.Errorf("certificate %d can't be read (%w): it must be %s", len(all)+1, err, f.role.wanted()))
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, f.fault(fmt.Errorf("no certificate in it, it holds %s: it must be %s", holds(blocks), f.role.wanted()))
	}
	return all, nil
}

func isKey(blockType string) bool {
	return blockType == "PRIVATE KEY" || strings.HasSuffix(blockType, " PRIVATE KEY")
}

// isEncrypted reports whether a key has a passphrase, in the form of PKCS #8 or in
// the older one (RFC 1421).
func isEncrypted(b *pem.Block) bool {
	return b.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(b.Headers["Proc-Type"], "ENCRYPTED")
}

// privateKey is the first key of the file.
func (f *file) privateKey() (crypto.Signer, error) {
	blocks, err := f.blocks()
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		switch {
		case !isKey(b.Type):
			continue
		case isEncrypted(b):
			return nil, f.fault(errors.New("encrypted: give it without a passphrase (openssl pkey -in OLD -out NEW), readable by the server only"))
		}
		if key := parseKey(b.Bytes); key != nil {
			return key, nil
		}
		// The parser's own words are left out: nobody can promise what they quote.
		return nil, f.fault(errors.New("the key can't be read: it must be an RSA, ECDSA or Ed25519 key in PKCS #8, PKCS #1 or SEC 1 form"))
	}
	return nil, f.fault(fmt.Errorf("no private key in it, it holds %s: it must be %s", holds(blocks), f.role.wanted()))
}

// parseKey returns nil if der is not a key that signs.
func parseKey(der []byte) crypto.Signer {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		signer, _ := key.(crypto.Signer) // the kinds for key agreement don't sign
		return signer
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

// pair is a certificate chain with its key. The chain is also returned by itself.
func pair(cert, key *file) (*tls.Certificate, []*x509.Certificate, error) {
	chain, certErr := cert.certificates()
	signer, keyErr := key.privateKey()
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, nil, err
	}
	if place := owner(chain, signer); place != 0 {
		return nil, nil, key.fault(mismatch(place, cert))
	}
	c := &tls.Certificate{PrivateKey: signer, Leaf: chain[0]}
	for _, link := range chain {
		c.Certificate = append(c.Certificate, link.Raw)
	}
	return c, chain, nil
}

// owner is the place in the chain of the certificate that a key belongs to, or -1.
func owner(chain []*x509.Certificate, key crypto.Signer) int {
	for i, c := range chain {
		if public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(key.Public()) {
			return i
		}
	}
	return -1
}

func mismatch(place int, cert *file) error {
	if place > 0 {
		return fmt.Errorf("belongs to certificate %d of the %s %q: that one must stand first there", place+1, cert.role, cert.path)
	}
	return fmt.Errorf("does not belong to the %s %q: give the key that this certificate was made for; "+
		"if both are being replaced, this passes when the second is there", cert.role, cert.path)
}

// pool is the set of authorities that a file holds.
func pool(authorities []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range authorities {
		p.AddCert(c)
	}
	return p
}
