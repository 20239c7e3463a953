package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Client sends requests to an inventory. Several goroutines may use it at once.
type Client struct {
	base *url.URL
	opts Options
}

// Options configure a [Client]. Nil means the defaults.
type Options struct {
	// Token is that of a session ([Client.Login]) or an API token. Default: none.
	Token string
	// HTTP sends the requests. Its Timeout should be 0, because it would end long exports; Timeout bounds what a
	// request waits for. Default: a client that waits up to 10 seconds for a connection, and does not follow redirects,
	// which could lead the token elsewhere.
	HTTP *http.Client
	// Schema has the resources and fields that the program knows; the server may have more. Default: [inventory.Schema].
	Schema *records.Schema
	// Attempts is the maximum number of times that one request is sent. Default: 5. 1 never sends it again.
	Attempts int
	// MaxWait is the longest wait before a request is sent again. A 429 or 503 that asks for a longer one is an error at
	// once. Default: a minute.
	MaxWait time.Duration
	// Timeout is the longest time in which nothing arrives of a response. Default: two minutes.
	Timeout time.Duration
	// MaxResponse is the maximum size of a response that is kept in memory, in bytes, such as that of a page. Default: 64 MiB.
	MaxResponse int64
	// Retry is called before each wait for another attempt of a request, but not by [Client.Changes]. The reason is an
	// [*Error], or that of a failed connection. Default: nothing.
	Retry func(wait time.Duration, reason error)
}

// New returns a client of the inventory at a URL such as https://inventory.example.com, or https://example.com/inventory
// if it is mounted there. It sends nothing. Errors name the option that is wrong.
func New(server string, opts *Options) (*Client, error) {
	base, err := url.Parse(server)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("client: the server %q is no URL of an inventory: use one such as https://inventory.example.com", server)
	}
	c := &Client{base: base, opts: *cmp.Or(opts, &Options{})}
	o := &c.opts
	switch {
	case strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("client: Options.Token has a blank or another character that tokens do not have")
	case o.Attempts < 0:
		return nil, fmt.Errorf("client: Options.Attempts is %d: use 1 or more, or 0 for the default", o.Attempts)
	case o.MaxWait < 0:
		return nil, fmt.Errorf("client: Options.MaxWait is %v: use a positive duration, or 0 for the default", o.MaxWait)
	case o.Timeout < 0:
		return nil, fmt.Errorf("client: Options.Timeout is %v: use a positive duration, or 0 for the default", o.Timeout)
	case o.MaxResponse < 0:
		return nil, fmt.Errorf("client: Options.MaxResponse is %d: use a number of bytes, or 0 for the default", o.MaxResponse)
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
				TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true, MaxIdleConns: 10, IdleConnTimeout: time.Minute,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if o.Schema == nil {
		o.Schema = inventory.Schema()
	}
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.MaxWait = cmp.Or(o.MaxWait, time.Minute)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	o.MaxResponse = cmp.Or(o.MaxResponse, 64<<20)
	return c, nil
}

// Login returns the token of a new session, for [Options]. The code is that of the second factor; if the account has one
// and the code is "", the [Error] has the Code "second_factor_required".
func (c *Client) Login(ctx context.Context, name, password, code string) (token string, err error) {
	body := map[string]string{"username": name, "password": password}
	if code != "" {
		body["code"] = code
	}
	var got struct{ Token string }
	if err := c.Do(ctx, http.MethodPost, "/users/login", nil, body, &got); err != nil {
		return "", err
	}
	if got.Token == "" {
		return "", fmt.Errorf("%s did not send a token: is it an inventory?", c.base)
	}
	return got.Token, nil
}
