package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/manifest"
)

// Options are optional settings. A nil *Options and zero fields mean the defaults.
type Options struct {
	// MaxBytes limits the size of a file. Default: 512 MiB.
	MaxBytes int64
	// AllowHTTP permits http besides https. A redirect from https to http is refused
	// anyway.
	AllowHTTP bool
	// AllowPrivate permits addresses outside of the public network: this machine, private
	// networks, link-local and reserved ones.
	AllowPrivate bool
	// Attempts is the maximum number of attempts if a download is interrupted or gets a response 429
	// or 5xx; each attempt resumes the previous one. Default: 3.
	Attempts int
	// Wait is the delay before the second attempt. It doubles before each further one.
	// Default: 500 ms.
	Wait time.Duration
	// Stall is the maximum time without data from the server. Default: 30 s.
	Stall time.Duration
	// Progress is called with the number of bytes that are done and the total, or -1 if
	// that is unknown. It runs in the goroutine that called Download.
	Progress func(done, total int64)
	// TLS is for servers with their own certificates. Default: that of the system.
	TLS *tls.Config
	// Transport replaces the transport that checks addresses; AllowPrivate and TLS have no
	// effect then. Default: none.
	Transport http.RoundTripper
}

func (o *Options) withDefaults() Options {
	full := *cmp.Or(o, &Options{})
	full.MaxBytes = cmp.Or(max(0, full.MaxBytes), 512<<20)
	full.Attempts = cmp.Or(max(0, full.Attempts), 3)
	full.Wait = cmp.Or(max(0, full.Wait), 500*time.Millisecond)
	full.Stall = cmp.Or(max(0, full.Stall), 30*time.Second)
	if full.Progress == nil {
		full.Progress = func(int64, int64) {}
	}
	return full
}

// Download downloads a file to a path in an existing directory. It returns nil if the file
// is there and has the right SHA-256; if that was so before, no request is sent. Another
// file at the path is replaced.
//
// The error is a [*SumError] for a file with another SHA-256, a [*RefusedError] for what
// the options do not permit, a [*StatusError] for an HTTP error response, or one of the
// network, the file system or the context. After a SumError and for a file that is too
// large nothing is left on the disk; after other errors the bytes stay in a hidden file,
// which the next call resumes.
func Download(ctx context.Context, f manifest.File, path string, opts *Options) error {
	if !grammar.IsSHA256(f.SHA256) {
		return fmt.Errorf("invalid SHA-256 of %d characters: it has 64 lowercase hexadecimal digits", len(f.SHA256))
	}
	if sum, err := sumOf(path); err == nil && sum == f.SHA256 {
		return nil
	}
	d := &download{file: f, opts: opts.withDefaults()}
	if err := d.permit(f.URL); err != nil {
		return err
	}
	defer d.connect()()

	p, err := openPart(path, f.SHA256)
	if err != nil {
		return err
	}
	err = d.run(ctx, p, path)
	_, wrong := errors.AsType[*SumError](err)
	refused, _ := errors.AsType[*RefusedError](err)
	return errors.Join(err, p.close(err == nil || wrong || refused != nil && refused.tooLarge))
}

// SumError reports a file with another SHA-256 than the manifest has.
type SumError struct {
	URL       string // without user, password and query
	Want, Got string // 64 lowercase hexadecimal digits
}

// Error names both checksums.
func (e *SumError) Error() string {
	return fmt.Sprintf("%s has the SHA-256 %s, not %s: the file was changed or the manifest is wrong; nothing was installed", e.URL, e.Got, e.Want)
}

// RefusedError reports a request or connection that the options do not permit.
type RefusedError struct {
	URL    string // or the address; without user, password and query
	Reason string

	tooLarge bool
}

// Error names the URL or address and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("%s is refused: %s", e.URL, e.Reason) }

// Is makes errors.Is(err, fs.ErrPermission) true.
func (e *RefusedError) Is(target error) bool { return target == fs.ErrPermission }

// StatusError reports an HTTP error response.
type StatusError struct {
	URL  string // without user, password and query
	Code int    // the HTTP status code
}

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: the server responded with %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// errDisk is a failure to write, after which another attempt is pointless.
var errDisk = errors.New("cannot write the file")

// onDisk wraps an error in errDisk. It returns nil for nil.
func onDisk(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errDisk, err)
}

// redacted returns a URL for an error: without user and password, and without the query,
// which may have a signature.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the URL"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
