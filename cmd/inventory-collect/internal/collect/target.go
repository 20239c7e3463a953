package collect

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the UDP port of SNMP agents.
const DefaultPort = 161

// ParseTarget reads host, host:port, an IPv6 address, or [address]:port.
func ParseTarget(target string) (host string, port uint16, err error) {
	host = target
	if _, err := netip.ParseAddr(target); err != nil && strings.Contains(target, ":") {
		var number string
		if host, number, err = net.SplitHostPort(target); err != nil {
			return "", 0, fmt.Errorf("target %q: use host, host:port or [address]:port", target)
		}
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return "", 0, fmt.Errorf("target %q: the port must be a number from 1 to 65535", target)
		}
		port = uint16(n)
	}
	if host == "" || len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
		return "", 0, fmt.Errorf("target %q: use a host name or address, without blanks and slashes", target)
	}
	port = cmp.Or(port, DefaultPort)
	return host, port, nil
}
