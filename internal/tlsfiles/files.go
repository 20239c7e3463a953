package tlsfiles

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"time"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// Options configure NewServer and ClientConfig. Nil, like each zero field, means the
// default.
type Options struct {
	// Log receives warnings about certificates that are used although they have expired
	// or are not valid yet and, in clients, reload errors; nil means slog.Default().
	Log *slog.Logger
	// Now is the clock for the validity of certificates; nil means time.Now.
	Now func() time.Time
}

func (o *Options) withDefaults() Options {
	r := *cmp.Or(o, &Options{})
	r.Log = cmp.Or(r.Log, slog.Default())
	if r.Now == nil {
		r.Now = time.Now
	}
	return r
}

// file is a PEM file and its use, which errors name.
type file struct{ use, path string }

func (f file) errorf(format string, args ...any) error {
	return fmt.Errorf("%s %q: %w", f.use, f.path, fmt.Errorf(format, args...))
}

// maxFile is four times the size of the bundle of all public authorities.
const maxFile = 1 << 20

// read returns the content. It rejects what is not a regular file, because reading a
// pipe would block.
func (f file) read() ([]byte, error) {
	if f.path == "" {
		return nil, fmt.Errorf("%s: no file is configured", f.use)
	}
	info, err := os.Stat(f.path)
	var data []byte
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("not a regular file")
	case info.Size() > maxFile:
		err = fmt.Errorf("larger than %d bytes", maxFile)
	default:
		data, err = os.ReadFile(f.path)
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // errorf adds the path
	}
	if err != nil {
		return nil, f.errorf("%w", err)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil // some editors write a byte order mark
}

// readAll returns the contents of files and a checksum of them.
func readAll(files ...file) (data [][]byte, sum [sha256.Size]byte, err error) {
	var errs []error
	var sums []byte
	for _, f := range files {
		content, err := f.read()
		errs, data = append(errs, err), append(data, content)
		part := sha256.Sum256(content)
		sums = append(sums, part[:]...)
	}
	return data, sha256.Sum256(sums), errors.Join(errs...)
}

// parsePair parses a certificate chain and its key. Errors quote nothing of the key.
func parsePair(certFile, keyFile file, cert, key []byte, o *Options) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	switch begun := bytes.Count(cert, []byte("-----BEGIN CERTIFICATE-----")); {
	case err != nil && bytes.Contains(key, []byte("ENCRYPTED")):
		return nil, keyFile.errorf("encrypted: remove its passphrase with openssl pkey")
	case err != nil: // names the types of PEM blocks, which may be anything
		return nil, keyFile.errorf("can't be used with the %s %q: %s", certFile.use, certFile.path, printable.Truncate(err.Error(), 300))
	case begun > len(pair.Certificate):
		return nil, certFile.errorf("%d of %d certificates are damaged", begun-len(pair.Certificate), begun)
	}
	now := o.Now()
	if c := pair.Leaf; now.After(c.NotAfter) || now.Before(c.NotBefore) {
		o.Log.Warn("a certificate is outside its validity period", "file", certFile.path, "not_before", c.NotBefore, "not_after", c.NotAfter)
	}
	return &pair, nil
}

// addTo adds the certificates of authorities to a pool.
func (f file) addTo(pool *x509.CertPool, data []byte) error {
	if !pool.AppendCertsFromPEM(data) {
		return f.errorf("contains no PEM certificate")
	}
	return nil
}

var dnsName = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_-]{0,62}\.)*[A-Za-z0-9_][A-Za-z0-9_-]{0,62}\.?$`)

func isAddress(name string) bool {
	a, err := netip.ParseAddr(name)
	return err == nil && a.Zone() == "" // certificates have no zones
}

// isDNSName reports whether a certificate can be for a name.
func isDNSName(name string) bool {
	return len(name) <= 253 && dnsName.MatchString(name) && !isAddress(name)
}
