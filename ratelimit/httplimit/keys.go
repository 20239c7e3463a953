package httplimit

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// RemoteHost is the peer's address without the port. An IPv6 address is given as
// its /64 network, without the zone, such as "2001:db8:1:2::/64", and an IPv4
// address in IPv6 form as an IPv4 address. Where http.Request.RemoteAddr is no
// address, as with Unix sockets, it is given as it is.
//
// It can't be made up by a client. Behind a proxy it is the proxy's address, and
// all clients have one limit together: see [ForwardedFor].
func RemoteHost(r *http.Request) string {
	if host, ok := network(r.RemoteAddr); ok {
		return host
	}
	return r.RemoteAddr
}

// ForwardedFor returns a key function for servers behind a number of proxies, of
// which each adds the address it was called from to X-Forwarded-For: with 2, the key
// is the last address but one, the one that the outermost proxy saw. What stands
// before it is what a client claims, and is not looked at. Addresses
// become keys as with [RemoteHost].
//
// A request with fewer addresses has not come through all of the proxies, and one
// with something else at that place not through the right ones: both go by
// RemoteHost. So does every request if proxies is less than 1. Count only proxies
// that cannot be passed by, or a client may write all of the header.
func ForwardedFor(proxies int) func(*http.Request) string {
	return func(r *http.Request) string {
		if addr, ok := fromRight(r.Header["X-Forwarded-For"], proxies); ok {
			if host, ok := network(addr); ok {
				return host
			}
		}
		return RemoteHost(r)
	}
}

// fromRight is the nth element from the right of all that the lines of a list
// header hold together.
func fromRight(lines []string, n int) (string, bool) {
	if n < 1 {
		return "", false
	}
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			var element string
			rest, element, more = cutLast(rest)
			if n--; n == 0 {
				return strings.Trim(element, " \t"), true
			}
		}
	}
	return "", false
}

// cutLast cuts off the element behind the last comma. more reports whether there
// was a comma.
func cutLast(list string) (rest, element string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}

// Header returns a key function that takes the value of a request header, the first
// if there are several. A request without it is not limited.
//
// Use it for a header that something trusted sets or has checked: a proxy that
// overwrites what clients send, or a middleware outside this one that refuses
// unknown API keys. A client that can choose the value has as many counters as it
// likes.
func Header(name string) func(*http.Request) string {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) string {
		if values := r.Header[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// network turns an address, with or without a port, into a key.
func network(addr string) (string, bool) {
	host := addr
	if strings.Contains(addr, ":") { // a port, or IPv6
		if h, _, err := net.SplitHostPort(addr); err == nil {
			host = h
		}
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return "", false
	case ip.Is4():
		return host, true
	case ip.Is4In6():
		return ip.Unmap().String(), true
	}
	return netip.PrefixFrom(ip, 64).Masked().String(), true // a prefix has no zone
}
