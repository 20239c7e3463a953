package netbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The bounds of requests to the API.
const (
	pageSize    = 500
	maxPage     = 64 << 20 // bytes
	pageTimeout = time.Minute
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
	paths := maps.Clone(details)
	maps.Copy(paths, named)
	for _, k := range x.kinds {
		paths[k.model] = k.path
	}
	for model, path := range paths {
		if path == "" {
			continue
		}
		if err := a.each(ctx, path, func(o object) error { return x.add(model, number(o["id"]), o) }); err != nil {
			return nil, err
		}
	}
	for model, path := range counted {
		p, err := a.page(ctx, a.root.JoinPath(path).String()+"/?limit=1")
		if err != nil {
			return nil, err
		}
		x.counts[model] = p.Count
	}
	return x, nil
}

type api struct {
	root   *url.URL
	token  string
	client *http.Client
}

// page is a page of a list.
type page struct {
	Count   int64
	Next    string
	Results []object
}

// each calls f with the objects of a list, in the form of fixtures.
func (a *api) each(ctx context.Context, path string, f func(o object) error) error {
	next := fmt.Sprintf("%s/?limit=%d", a.root.JoinPath(path), pageSize)
	for next != "" {
		p, err := a.page(ctx, next)
		if err != nil {
			return err
		}
		for _, o := range p.Results {
			for name, value := range o {
				if name != "custom_fields" {
					o[name] = plain(value)
				}
			}
			if err := f(o); err != nil {
				return err
			}
		}
		if next = p.Next; next == "" {
			break
		}
		u, err := url.Parse(next)
		if err != nil || u.Host != a.root.Host || len(p.Results) == 0 {
			return fmt.Errorf("netbox: the next page of %s is at another host, or empty: use the address that NetBox has for itself", path)
		}
		u.Scheme = a.root.Scheme // a proxy may hide it from NetBox
		next = u.String()
	}
	return nil
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

// page reads one page.
func (a *api) page(ctx context.Context, address string) (*page, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("netbox: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	if a.token != "" {
		r.Header.Set("Authorization", "Token "+a.token)
	}
	response, err := a.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("netbox: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read only
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("netbox: GET %s: %s: set NETBOX_TOKEN to a token that may read it", r.URL.Path, response.Status)
	default:
		return nil, fmt.Errorf("netbox: GET %s: %s", r.URL.Path, response.Status)
	}
	d := json.NewDecoder(io.LimitReader(response.Body, maxPage))
	d.UseNumber()
	p := &page{}
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("netbox: GET %s: the response is no list of NetBox: %w", r.URL.Path, err)
	}
	return p, nil
}
