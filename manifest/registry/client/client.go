package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/manifest/registry"
)

// Options configures [New]. Nil and zero fields mean the defaults.
type Options struct {
	// HTTP sends the requests. Default: a client with a timeout of a minute for each request.
	HTTP *http.Client
	// Token is the bearer token for publishing, and for reading a registry that requires one. It is sent to the
	// registry only. Default: none.
	Token string
	// Attempts is the maximum number of attempts of a request. Default: 5.
	Attempts int
	// MaxWait is the longest wait before another attempt. If a registry asks for a longer one, the call fails.
	// Default: 1 min.
	MaxWait time.Duration
	// MaxBytes is the maximum size of a response. Default: 64 MiB.
	MaxBytes int64
	// PageSize is the number of entries of a request, at most 100. Default: 100.
	PageSize int
}

// Client is a client of one registry. It is safe for concurrent use. Create it with [New].
type Client struct {
	base string // with the version of the API
	opts Options
	wait backoff.Backoff
}

// New returns a client of the registry at a URL, which may end with the version of the API, v0.1 or v0,
// and with /servers. opts may be nil.
func New(address string, opts *Options) (*Client, error) {
	o := *cmp.Or(opts, &Options{})
	o.HTTP = cmp.Or(o.HTTP, &http.Client{Timeout: time.Minute})
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.MaxWait = cmp.Or(o.MaxWait, time.Minute)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.PageSize = cmp.Or(o.PageSize, 100)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("invalid registry %s: write https:// and a host, without user and query", jsonpos.Quote(address))
	}
	base := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/servers"), "/")
	if !strings.HasSuffix(base, "/v0") && !strings.HasSuffix(base, "/v0.1") {
		base += "/v0.1"
	}
	return &Client{base: base, opts: o, wait: backoff.Backoff{Initial: 500 * time.Millisecond, Max: min(30*time.Second, o.MaxWait), Jitter: 0.25}}, nil
}

// Base returns the URL of the API, without a final slash.
func (c *Client) Base() string { return c.base }

// Error is an error response of a registry.
type Error struct {
	Status  int
	Message string   // what the registry says
	Details []string // its errors of single values
}

// Error returns status, message and details in one line.
func (e *Error) Error() string {
	text := fmt.Sprintf("the registry responded with %d", e.Status)
	if e.Message != "" {
		text += ": " + jsonpos.OneLine(e.Message)
	}
	for _, d := range e.Details {
		text += "; " + jsonpos.OneLine(d)
	}
	return text
}

// Is makes errors.Is(err, registry.ErrNotFound) true for 404 and 410, and that of registry.ErrExists for 409.
func (e *Error) Is(target error) bool {
	switch target {
	case registry.ErrNotFound:
		return e.Status == http.StatusNotFound || e.Status == http.StatusGone
	case registry.ErrExists:
		return e.Status == http.StatusConflict
	}
	return false
}

// Page is a page of entries.
type Page struct {
	registry.Page
	Unreadable int // entries without name or version, which are left out
}

// page is the JSON form of a page.
type page struct {
	Servers  json.RawMessage `json:"servers"` // an array, or null for none
	Metadata struct {
		NextCursor string `json:"nextCursor"`
	} `json:"metadata"`
}

// Page returns a page of a list. An empty cursor is the beginning.
func (c *Client) Page(ctx context.Context, f *registry.Filter, cursor string) (*Page, error) {
	values := url.Values{"limit": {strconv.Itoa(c.opts.PageSize)}}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("cursor", cursor)
	set("search", f.Search)
	set("version", f.Version)
	if f.ByTime() {
		set("updated_since", f.UpdatedSince.UTC().Format(time.RFC3339Nano))
	}
	if f.IncludeDeleted {
		set("include_deleted", "true")
	}
	return c.page(ctx, "/servers?"+values.Encode())
}

func (c *Client) page(ctx context.Context, path string) (*Page, error) {
	var read page
	if err := c.call(ctx, http.MethodGet, path, nil, &read); err != nil {
		return nil, err
	}
	var servers []json.RawMessage
	if json.Unmarshal(read.Servers, &servers) != nil {
		return nil, errors.New("the response is not one of a registry: it has no servers")
	}
	p := &Page{}
	p.Servers = make([]registry.Entry, 0, len(servers))
	for _, raw := range servers {
		var e registry.Entry
		if json.Unmarshal(raw, &e) != nil {
			p.Unreadable++
			continue
		}
		p.Servers = append(p.Servers, e)
	}
	p.Metadata.Count = len(p.Servers)
	p.Metadata.NextCursor = read.Metadata.NextCursor
	return p, nil
}

// Mirror returns a page for package registry/mirror.
func (c *Client) Mirror(ctx context.Context, since time.Time, cursor string) (*registry.Page, int, error) {
	p, err := c.Page(ctx, &registry.Filter{UpdatedSince: since, IncludeDeleted: true}, cursor)
	if e, ok := errors.AsType[*Error](err); ok && cursor != "" && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) {
		return nil, 0, errors.Join(registry.ErrCursor, err)
	}
	if err != nil {
		return nil, 0, err
	}
	return &p.Page, p.Unreadable, nil
}

