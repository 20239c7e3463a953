package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// request is what one call sends, perhaps several times.
type request struct {
	method, path string // below the URL of the server
	query        url.Values
	header       http.Header
	body         []byte // nil for none
	repeatable   bool   // to send it twice does no more than once
}

// Do sends a value as JSON and reads a response in JSON. in and out may be nil. The path is below the URL of the
// client, such as "/trace". It is for operations that have no function of their own.
//
// A request is sent again after a failed connection or a 5xx. A POST that creates records of a resource of the schema
// has an Idempotency-Key; any other one is sent again only if the server did not begin with it: after a 429, or if there
// was no connection. See [Options] for the limits.
func (c *Client) Do(ctx context.Context, method, path string, query url.Values, in, out any) error {
	r := &request{method: method, repeatable: method != http.MethodPost}
	if _, ok := c.opts.Schema.Named(strings.TrimPrefix(path, "/")); ok && method == http.MethodPost {
		r = creation()
	}
	r.path, r.query = path, query
	return c.do(ctx, r, in, out)
}

func (c *Client) do(ctx context.Context, r *request, in, out any) error {
	if in != nil {
		var err error
		if r.body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	for failures := 0; ; failures++ {
		err := c.once(ctx, r, out)
		if read, ok := errors.AsType[*readError](err); !ok || !r.repeatable || failures+1 == c.opts.Attempts || read.final {
			return err
		}
		if err := c.wait(ctx, failures, 0, err); err != nil {
			return err
		}
	}
}

// readError is a response of which not all could be read.
type readError struct {
	error
	final bool // another response would be the same
}

func (e *readError) Unwrap() error { return e.error }

// once reads one response.
func (c *Client) once(ctx context.Context, r *request, out any) error {
	body, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, c.opts.MaxResponse+1))
	switch {
	case err != nil:
		return &readError{fmt.Errorf("%s %s: the response ended early: %w", r.method, r.path, err), ctx.Err() != nil}
	case int64(len(text)) > c.opts.MaxResponse:
		return &readError{fmt.Errorf("%s %s: the response has more than %d bytes: raise Options.MaxResponse, or ask for less", r.method, r.path, c.opts.MaxResponse), true}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return &readError{fmt.Errorf("%s %s: the response is not the JSON of an inventory: %w", r.method, r.path, err), true}
	}
	return nil
}

// Open sends a GET and returns the body of the response, which may have any size and format, such as an export:
// /devices with format=csv. The caller closes it. A response that has begun is not repeated: reading it fails if the
// connection does, or with nothing for [Options].Timeout.
func (c *Client) Open(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	return c.open(ctx, &request{method: http.MethodGet, path: path, query: query, repeatable: true})
}

// open sends a request until the response says that it was successful, or that another attempt makes no sense.
func (c *Client) open(ctx context.Context, r *request) (io.ReadCloser, error) {
	unsure := false
	for failures := 0; ; failures++ {
		res, err := c.send(ctx, r)
		if err == nil && res.StatusCode < 300 {
			return res.Body, nil
		}
		again, wait := false, time.Duration(0)
		if err != nil {
			dial, ok := errors.AsType[*net.OpError](err)
			unsent := ok && dial.Op == "dial"
			again, unsure = r.repeatable || unsent, unsure || !unsent
		} else {
			failed := c.failure(r.method, r.path, res)
			_ = res.Body.Close()
			unsure = unsure || failed.Status >= 500 && failed.Status != http.StatusServiceUnavailable
			failed.Unsure = unsure && r.method != http.MethodGet
			again, wait, err = r.repeatable && failed.Status >= 500 || failed.Status == http.StatusTooManyRequests, failed.Wait, failed
			again = again && wait <= c.opts.MaxWait && failed.Status != http.StatusInsufficientStorage
		}
		if !again || ctx.Err() != nil || failures+1 == c.opts.Attempts {
			return nil, err
		}
		if err := c.wait(ctx, failures, wait, err); err != nil {
			return nil, err
		}
	}
}

// wait waits after a failure, at least as long as the server asks for.
func (c *Client) wait(ctx context.Context, failures int, least time.Duration, reason error) error {
	pause := backoff.Backoff{Initial: 100 * time.Millisecond, Max: c.opts.MaxWait, Jitter: 0.5}.Wait(failures)
	pause = max(pause, least)
	if until, ok := ctx.Deadline(); ok && time.Until(until) < pause {
		return fmt.Errorf("%w: another attempt is possible in %v: %w", context.DeadlineExceeded, pause, reason)
	}
	if c.opts.Retry != nil {
		c.opts.Retry(pause, reason)
	}
	if err := backoff.Sleep(ctx, pause); err != nil {
		return fmt.Errorf("%w: %w", err, reason)
	}
	return nil
}

