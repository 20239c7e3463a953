package tlsfiles

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// trust is which clients a server lets in. Nil lets all in.
type trust struct {
	authorities []*x509.Certificate
	name        string // a DNS name, or ""
	tickets     *tls.Config
	mark        []byte // in the tickets of sessions under these authorities
}

// parseTrust returns nil if there is no file.
func (s *Server) parseTrust(ca *file) (*trust, error) {
	if ca == nil {
		return nil, nil
	}
	authorities, err := ca.certificates()
	if err != nil {
		return nil, err
	}
	t := &trust{authorities: authorities, name: s.files.ClientSAN, tickets: s.tickets}
	sum := sha256.New()
	for _, c := range authorities {
		sum.Write(c.Raw)
	}
	t.mark = sum.Sum(nil)
	return t, nil
}

// apply makes a configuration let in who is trusted and nobody else.
func (t *trust) apply(config *tls.Config) {
	if t == nil {
		return
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs = pool(t.authorities)
	config.VerifyConnection = t.verify
	config.WrapSession = t.wrap
	config.UnwrapSession = t.unwrap
}

// verify checks the DNS name. It is asked about every connection, also one that
// resumes a session.
func (t *trust) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("certs: the client shows no certificate") // not reached: one is required
	}
	if t.name == "" || state.PeerCertificates[0].VerifyHostname(t.name) == nil {
		return nil
	}
	// The names that it is for are the client's words, and stay out of logs.
	return fmt.Errorf("certs: the client's certificate is not for the required DNS name %q", t.name)
}

// wrap makes a session ticket.
func (t *trust) wrap(state tls.ConnectionState, session *tls.SessionState) ([]byte, error) {
	session.Extra = append(session.Extra, t.mark)
	return t.tickets.EncryptTicket(state, session)
}

// unwrap reads a session ticket. One from under other authorities is none, and the
// client is asked for its certificate.
func (t *trust) unwrap(ticket []byte, state tls.ConnectionState) (*tls.SessionState, error) {
	session, err := t.tickets.DecryptTicket(ticket, state)
	if err != nil || session == nil {
		return nil, err
	}
	if !slices.ContainsFunc(session.Extra, func(mark []byte) bool { return bytes.Equal(mark, t.mark) }) {
		return nil, nil
	}
	return session, nil
}

// checkClientSAN refuses names that no certificate could have, since they would lock
// every client out, one handshake at a time.
func checkClientSAN(files Files) error {
	name := files.ClientSAN
	switch {
	case name == "":
		return nil
	case files.ClientCA == "":
		return fmt.Errorf("a name (%q) is required of client certificates, and no client CA that they must come from: give both or none", name)
	case !isDNSName(name):
		return fmt.Errorf("the name %q required of client certificates is no DNS name: give one like client.example.com", name)
	}
	return nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// isDNSName reports whether a name has the form of a host name, with the underscores
// that are in use.
func isDNSName(name string) bool {
	if isAddress(name) || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, letters) != "" || label[0] == '-' {
			return false
		}
	}
	return true
}

// isAddress reports whether a certificate can be for the address: one with a zone is
// of a link, and no certificate's.
func isAddress(name string) bool {
	a, err := netip.ParseAddr(name)
	return err == nil && a.Zone() == ""
}
