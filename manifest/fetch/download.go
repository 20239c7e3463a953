package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/manifest"
)

// download is one file on its way.
type download struct {
	file manifest.File
	opts Options
	http *http.Client
}

// complete fills the part and puts a checked copy of it at the path. What was taken up
// from an earlier call and is wrong is fetched once more.
func (d *download) complete(ctx context.Context, p *part, path string) error {
	for {
		if err := d.fill(ctx, p); err != nil {
			return err
		}
		sum, err := p.install(path, d.file.SHA256)
		if err != nil || sum == d.file.SHA256 {
			return err
		}
		if !p.taken {
			return &SumError{URL: redacted(d.file.URL), Want: d.file.SHA256, Got: sum}
		}
		if err := p.restart(); err != nil {
			return err
		}
	}
}

// fill tries until all has come.
func (d *download) fill(ctx context.Context, p *part) error {
	wait := d.opts.Wait
	for attempt := 1; ; attempt++ {
		err := d.try(ctx, p)
		if err == nil || ctx.Err() != nil || attempt == d.opts.Attempts || !passing(err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait *= 2
	}
}

// passing says that another attempt may succeed.
func passing(err error) bool {
	if s, ok := errors.AsType[*StatusError](err); ok {
		return s.Code == http.StatusTooManyRequests || s.Code >= 500
	}
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return false
	}
	_, disk := errors.AsType[*diskError](err)
	return !disk
}

// diskError is a failure to write.
type diskError struct{ error }

// Unwrap is the cause.
func (e *diskError) Unwrap() error { return e.error }

// errStalled ends an attempt in which nothing comes.
func (d *download) errStalled() error {
	return fmt.Errorf("%s: the server sent nothing for %v", redacted(d.file.URL), d.opts.Stall)
}

// try asks for what is missing and writes what comes.
func (d *download) try(ctx context.Context, p *part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(d.opts.Stall, func() { cancel(d.errStalled()) })
	defer watch.Stop()

	resp, err := d.ask(ctx, p)
	if err != nil {
		return d.cause(ctx, err)
	}
	defer resp.Body.Close()
	done, err := d.begin(resp, p)
	if done || err != nil {
		return err
	}
	total := int64(-1)
	if resp.ContentLength >= 0 {
		total = p.size + resp.ContentLength
	}
	if total > d.opts.MaxBytes {
		return d.tooLarge()
	}
	return d.cause(ctx, d.copy(resp.Body, p, total, func() { watch.Reset(d.opts.Stall) }))
}

// cause is why a request ended: the context's reason if it has one.
func (d *download) cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (d *download) ask(ctx context.Context, p *part) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.file.URL, nil)
	if err != nil {
		return nil, &RefusedError{redacted(d.file.URL), "it is no URL of a file"}
	}
	req.Header.Set("Accept-Encoding", "identity")
	if p.size > d.opts.MaxBytes {
		if err := p.restart(); err != nil {
			return nil, &diskError{err}
		}
	}
	if p.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
	}
	resp, err := d.http.Do(req)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return nil, refused // without the words of package http around it, which have the URL
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redacted(d.file.URL), bare(err))
	}
	return resp, nil
}

// bare is an error of package http without the URL, in which there may be a key.
func bare(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// begin looks at an answer. done says that nothing is missing.
func (d *download) begin(resp *http.Response, p *part) (done bool, err error) {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var first int64
		_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &first)
		if err == nil && first == p.size && p.size > 0 {
			return false, nil
		}
		return false, errors.Join(fmt.Errorf("%s: the server sent another part than was asked for", redacted(d.file.URL)), p.restart())
	case http.StatusOK:
		if p.size == 0 {
			return false, nil
		}
		return false, wrapDisk(p.restart()) // it does not send parts
	case http.StatusRequestedRangeNotSatisfiable:
		if p.size > 0 && strings.HasSuffix(resp.Header.Get("Content-Range"), fmt.Sprintf("/%d", p.size)) {
			return true, nil // an earlier call was cut off at the very end
		}
		if p.size > 0 {
			return false, errors.Join(fmt.Errorf("%s: the file is shorter than what was there of it", redacted(d.file.URL)), p.restart())
		}
	}
	return false, &StatusError{URL: redacted(d.file.URL), Code: resp.StatusCode}
}

func wrapDisk(err error) error {
	if err == nil {
		return nil
	}
	return &diskError{err}
}

func (d *download) tooLarge() error {
	return &sizeError{RefusedError{redacted(d.file.URL), fmt.Sprintf("it is larger than %d bytes", d.opts.MaxBytes)}}
}

// copy writes what comes, and tells of it.
func (d *download) copy(body io.Reader, p *part, total int64, came func()) error {
	buffer := make([]byte, 64<<10)
	d.progress(p.size, total)
	for {
		n, err := body.Read(buffer)
		if p.size+int64(n) > d.opts.MaxBytes {
			return d.tooLarge()
		}
		if n > 0 {
			came()
			if err := p.append(buffer[:n]); err != nil {
				return &diskError{err}
			}
			d.progress(p.size, total)
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", redacted(d.file.URL), err)
		}
	}
}

func (d *download) progress(done, total int64) {
	if d.opts.Progress != nil {
		d.opts.Progress(done, total)
	}
}