// send sends a request once. The body of the response fails if nothing arrives in time.
func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	at := c.base.JoinPath(r.path)
	at.RawQuery = r.query.Encode()
	ctx, cancel := context.WithCancelCause(ctx)
	alarm := time.AfterFunc(c.opts.Timeout, func() { cancel(errSilent) })
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), bytes.NewReader(r.body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if r.body == nil {
		req.Body = nil
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, */*;q=0.1")
	if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	maps.Copy(req.Header, r.header)
	res, err := c.opts.HTTP.Do(req)
	alarm.Stop()
	if err != nil {
		if context.Cause(ctx) == errSilent {
			err = fmt.Errorf("%s %s: %w", r.method, r.path, errSilent)
		}
		cancel(nil)
		return nil, err
	}
	res.Body = &body{res.Body, ctx, cancel, alarm, c.opts.Timeout}
	return res, nil
}

// errSilent ends a response of which nothing arrives.
var errSilent = errors.New("the server sent nothing for too long (Options.Timeout)")

// body is that of a response.
type body struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	alarm  *time.Timer // runs while a Read does
	most   time.Duration
}

func (b *body) Read(p []byte) (int, error) {
	b.alarm.Reset(b.most)
	n, err := b.ReadCloser.Read(p)
	b.alarm.Stop()
	if err != nil && context.Cause(b.ctx) == errSilent {
		err = errSilent
	}
	return n, err
}

func (b *body) Close() error {
	b.alarm.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// Error is the response of a server that refuses a request, or fails.
type Error struct {
	Method, Path string // of the request, such as POST and /devices
	Status       int    // such as 409; 3xx for a redirect that was not followed
	// Code is a short name for programs, such as "not_unique" or "precondition_failed" (REFERENCE.md, 2.2). It is empty if
	// the response is not one of an inventory.
	Code      string
	Message   string             // for people
	Fields    []httpx.FieldError // what is wrong with single fields
	Items     []httpx.ItemError  // what is wrong with single items of a bulk request
	Problems  []Problem          // what is wrong with rows of an import
	RequestID string             // as in the log of the server
	Wait      time.Duration      // after which another attempt makes sense (Retry-After); 0 if the server does not say
	// Unsure says that there was no response to an earlier attempt, so that the change may have been made. So it is with
	// 412 after a change that arrived, and whose response was lost: read the record.
	Unsure bool
}

// Error returns the request and the message, with a line for each further detail.
func (e *Error) Error() string {
	text := e.Method + " " + e.Path + ": " + printable.String(e.Message)
	detail := func(format string, args ...any) {
		if line := printable.String(fmt.Sprintf(format, args...)); !strings.Contains(text, line) {
			text += "\n  " + line
		}
	}
	for _, f := range e.Fields {
		detail("%s %s", f.Field, f.Reason)
	}
	for _, item := range e.Items {
		detail("item %d %s: %s", item.Index, item.ID, item.Message)
		for _, f := range item.Errors {
			detail("item %d: %s %s", item.Index, f.Field, f.Reason)
		}
	}
	return text
}

// failure returns the error that a response says.
func (c *Client) failure(method, path string, res *http.Response) *Error {
	e := &Error{Method: method, Path: path, Status: res.StatusCode, RequestID: res.Header.Get("X-Request-ID")}
	e.Wait, _ = limitheader.Wait(res.Header.Get(limitheader.RetryAfter))
	text, _ := io.ReadAll(io.LimitReader(res.Body, c.opts.MaxResponse)) // what can't be read is not of an inventory
	var body struct {
		Code, Message string
		Errors        []httpx.FieldError
		Items         []httpx.ItemError
		Problems      []Problem
	}
	if json.Unmarshal(text, &body) != nil || body.Message == "" {
		e.Message = fmt.Sprintf("the server responded %s, not as an inventory does: check the URL", res.Status)
		return e
	}
	e.Code, e.Message, e.Fields, e.Items, e.Problems = body.Code, body.Message, body.Errors, body.Items, body.Problems
	return e
}
