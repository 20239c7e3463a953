package tlsfiles

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ClientFiles are the PEM files of a client, at most 1 MiB each, and the requirements for
// the server's certificate. The zero value trusts the system's authorities, has no client
// certificate, and requires the name of the host that is dialed.
type ClientFiles struct {
	CACert string // authorities to trust besides the system's; may be empty
	Cert   string // certificate chain of the client, its own first; empty for none
	Key    string // its private key, not encrypted; required with Cert

	// SAN is the DNS name or address that the server's certificate must be valid for;
	// empty means the host that is dialed.
	SAN string
	// SkipHostnameVerification accepts the certificate of any host, provided that a
	// trusted authority signed it and that it is in its validity period. It excludes
	// SAN.
	SkipHostnameVerification bool
}

// ClientConfig returns a configuration for clients: TLS 1.2 or newer. The error names
// each file that is missing or invalid. opts may be nil.
//
// CACert is read once. The client's certificate is read at each handshake that requires
// one; if it can't be used, the previous one is used and the error is logged.
//
// Unless SAN or SkipHostnameVerification is set, the caller must set ServerName, as TLS
// clients usually do themselves.
func ClientConfig(files ClientFiles, opts *Options) (*tls.Config, error) {
	o := opts.withDefaults()
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.SAN, Time: o.Now}
	var errs []error
	switch san := files.SAN; {
	case san != "" && files.SkipHostnameVerification:
		errs = append(errs, fmt.Errorf("the server's certificate must be for %q, but host names are not verified: configure one or the other", san))
	case san != "" && !isDNSName(san) && !isAddress(san):
		errs = append(errs, fmt.Errorf("the server's certificate must be for %q, which is neither a DNS name nor an address", san))
	}
	if ca := (file{"CA certificate", files.CACert}); ca.path != "" {
		data, err := ca.read()
		if config.RootCAs, _ = x509.SystemCertPool(); config.RootCAs == nil { // a minimal image has none
			config.RootCAs = x509.NewCertPool()
		}
		if err == nil {
			err = ca.addTo(config.RootCAs, data)
		}
		errs = append(errs, err)
	}
	if files.Cert != "" || files.Key != "" {
		own := &clientPair{cert: file{"client certificate", files.Cert}, key: file{"client private key", files.Key}, opts: o}
		errs = append(errs, own.load())
		config.GetClientCertificate = own.get
	}
	if files.SkipHostnameVerification {
		// crypto/tls verifies both chain and name, or neither.
		config.InsecureSkipVerify = true
		config.VerifyConnection = verifyChain(config.RootCAs, o.Now)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return config, nil
}

// verifyChain verifies everything but the name, also for resumed sessions. Nil roots are
// those of the system.
func verifyChain(roots *x509.CertPool, now func() time.Time) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		chain := state.PeerCertificates
		if len(chain) == 0 {
			return errors.New("the server sent no certificate")
		}
		intermediates := x509.NewCertPool()
		for _, c := range chain[1:] {
			intermediates.AddCert(c)
		}
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now()})
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: chain, Err: err}
		}
		return nil
	}
}

// clientPair is a client's certificate and key, which may change.
type clientPair struct {
	cert, key file
	opts      Options

	mu      sync.Mutex
	sum     [sha256.Size]byte
	current *tls.Certificate
	logged  string // the last error
}

// get returns the content of the files, or the last that was valid.
func (p *clientPair) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ""
	if err := p.load(); err != nil {
		text = err.Error()
	}
	if text != "" && text != p.logged {
		p.opts.Log.Warn("the client certificate can't be reloaded; the previous one stays in use", "err", text)
	}
	p.logged = text
	return p.current, nil
}

func (p *clientPair) load() error {
	data, sum, err := readAll(p.cert, p.key)
	if err != nil || p.current != nil && p.sum == sum {
		return err
	}
	pair, err := parsePair(p.cert, p.key, data[0], data[1], &p.opts)
	if err == nil {
		p.sum, p.current = sum, pair
	}
	return err
}
