// Package clientkey names clients by their addresses, for limits per client.
package clientkey

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
)

// Network returns the key of an address, with or without a port: an IPv4 address as it
// is, an IPv6 address as its /64 network without the zone, such as
// "2001:db8:1:2::/64", since that is the least that one subscriber is given. It reports
// false for anything else.
func Network(addr string) (string, bool) {
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

// Short returns the key, or a hash of one that is longer than 256 bytes, so that a
// client who can choose keys can't choose how much memory each one takes.
func Short(key string) string {
	const maxKey = 256
	if len(key) <= maxKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}
