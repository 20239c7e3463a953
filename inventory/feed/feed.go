package feed

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Change is a change of a record, or an event of an account such as a login.
type Change struct {
	Cursor       string          `json:"cursor"`        // continues after the change; cursors compare as strings like their changes
	Action       string          `json:"action"`        // create, update, delete, or another one of the audit log
	ResourceType string          `json:"resource_type"` // such as device
	ResourceID   string          `json:"resource_id"`
	Actor        string          `json:"actor"`   // the name of the user
	UserID       *string         `json:"user_id"` // nil if there is none; the user may have been deleted since
	CreatedAt    time.Time       `json:"created_at"`
	RequestID    string          `json:"request_id"`
	Changes      records.Changes `json:"changes"` // the fields before and after
	Cause        string          `json:"cause"`   // the record whose deletion caused the change, as in location/018f...; empty for none
}

// Options configure [Follow]. Nil means the defaults.
type Options struct {
	// Resources restricts the changes to some resources, such as devices. Default: all that the
	// token may read.
	Resources []string
	// Client sends the requests. It must not have a Timeout. Default: a client without one.
	Client *http.Client
	// Poll uses long polling only. Default: server-sent events, and long polling if a proxy does
	// not let them pass.
	Poll bool
	// MaxBackoff bounds the pause before the next attempt after failures. Default: 10 seconds.
	MaxBackoff time.Duration
	// Log receives failures after which Follow tries again. Default: slog.Default().
	Log *slog.Logger
}

// GoneError says that the changes after a cursor are no longer kept, or that it belongs to
// another database: read the cursor, list all records, and continue from there.
type GoneError struct {
	Message string
	Head    string // the cursor after the last change; empty over HTTP, where Message has it
}

// Error returns the message, which says how to start over.
func (e *GoneError) Error() string { return e.Message }

// StatusError is a response after which another attempt makes no sense, such as 401 for a token
// that has expired.
type StatusError struct {
	Status  int
	Message string
}

// Error returns the status and the message of the server.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the server responds %d: %s", e.Status, e.Message)
}

// The limits of a stream.
const (
	firstByte = 10 * time.Second // a proxy that passes nothing on for so long buffers the stream
	silence   = 45 * time.Second // three heartbeats
	pollWait  = 25               // seconds
	maxLine   = 16 << 20
)

// Follow calls f with each change after a cursor, in order, until ctx ends or f fails. since may be
// "" for the changes from now on, and "0" for all that are kept. After a failure of the server or of
// the network Follow connects again, after the last change that f has accepted. It returns the
// error of f or of ctx, a [*GoneError], or a [*StatusError].
func Follow(ctx context.Context, address, token, since string, opts *Options, f func(Change) error) error {
	c, err := newClient(address, token, opts)
	if err != nil {
		return err
	}
	c.since, c.f = since, f
	for failures := 1; ; failures++ {
		before := c.since
		err := c.attempt(ctx)
		_, gone := errors.AsType[*GoneError](err)
		_, status := errors.AsType[*StatusError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case c.refused || gone || status: // another attempt makes no sense
			return err
		case err == nil || c.since != before:
			failures = 0
		}
		if err == nil {
			continue
		}
		c.opts.Log.DebugContext(ctx, "the change feed connects again", "error", err)
		pause := backoff.Backoff{Initial: 100 * time.Millisecond, Max: c.opts.MaxBackoff, Jitter: 1}
		if err := backoff.Sleep(ctx, max(pause.Wait(failures), c.after)); err != nil {
			return err
		}
		c.after = 0
	}
}

// Cursor returns the cursor after the last change.
func Cursor(ctx context.Context, address, token string, opts *Options) (string, error) {
	c, err := newClient(address, token, opts)
	if err != nil {
		return "", err
	}
	page, err := c.page(ctx, 0)
	if err != nil {
		return "", err
	}
	return page.Next, nil
}

// client is a call of Follow.
type client struct {
	base   *url.URL
	token  string
	opts   Options
	since  string
	f      func(Change) error
	stalls int // streams in a row that a proxy seems to hold back

	refused bool          // f has returned an error
	after   time.Duration // least pause that the server asked for
}

