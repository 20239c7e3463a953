package tlsfiles

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Options are the choices of NewServer and ClientConfig. Nil, like each zero field,
// means the default.
type Options struct {
	// Log takes warnings about certificates that are loaded all the same, and, from
	// clients, what is wrong with files that have changed. Default: slog.Default().
	Log *slog.Logger
	// Now is the clock that certificates are held against. Default: time.Now.
	Now func() time.Time
	// Poll is how often Server.Watch reads the files. Default: 1 s.
	Poll time.Duration
}

func (o *Options) orDefault() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Log == nil {
		out.Log = slog.Default()
	}
	out.Poll = cmp.Or(out.Poll, time.Second)
	if out.Now == nil {
		out.Now = time.Now
	}
	return out
}

// warn logs what the other side will not like about certificates.
func (o *Options) warn(f *file, certificates []*x509.Certificate) {
	for i, c := range certificates {
		for _, w := range warnings(f.role, c, i == 0, o.Now()) {
			o.Log.Warn("a certificate is loaded that may not be accepted",
				"role", string(f.role), "file", f.path, "certificate", i+1, "warning", w)
		}
	}
}

func warnings(role Role, c *x509.Certificate, first bool, now time.Time) []string {
	var all []string
	if now.After(c.NotAfter) {
		all = append(all, fmt.Sprintf("it expired on %s", c.NotAfter.UTC().Format(time.RFC3339)))
	}
	if now.Before(c.NotBefore) {
		all = append(all, fmt.Sprintf("it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339)))
	}
	switch {
	case role == ClientCA || role == CACertificate:
		if !isAuthority(c) {
			all = append(all, "it is not an authority's, so it vouches for no other certificate")
		}
	case !first:
	case role == ServerCertificate:
		if !usable(c, x509.ExtKeyUsageServerAuth) {
			all = append(all, "it is not for server authentication")
		}
		if len(c.DNSNames)+len(c.IPAddresses) == 0 {
			all = append(all, "it names no DNS name or address as subject alternative name")
		}
	case role == ClientCertificate:
		if !usable(c, x509.ExtKeyUsageClientAuth) {
			all = append(all, "it is not for client authentication")
		}
	}
	return all
}

// isAuthority says whether a certificate can vouch for others. Those before version
// 3 can't tell, and count.
func isAuthority(c *x509.Certificate) bool {
	return c.IsCA || c.Version < 3 && !c.BasicConstraintsValid
}

// usable reports whether a certificate allows a use; one that lists none allows all.
func usable(c *x509.Certificate, use x509.ExtKeyUsage) bool {
	return len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 ||
		slices.Contains(c.ExtKeyUsage, use) || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
}
