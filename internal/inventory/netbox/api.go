package netbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/limitheader"
)

// The bounds of requests to the API.
const (
	pageSize    = 500
	maxPage     = 64 << 20 // bytes
	pageTimeout = time.Minute
	maxReads    = 3 // reads of a list that changes meanwhile
	maxRetries  = 5
	maxWait     = 5 * time.Minute
)

// Fetch reads the REST API of the NetBox at a base URL, such as https://netbox.example.org, with an API
// token. A nil client means one with a timeout of a minute for each request. Errors do not have the token.
func Fetch(ctx context.Context, base, token string, client *http.Client) (*Export, error) {
	root, err := url.Parse(strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/api") + "/api/")
	if err != nil || root.Host == "" || root.Scheme != "http" && root.Scheme != "https" || root.User != nil {
		return nil, errors.New("netbox: the address must be a URL such as https://netbox.example.org, without a user")
	}
	client = cmp.Or(client, &http.Client{Timeout: pageTimeout})
	a := &api{root: root, token: token, client: client}
	x := newExport()
	for _, model := range slices.Sorted(maps.Keys(x.used)) {
		path := x.used[model]
		if path == "" {
			continue
		}
		all, err := a.all(ctx, path)
		if errors.Is(err, errNotFound) && model != "dcim.site" { // another version has it elsewhere
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if err := x.add(model, number(o["id"]), o); err != nil {
				return nil, err
			}
		}
	}
	if err := a.count(ctx, x, append(slices.Collect(maps.Values(x.used)), "dcim/cable-terminations")); err != nil {
		return nil, err
	}
	x.finish()
	return x, nil
}

// count counts the objects of kinds that are not read.
func (a *api) count(ctx context.Context, x *Export, read []string) error {
	for _, app := range []string{"circuits", "dcim", "ipam", "tenancy", "virtualization", "vpn", "wireless"} {
		var lists map[string]json.RawMessage
		if err := a.get(ctx, a.root.JoinPath(app).String()+"/", &lists); err != nil && !errors.Is(err, errNotFound) {
			return err
		}
		for name := range lists {
			path := app + "/" + name
			if slices.Contains(read, path) || path == "dcim/connected-device" { // which is no list
				continue
			}
			p := &page{}
			if err := a.get(ctx, a.root.JoinPath(path).String()+"/?limit=1", p); err != nil && !errors.Is(err, errNotFound) {
				return err
			}
			x.counts[path] = p.Count
		}
	}
	return nil
}

type api struct {
	root   *url.URL
	token  string
	client *http.Client
	heard  bool // whether NetBox has responded
}

// page is a page of a list.
type page struct {
	Count   int64
	Next    string
	Results []object
}

// all returns the objects of a list, in the form of fixtures. If objects are created or deleted meanwhile, pages may
// overlap or leave some out: then it reads the list again.
func (a *api) all(ctx context.Context, path string) (all []object, err error) {
	for range maxReads {
		seen := map[int64]bool{}
		all = nil
		query, count := url.Values{"limit": {strconv.Itoa(pageSize)}, "ordering": {"id"}}.Encode(), int64(0)
		for query != "" {
			p := &page{}
			if err := a.get(ctx, a.root.JoinPath(path).String()+"/?"+query, p); err != nil {
				return nil, err
			}
			for _, o := range p.Results {
				id := number(o["id"])
				if seen[id] {
					continue
				}
				seen[id] = true
				for name, value := range o {
					if name != "custom_fields" {
						o[name] = plain(value)
					}
				}
				all = append(all, o)
			}
			if count = p.Count; p.Next == "" {
				break
			}
			next, err := url.Parse(p.Next) // at the address that NetBox has for itself
			if err != nil || len(p.Results) == 0 {
				return nil, fmt.Errorf("netbox: GET %s: the page has a wrong next page, or is empty", path)
			}
			query = next.RawQuery
		}
		if int64(len(all)) == count {
			return all, nil
		}
	}
	return nil, fmt.Errorf("netbox: GET %s: the pages have %d objects, and not as many as NetBox counts: objects are being created or deleted, so try again later", path, len(all))
}

// plain returns a reference as its number, and a choice as its value.
func plain(value any) any {
	o, ok := value.(map[string]any)
	if !ok {
		return value
	}
	if id, ok := o["id"]; ok {
		return id
	}
	return o["value"]
}

// errNotFound is the error of a path that does not exist.
var errNotFound = errors.New("404 Not Found")

// retry says how long to wait after failures of a request.
var retry = backoff.Backoff{Initial: 500 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.25}

// get reads JSON. It tries again if NetBox limits the rate, is away, or ends the connection.
func (a *api) get(ctx context.Context, address string, to any) error {
	for failures := 0; ; failures++ {
		wait, err := a.try(ctx, address, to)
		if err == nil || wait < 0 || failures == maxRetries || ctx.Err() != nil {
			return err
		}
		if wait > maxWait {
			return fmt.Errorf("%w: it says to wait for %s", err, wait)
		}
		if backoff.Sleep(ctx, max(wait, retry.Wait(failures))) != nil {
			return err
		}
	}
}

// try sends a request once. After an error it returns how long to wait at least before the next attempt; less than 0
// means that none makes sense.
func (a *api) try(ctx context.Context, address string, to any) (wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return -1, fmt.Errorf("netbox: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	switch {
	case strings.HasPrefix(a.token, "nbt_"): // version 2, since 4.5
		r.Header.Set("Authorization", "Bearer "+a.token)
	case a.token != "":
		r.Header.Set("Authorization", "Token "+a.token)
	}
	response, err := a.client.Do(r)
	if err != nil {
		if wait = -1; a.heard {
			wait = 0
		}
		return wait, fmt.Errorf("netbox: %w", err)
	}
	a.heard = true
	defer func() { _ = response.Body.Close() }() // it was read only
	failed := fmt.Errorf("netbox: GET %s: %s", r.URL.Path, response.Status)
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return -1, fmt.Errorf("netbox: GET %s: %w: use the address of a NetBox", r.URL.Path, errNotFound)
	case http.StatusUnauthorized, http.StatusForbidden:
		return -1, fmt.Errorf("%w: use an API token of NetBox that may read it", failed)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait, _ := limitheader.Wait(response.Header.Get(limitheader.RetryAfter))
		return max(0, wait), failed
	default:
		return -1, failed
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	switch {
	case err != nil:
		return 0, fmt.Errorf("netbox: GET %s: the connection ended: %w", r.URL.Path, err)
	case len(body) > maxPage:
		return -1, fmt.Errorf("netbox: GET %s: the response has more than %d MiB", r.URL.Path, maxPage>>20)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(to); errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("netbox: GET %s: the response is cut off", r.URL.Path)
	} else if err != nil {
		return -1, fmt.Errorf("netbox: GET %s: the response is no list of NetBox: %w", r.URL.Path, err)
	}
	return 0, nil
}
