package httpx

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/clientkey"
)

// Clients finds the addresses of clients. The zero value, like nil, trusts no proxy: the client
// is the peer of the connection.
type Clients struct {
	proxies []netip.Prefix
}

// BehindProxies trusts X-Forwarded-For from proxies in these networks: the client is the last
// address there that is not a proxy. Addresses before it are the client's own claim. Name only
// networks from which nobody else can connect.
func BehindProxies(networks ...netip.Prefix) *Clients {
	c := &Clients{}
	for _, network := range networks {
		c.proxies = append(c.proxies, network.Masked())
	}
	return c
}

// Addr returns the client's address, without an IPv6 zone and with IPv4-mapped addresses as
// IPv4. It is the zero Addr if the peer has none, as with Unix sockets.
//
// If all addresses of X-Forwarded-For are proxies, it is the first of them; if one is malformed,
// it is the proxy that sent it.
func (c *Clients) Addr(r *http.Request) netip.Addr {
	client := parseAddr(r.RemoteAddr)
	if c == nil || !c.trusts(client) {
		return client
	}
	claimed := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, element := range slices.Backward(claimed) {
		if element = strings.TrimSpace(element); element == "" {
			continue
		}
		addr := parseAddr(element)
		if !addr.IsValid() {
			return client
		}
		if client = addr; !c.trusts(addr) {
			return client
		}
	}
	return client
}

// Key returns Addr as the name of a counter. An IPv6 address counts as its /64 network, the
// smallest that a subscriber is given. Without an address it is http.Request.RemoteAddr.
func (c *Clients) Key(r *http.Request) string {
	if key, ok := clientkey.Network(c.Addr(r).String()); ok {
		return key
	}
	return r.RemoteAddr
}

func (c *Clients) trusts(addr netip.Addr) bool {
	return inNetworks(c.proxies, addr)
}

// parseAddr reads an address with or without a port. It returns the zero Addr for anything else.
func parseAddr(s string) netip.Addr {
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
