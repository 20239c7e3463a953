package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/ashlar-go/ashlar/manifest"
)

// Options is what may be set. A nil *Options and its zero fields mean the defaults.
type Options struct {
	// MaxBytes bounds the size of a file. Default: 512 MiB.
	MaxBytes int64
	// MaxRedirects bounds how many redirects are followed; negative is none.
	// Default: 5.
	MaxRedirects int
	// AllowHTTP permits http besides https. A redirect from https to http is refused
	// even then.
	AllowHTTP bool
	// AllowPrivate permits addresses that are not of the public network: this machine,
	// private networks, link-local and reserved ones.
	AllowPrivate bool
	// Attempts is how often a download is tried that is cut off or answered with 429
	// or 5xx; each takes up where the last one ended. Default: 3.
	Attempts int
	// Wait is how long to wait before the second attempt; it doubles for each further
	// one. Default: 500 ms.
	Wait time.Duration
	// Stall is how long a server may send nothing. Default: 30 s.
	Stall time.Duration
	// Progress is told how many bytes there are, and how many there will be or -1. It
	// is called by the goroutine that called Download.
	Progress func(done, total int64)
	// TLS is for servers with certificates of their own. Default: that of the system.
	TLS *tls.Config
	// Transport replaces the one that checks addresses: AllowPrivate and TLS are then
	// its own business. Default: none.
	Transport http.RoundTripper
}

func (o *Options) defaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	full.MaxBytes = positive(full.MaxBytes, 512<<20)
	full.Attempts = positive(full.Attempts, 3)
	full.Wait = positive(full.Wait, 500*time.Millisecond)
	full.Stall = positive(full.Stall, 30*time.Second)
	full.MaxRedirects = max(0, cmp.Or(full.MaxRedirects, 5))
	return full
}

func positive[T int | int64 | time.Duration](set, otherwise T) T {
	if set <= 0 {
		return otherwise
	}
	return set
}

// Download fetches a file to a path, whose directory has to be there. It returns nil
// when the file is there and has the right SHA-256; if that was so before, it asks no
// server. A file that is there and is another one is replaced.
//
// The error is a [*SumError] for a file with another SHA-256, a [*RefusedError] for what
// the options don't permit, a [*StatusError] for a server that does not give the file;
// else one of the network, the file system or the context. After a SumError and for a
// file that is too large nothing is left on the disk; after the others, what has come
// stays in a hidden file for the next call.
func Download(ctx context.Context, f manifest.File, path string, opts *Options) error {
	if err := checkFile(f); err != nil {
		return err
	}
	if sum, err := sumOf(path); err == nil && sum == f.SHA256 {
		return nil
	}
	d := &download{file: f, opts: opts.defaults()}
	if err := d.permit(f.URL); err != nil {
		return err
	}
	client, stop := d.client()
	defer stop()
	d.http = client

	p, err := openPart(path, f.SHA256)
	if err != nil {
		return err
	}
	err = d.complete(ctx, p, path)
	return errors.Join(err, p.leave(err == nil || spoiled(err)))
}

// checkFile refuses what can't be the SHA-256 of anything.
func checkFile(f manifest.File) error {
	if len(f.SHA256) != 64 {
		return fmt.Errorf("the SHA-256 of a file has 64 hexadecimal digits, and this has %d", len(f.SHA256))
	}
	for _, c := range f.SHA256 {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return errors.New("the SHA-256 of a file has lowercase hexadecimal digits only")
		}
	}
	return nil
}

// spoiled says that what is on the disk is of no use any more.
func spoiled(err error) bool {
	_, wrong := errors.AsType[*SumError](err)
	_, large := errors.AsType[*sizeError](err)
	return wrong || large
}

// SumError says that a file is not the one that was meant.
type SumError struct {
	URL       string // without user and password
	Want, Got string // 64 lowercase hexadecimal digits
}

// Error names both sums.
func (e *SumError) Error() string {
	return fmt.Sprintf("%s has the SHA-256 %s, and not %s: it was changed, or the manifest is wrong; nothing of it was kept", e.URL, e.Got, e.Want)
}

// RefusedError says that the options don't permit what would have to be done.
type RefusedError struct {
	URL    string // or the address; without user and password
	Reason string
}

// Error names the URL or address and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s is refused: %s", e.URL, e.Reason) }

// StatusError says that a server did not give the file.
type StatusError struct {
	URL  string // without user and password
	Code int    // the status of HTTP
}

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: the server answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// sizeError is that of a file beyond MaxBytes.
type sizeError struct{ RefusedError }

// Unwrap makes it a RefusedError for callers.
func (e *sizeError) Unwrap() error { return &e.RefusedError }

// redacted is a URL as an error may show it.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the URL"
	}
	u.User = nil
	u.RawQuery = "" // it may hold a signature
	return u.String()
}

// partName is the hidden file of a download. Its name has the sum, so that another file
// does not take it up.
func partName(path, sum string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+sum[:16]+".part")
}
