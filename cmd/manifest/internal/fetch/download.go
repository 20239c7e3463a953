package fetch

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/publicnet"
	"github.com/ashlar-go/ashlar/manifest"
)

// download is one call of Download.
type download struct {
	file manifest.File
	opts Options
	http *http.Client
}

func (d *download) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", redacted(d.file.URL), fmt.Errorf(format, args...))
}

// run completes the partial file and installs it. If its checksum is wrong because of bytes that another call wrote,
// earlier or at the same time, it is downloaded again.
func (d *download) run(ctx context.Context, p *part, path string) error {
	for range 5 {
		if err := d.fill(ctx, p); err != nil {
			return err
		}
		sum, err := p.install(path, d.file.SHA256)
		if err != nil || sum == d.file.SHA256 {
			return err
		}
		if sum == hex.EncodeToString(p.received.Sum(nil)) {
			return &SumError{URL: redacted(d.file.URL), Want: d.file.SHA256, Got: sum}
		}
		if err := p.restart(); err != nil {
			return err
		}
	}
	return d.errorf("another download writes to %s: try again when it has ended", p.Name())
}

// fill makes attempts until the partial file is complete.
func (d *download) fill(ctx context.Context, p *part) error {
	retry := backoff.Backoff{Initial: d.opts.Wait}
	for failures := 0; ; failures++ {
		err := d.attempt(ctx, p)
		if err == nil || ctx.Err() != nil || failures == d.opts.Attempts-1 || !isTemporary(err) {
			return err
		}
		if err := backoff.Sleep(ctx, retry.Wait(failures)); err != nil {
			return context.Cause(ctx)
		}
	}
}

// isTemporary reports whether another attempt may succeed.
func isTemporary(err error) bool {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.Code == http.StatusTooManyRequests || s.Code >= 500
	}
	_, refused := errors.AsType[*RefusedError](err)
	return !refused && !errors.Is(err, errDisk)
}

// attempt requests the missing bytes and writes them.
func (d *download) attempt(ctx context.Context, p *part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(d.opts.Stall, func() { cancel(d.errorf("the server sent nothing for %v", d.opts.Stall)) })
	defer stall.Stop()

	err := d.transfer(ctx, p, stall)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (d *download) transfer(ctx context.Context, p *part, stall *time.Timer) error {
	resp, err := d.request(ctx, p)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	complete, err := d.begin(resp, p)
	if complete || err != nil {
		return err
	}
	total := resp.ContentLength // -1 if it is unknown
	if total >= 0 {
		total += p.size
	}
	if total > d.opts.MaxBytes {
		return d.tooLarge()
	}
	buffer := make([]byte, 64<<10)
	d.opts.Progress(p.size, total)
	for {
		n, err := resp.Body.Read(buffer)
		if p.size+int64(n) > d.opts.MaxBytes {
			return d.tooLarge()
		}
		if n > 0 {
			stall.Reset(d.opts.Stall)
			if err := p.append(buffer[:n]); err != nil {
				return onDisk(err)
			}
			d.opts.Progress(p.size, total)
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return d.errorf("%w", err)
		}
	}
}

func (d *download) tooLarge() error {
	return &RefusedError{URL: redacted(d.file.URL), Reason: fmt.Sprintf("it is larger than %d bytes", d.opts.MaxBytes), tooLarge: true}
}

func (d *download) request(ctx context.Context, p *part) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.file.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if p.size > d.opts.MaxBytes {
		if err := p.restart(); err != nil {
			return nil, onDisk(err)
		}
	}
	if p.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
	}
	resp, err := d.http.Do(req)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return nil, refused
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL, which may have a key
	}
	if err != nil {
		return nil, d.errorf("%w", err)
	}
	return resp, nil
}

// begin checks a response. complete means that no bytes are missing.
func (d *download) begin(resp *http.Response, p *part) (complete bool, err error) {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var first int64
		_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &first)
		if err == nil && first == p.size && p.size > 0 {
			return false, nil
		}
		return false, errors.Join(d.errorf("the server sent another part than was requested"), p.restart())
	case http.StatusOK:
		return false, onDisk(p.restart()) // without a range, or the server does not support it
	case http.StatusRequestedRangeNotSatisfiable:
		if p.size > 0 && strings.HasSuffix(resp.Header.Get("Content-Range"), fmt.Sprintf("/%d", p.size)) {
			return true, nil // an earlier call was interrupted at the very end
		}
		if p.size > 0 {
			return false, errors.Join(d.errorf("the file is shorter than its downloaded part"), p.restart())
		}
	}
	return false, &StatusError{URL: redacted(d.file.URL), Code: resp.StatusCode}
}

// permit checks a URL before it is requested.
func (d *download) permit(text string) error {
	refused := &RefusedError{URL: redacted(text)}
	switch u, err := url.Parse(text); {
	case err != nil || u.Host == "":
		refused.Reason = "it is not the URL of a file"
	case u.Scheme == "http" && !d.opts.AllowHTTP:
		refused.Reason = "it is http, so the file could be read and changed in transit; use https"
	case u.Scheme != "https" && u.Scheme != "http":
		refused.Reason = "it is neither https nor http"
	default:
		return nil
	}
	return refused
}

const maxRedirects = 5

// redirect checks the target of a redirect.
func (d *download) redirect(req *http.Request, via []*http.Request) error {
	target := req.URL.String()
	if len(via) > maxRedirects {
		return &RefusedError{URL: redacted(target), Reason: fmt.Sprintf("it is redirect %d: at most %d are followed", len(via), maxRedirects)}
	}
	if req.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return &RefusedError{URL: redacted(target), Reason: "it is http, and the redirect comes from https"}
	}
	req.Header.Del("Referer") // the URL may have a key
	return d.permit(target)
}

// connect creates the client, which checks its connections, and returns a function that
// closes them. The client has no timeouts, because an attempt ends when the server sends
// nothing.
func (d *download) connect() (closeIdle func()) {
	d.http = &http.Client{Transport: d.opts.Transport, CheckRedirect: d.redirect}
	if d.opts.Transport != nil {
		return func() {}
	}
	dialer := &net.Dialer{}
	if !d.opts.AllowPrivate {
		dialer.Control = RequirePublic
	}
	t := &http.Transport{
		TLSClientConfig:        d.opts.TLS.Clone(),
		DialContext:            dialer.DialContext,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the checksum is that of the stored file
	}
	d.http.Transport = t
	return t.CloseIdleConnections
}

// RequirePublic is a [net.Dialer.Control] that refuses a connection to an address outside of the public network
// ([publicnet.Require]).
func RequirePublic(network, address string, conn syscall.RawConn) error {
	if err := publicnet.Require(network, address, conn); err != nil {
		return &RefusedError{URL: address, Reason: "it is " + err.Error()}
	}
	return nil
}
