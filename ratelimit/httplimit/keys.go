package httplimit

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/internal/clientkey"
)

// RemoteHost returns the peer's address without the port: an IPv6 address as its /64
// network without the zone, such as "2001:db8:1:2::/64", and an IPv4 address in IPv6
// form as an IPv4 address. If http.Request.RemoteAddr is no address, as with Unix
// sockets, it is returned unchanged.
//
// A client can't choose it. Behind a proxy it is the proxy's address, so that all
// clients share one counter: see [ForwardedFor].
func RemoteHost(r *http.Request) string {
	if host, ok := clientkey.Network(r.RemoteAddr); ok {
		return host
	}
	return r.RemoteAddr
}

// ForwardedFor returns a key function for servers behind a number of proxies, each of
// which appends the address of its peer to X-Forwarded-For. With 2, the key is the last
// address but one, the one that the outermost proxy saw. Addresses before it are claims of
// the client and ignored. Addresses become keys as in [RemoteHost].
//
// A request with fewer addresses has not passed all proxies, and one with something else
// at that position has not passed the right ones: for both the key is RemoteHost, as it is
// for proxies < 1. Count only proxies that can't be bypassed, or clients may write the
// whole header.
func ForwardedFor(proxies int) func(*http.Request) string {
	return func(r *http.Request) string {
		if addr, ok := fromRight(r.Header["X-Forwarded-For"], proxies); ok {
			if host, ok := clientkey.Network(addr); ok {
				return host
			}
		}
		return RemoteHost(r)
	}
}

// fromRight returns the nth element from the right of a list header, whose lines are
// read as one list.
func fromRight(lines []string, n int) (string, bool) {
	if n < 1 {
		return "", false
	}
	list := strings.Join(lines, ",")
	for ; n > 1; n-- {
		comma := strings.LastIndexByte(list, ',')
		if comma < 0 {
			return "", false
		}
		list = list[:comma]
	}
	return strings.Trim(list[strings.LastIndexByte(list, ',')+1:], " \t"), true
}

// Header returns a key function for the first value of a request header. A request
// without the header is not limited.
//
// Use it for headers that something trusted sets or has checked: a proxy that overwrites
// what clients send, or an outer middleware that rejects unknown API keys. A client that
// can choose the value can have any number of counters.
func Header(name string) func(*http.Request) string {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) string {
		if values := r.Header[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
}
