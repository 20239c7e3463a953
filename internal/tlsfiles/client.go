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

// ClientFiles are the PEM files of a client, at most 1 MiB each, and what it asks of
// the server. The zero value trusts the system's authorities, shows no certificate,
// and expects the server's to be for the host that is dialled.
type ClientFiles struct {
	CACert string // path of the authorities to trust; "" means the system's
	Cert   string // path of the client's certificate chain, its own first; "" for none
	Key    string // path of its private key, not encrypted; with Cert or not at all

	// SAN is the DNS name, or the address, that the server's certificate must be for.
	// "" means the host that is dialled.
	SAN string
	// SkipHostnameVerification accepts the certificate of any host, if it comes from a
	// trusted authority and is in its time. It goes with no SAN.
	SkipHostnameVerification bool
}

// ClientConfig returns a configuration for clients: TLS 1.2 or newer. It fails as
// NewServer does, and if only one of Cert and Key is given, or both SAN and
// SkipHostnameVerification. opts may be nil.
//
// The client's certificate is read again when a server asks for one, so a new one is
// used from the next handshake on. If what is there then can't be used, the log says
// so, and the one before stays in use. CACert is read once.
//
// The configuration must be given ServerName, as clients of TLS commonly do by
// themselves from the address, unless SAN or SkipHostnameVerification is set.
func ClientConfig(files ClientFiles, opts *Options) (*tls.Config, error) {
	o := opts.orDefault()
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.SAN, Time: o.Now}
	err := errors.Join(checkClient(files), trustServers(config, files.CACert, &o), identify(config, files, &o))
	if err != nil {
		return nil, err
	}
	if files.SkipHostnameVerification {
		// The library verifies chain and name or neither. It is told neither, and the
		// chain is ours to verify.
		config.InsecureSkipVerify = true
		config.VerifyConnection = verifyChain(config.RootCAs, o.Now)
	}
	return config, nil
}

func checkClient(files ClientFiles) error {
	switch {
	case files.SAN == "":
		return nil
	case files.SkipHostnameVerification:
		return fmt.Errorf("the server's certificate is to be for %q, and its name is not to be verified: give one or the other", files.SAN)
	case !isDNSName(files.SAN) && !isAddress(files.SAN):
		return fmt.Errorf("the name %q required of the server's certificate is no DNS name or address: give one like ratelimit.example.com", files.SAN)
	}
	return nil
}

// trustServers reads the authorities, if there are any of our own.
func trustServers(config *tls.Config, path string, o *Options) error {
	if path == "" {
		return nil
	}
	ca, err := open(CACertificate, path)
	if err != nil {
		return err
	}
	authorities, err := ca.certificates()
	if err != nil {
		return err
	}
	o.warn(ca, authorities)
	config.RootCAs = pool(authorities)
	return nil
}

// identify gives the client its certificate, if it has one.
func identify(config *tls.Config, files ClientFiles, o *Options) error {
	if files.Cert == "" && files.Key == "" {
		return nil
	}
	own := &ownPair{cert: files.Cert, key: files.Key, opts: *o}
	if err := own.load(); err != nil {
		return err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return own.get(), nil
	}
	return nil
}

// verifyChain verifies all but the name, of resumed sessions too.
func verifyChain(roots *x509.CertPool, now func() time.Time) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("certs: the server shows no certificate")
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
			Roots:         roots, // nil means the system's
			Intermediates: pool(state.PeerCertificates[1:]),
			CurrentTime:   now(),
		})
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}

// ownPair is a client's certificate, which may change on disk.
type ownPair struct {
	cert, key string
	opts      Options

	mu      sync.Mutex
	sum     [sha256.Size]byte
	current *tls.Certificate
	told    string // the last failure that was logged
}

// get returns what is on disk, or the last that was good.
func (p *ownPair) get() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.load()
	if err == nil {
		p.told = ""
		return p.current
	}
	if p.told != err.Error() { // a connection that is retried says it once
		p.told = err.Error()
		p.opts.Log.Warn("the client certificate can't be read again: the one before stays in use", "err", err)
	}
	return p.current
}

// load reads the pair and keeps it if it is new. The caller holds the lock, or is
// the only one yet.
func (p *ownPair) load() error {
	cert, certErr := open(ClientCertificate, p.cert)
	key, keyErr := open(ClientKey, p.key)
	if err := errors.Join(certErr, keyErr); err != nil {
		return err
	}
	sum := sumOf(cert, key)
	if p.current != nil && p.sum == sum {
		return nil
	}
	own, chain, err := pair(cert, key)
	if err != nil {
		return err
	}
	p.sum, p.current = sum, own
	p.opts.warn(cert, chain)
	return nil
}
