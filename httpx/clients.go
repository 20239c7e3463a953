package httpx

import (
	"net/http"
	"net/netip"
	"strings"
)

// Clients tells where requests come from. The zero value, like nil, believes nobody:
// a request comes from the peer of its connection.
type Clients struct {
	proxies []netip.Prefix
}

// BehindProxies believes what proxies in these networks say in X-Forwarded-For: the
// client is the last address there that is none of them. What stands before it
// is what the client claims. Name only networks from which nobody else can connect.
func BehindProxies(networks ...netip.Prefix) *Clients {
	c := &Clients{}
	for _, network := range networks {
		c.proxies = append(c.proxies, network.Masked())
	}
	return c
}

// Addr is the client's address, without an IPv6 zone and with IPv4 addresses as such. It
// is the zero Addr if the connection's peer has none, as with Unix sockets.
//
// When every address of X-Forwarded-For is a proxy's, it is the first of them; where
// one can't be read, it is the proxy that sent it.
func (c *Clients) Addr(r *http.Request) netip.Addr {
	client := parseAddr(r.RemoteAddr)
	if c == nil || !c.trusts(client) {
		return client
	}
	lines := r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			var element string
			if rest, element, more = cutLast(rest); strings.TrimSpace(element) == "" {
				continue
			}
			addr := parseAddr(strings.TrimSpace(element))
			if !addr.IsValid() {
				return client
			}
			if client = addr; !c.trusts(addr) {
				return client
			}
		}
	}
	return client
}

// Key is Addr as the name of a counter: an IPv6 address counts as its /64 network,
// since that is the least that one subscriber is given. Without an address it is
// http.Request.RemoteAddr.
func (c *Clients) Key(r *http.Request) string {
	addr := c.Addr(r)
	switch {
	case !addr.IsValid():
		return r.RemoteAddr
	case addr.Is4():
		return addr.String()
	}
	return netip.PrefixFrom(addr, 64).Masked().String()
}

func (c *Clients) trusts(addr netip.Addr) bool {
	for _, network := range c.proxies {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// parseAddr reads an address with or without a port. The zero Addr is none.
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

// cutLast cuts off the element behind the last comma. more reports whether there
// was a comma.
func cutLast(list string) (rest, element string, more bool) {
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		return list[:i], list[i+1:], true
	}
	return "", list, false
}
