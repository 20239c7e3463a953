package fetch

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

// permit checks a URL that is to be asked.
func (d *download) permit(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return &RefusedError{redacted(text), "it is no URL of a file"}
	case u.Scheme == "http" && !d.opts.AllowHTTP:
		return &RefusedError{redacted(text), "it is http, and anyone on the way could see and change what is fetched; use https"}
	case u.Scheme != "https" && u.Scheme != "http":
		return &RefusedError{redacted(text), "it is neither https nor http"}
	}
	return nil
}

// redirect checks where a server sends the request to.
func (d *download) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > d.opts.MaxRedirects {
		return &RefusedError{redacted(req.URL.String()), fmt.Sprintf("it would be redirect %d, and %d are followed", len(via), d.opts.MaxRedirects)}
	}
	if req.URL.Scheme == "http" && via[len(via)-1].URL.Scheme == "https" {
		return &RefusedError{redacted(req.URL.String()), "it is http, and the redirect to it comes from https"}
	}
	req.Header.Del("Referer") // the URL may have a key in it
	return d.permit(req.URL.String())
}

// client is one whose connections are checked. stop closes them. It has no timeouts: an
// attempt ends when nothing comes, whatever it waits for.
func (d *download) client() (c *http.Client, stop func()) {
	c = &http.Client{Transport: d.opts.Transport, CheckRedirect: d.redirect}
	if c.Transport != nil {
		return c, func() {}
	}
	dialer := &net.Dialer{}
	if !d.opts.AllowPrivate {
		dialer.Control = public
	}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the sum is that of the file as it lies there
	}
	if d.opts.TLS != nil {
		t.TLSClientConfig = d.opts.TLS.Clone()
	}
	c.Transport = t
	return c, t.CloseIdleConnections
}

// public refuses a connection to an address that is not of the public network. It is
// called with the address itself, after all names are looked up.
func public(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(a.Addr()) {
		return &RefusedError{address, "it is an address of this machine, a private network or a reserved range"}
	}
	return nil
}

// reserved are the ranges that package netip has no word for (IANA special-purpose
// registries), and those that hold an IPv4 address of any kind.
var reserved = [...]string{
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
}

func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, r := range reserved {
		if netip.MustParsePrefix(r).Contains(a) {
			return false
		}
	}
	return true
}