func newClient(address, token string, opts *Options) (*client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("the address of the inventory is %q: use a URL such as https://inventory.example.com", address)
	}
	c := &client{base: base, token: token, opts: *cmp.Or(opts, &Options{})}
	c.opts.Client = cmp.Or(c.opts.Client, &http.Client{})
	c.opts.Log = cmp.Or(c.opts.Log, slog.Default())
	c.opts.MaxBackoff = cmp.Or(max(c.opts.MaxBackoff, 0), 10*time.Second)
	return c, nil
}

// accept passes a change to f.
func (c *client) accept(change Change) error {
	if err := c.f(change); err != nil {
		c.refused = true
		return err
	}
	c.since = change.Cursor
	return nil
}

// attempt follows the changes until something fails.
func (c *client) attempt(ctx context.Context) error {
	if c.since == "" { // fix the beginning, whatever fails later
		page, err := c.page(ctx, 0)
		if err != nil {
			return err
		}
		c.since = page.Next
	}
	if c.opts.Poll || c.stalls >= 2 {
		page, err := c.page(ctx, pollWait)
		if err != nil {
			return err
		}
		for _, change := range page.Data {
			if err := c.accept(change); err != nil {
				return err
			}
		}
		c.since = page.Next
		return nil
	}
	return c.stream(ctx)
}

// get sends a request.
func (c *client) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	at := c.base.JoinPath(path)
	if c.since != "" {
		query.Set("since", c.since)
	}
	query["resource"] = c.opts.Resources
	at.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.opts.Client.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	var problem struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &problem) != nil {
		problem.Message = http.StatusText(res.StatusCode)
	}
	switch s := res.StatusCode; {
	case s == http.StatusGone:
		return nil, &GoneError{Message: problem.Message}
	case s >= 400 && s < 500 && s != http.StatusTooManyRequests && s != http.StatusRequestTimeout:
		return nil, &StatusError{s, problem.Message}
	}
	after, _ := limitheader.Wait(res.Header.Get(limitheader.RetryAfter))
	c.after = min(after, c.opts.MaxBackoff)
	return nil, fmt.Errorf("the server responds %d: %s", res.StatusCode, problem.Message)
}

// changePage is the response to GET /changes.
type changePage struct {
	Data []Change `json:"data"`
	Next string   `json:"next"`
}

// page reads a page, and waits some seconds for a change.
func (c *client) page(ctx context.Context, wait int) (*changePage, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Second+silence)
	defer cancel()
	res, err := c.get(ctx, "changes", url.Values{"wait": {strconv.Itoa(wait)}})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	page := &changePage{}
	if err := json.NewDecoder(res.Body).Decode(page); err != nil {
		return nil, fmt.Errorf("read changes: %w", err)
	}
	if page.Next == "" {
		return nil, errors.New("read changes: the response has no cursor")
	}
	return page, nil
}

// stream receives server-sent events.
func (c *client) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alarm := time.AfterFunc(firstByte, cancel)
	defer alarm.Stop()
	res, err := c.get(ctx, "changes/stream", url.Values{})
	if err != nil {
		return c.stalled(ctx, err)
	}
	defer res.Body.Close()
	if kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); kind != "text/event-stream" {
		c.stalls = 2
		return fmt.Errorf("the server sends %q instead of events", kind)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxLine)
	id, data, first := "", "", true
	for lines.Scan() {
		alarm.Reset(silence)
		if first {
			first, c.stalls = false, 0
		}
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "" && data != "":
			var change Change
			if err := json.Unmarshal([]byte(data), &change); err != nil {
				return fmt.Errorf("read a change: %w", err)
			}
			// f may take its time.
			alarm.Stop()
			if err := c.accept(change); err != nil {
				return err
			}
			alarm.Reset(silence)
			id, data = "", ""
		case lines.Text() == "" && id != "": // a heartbeat: there are no changes up to here
			c.since, id = id, ""
		case name == "id":
			id = value
		case name == "data":
			data = value
		}
	}
	err = cmp.Or(lines.Err(), io.ErrUnexpectedEOF)
	err = fmt.Errorf("the stream ended: %w", err)
	if first {
		return c.stalled(ctx, err)
	}
	return err
}

// stalled counts streams that end before their first line because nothing arrives in time.
func (c *client) stalled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		c.stalls++
	}
	return err
}