// All returns all entries of a list, page by page. It ends after the first error.
func (c *Client) All(ctx context.Context, f *registry.Filter) iter.Seq2[registry.Entry, error] {
	return func(yield func(registry.Entry, error) bool) {
		cursor := ""
		for {
			p, err := c.Page(ctx, f, cursor)
			if err != nil {
				yield(registry.Entry{}, err)
				return
			}
			for _, e := range p.Servers {
				if !yield(e, nil) {
					return
				}
			}
			next := p.Metadata.NextCursor
			if next == "" {
				return
			}
			if next == cursor {
				yield(registry.Entry{}, ErrLoop)
				return
			}
			cursor = next
		}
	}
}

// ErrLoop is returned if a page leads to itself.
var ErrLoop = errors.New("the registry has sent the same cursor twice")

// Versions returns the versions of a server.
func (c *Client) Versions(ctx context.Context, name string) ([]registry.Entry, error) {
	p, err := c.page(ctx, "/servers/"+url.PathEscape(name)+"/versions")
	if err != nil {
		return nil, err
	}
	return p.Servers, nil
}

// Get returns a version of a server. An empty version is the latest one.
func (c *Client) Get(ctx context.Context, name, version string) (*registry.Entry, error) {
	e := &registry.Entry{}
	path := "/servers/" + url.PathEscape(name) + "/versions/" + url.PathEscape(cmp.Or(version, "latest"))
	if err := c.call(ctx, http.MethodGet, path, nil, e); err != nil {
		return nil, err
	}
	if e.Name != name || version != "" && version != "latest" && e.Version != version {
		return nil, fmt.Errorf("the registry responded with %s %s", jsonpos.Quote(e.Name), jsonpos.Quote(e.Version))
	}
	return e, nil
}

// Publish publishes a manifest.
func (c *Client) Publish(ctx context.Context, manifest []byte) (*registry.Entry, error) {
	e := &registry.Entry{}
	return e, c.call(ctx, http.MethodPost, "/publish", manifest, e)
}

// SetStatus changes the status of a version. message is why, and empty for registry.Active.
func (c *Client) SetStatus(ctx context.Context, name, version string, status registry.Status, message string) (*registry.Entry, error) {
	body := map[string]any{"status": status}
	if message != "" {
		body["statusMessage"] = message
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	e := &registry.Entry{}
	path := "/servers/" + url.PathEscape(name) + "/versions/" + url.PathEscape(version) + "/status"
	return e, c.call(ctx, http.MethodPatch, path, encoded, e)
}

// call sends a request, again if that may help, and decodes the response.
func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) error {
	for failures := 0; ; failures++ {
		data, again, err := c.send(ctx, method, path, body)
		if err == nil {
			if err := json.Unmarshal(data, into); err != nil {
				return fmt.Errorf("the response of %s is not one of a registry: %w", c.base, err)
			}
			return nil
		}
		if again == nil || ctx.Err() != nil || method != http.MethodGet && !again.refused {
			return err
		}
		wait := cmp.Or(again.after, c.wait.Wait(failures))
		if failures+1 >= c.opts.Attempts || wait > c.opts.MaxWait {
			return err
		}
		if err := backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// retry says that another attempt may succeed.
type retry struct {
	refused bool // the registry has not carried out the request
	after   time.Duration
}

// send sends a request once and returns the body of a success. After an error, again is nil unless another attempt may
// succeed.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (data []byte, again *retry, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json, application/problem+json")
	r.Header.Set("User-Agent", "ashlar-registry-client")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	response, err := c.opts.HTTP.Do(r) // #nosec G704 -- the caller chooses the registry
	switch {
	case errors.Is(err, fs.ErrPermission): // HTTP, of the options, refuses to connect
		return nil, nil, err
	case err != nil:
		return nil, &retry{}, err
	}
	defer response.Body.Close()
	data, err = io.ReadAll(io.LimitReader(response.Body, c.opts.MaxBytes+1))
	switch {
	case err != nil:
		return nil, &retry{}, err
	case int64(len(data)) > c.opts.MaxBytes:
		return nil, nil, fmt.Errorf("the response of %s has more than %d bytes", c.base, c.opts.MaxBytes)
	case response.StatusCode == http.StatusOK:
		return data, nil, nil
	}
	failure := errorOf(response.StatusCode, data)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		after, _ := limitheader.Wait(response.Header.Get(limitheader.RetryAfter))
		return nil, &retry{true, after}, failure
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return nil, &retry{}, failure
	}
	return nil, nil, failure
}

// errorOf reads an error response: problem details, or {"error": text}.
func errorOf(status int, data []byte) *Error {
	var p struct {
		Detail, Error, Message string
		Errors                 []struct{ Message, Location string }
	}
	e := &Error{Status: status}
	if json.Unmarshal(data, &p) != nil {
		return e // another form, such as the page of a proxy
	}
	e.Message = cmp.Or(p.Detail, p.Error, p.Message)
	for _, d := range p.Errors[:min(len(p.Errors), 20)] {
		e.Details = append(e.Details, strings.TrimPrefix(d.Location+": "+d.Message, ": "))
	}
	return e
}
