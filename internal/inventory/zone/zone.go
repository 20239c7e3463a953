// Package zone makes records of DNS zones from the hostnames and addresses of devices.
package zone

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// Zone is a zone: a domain, or one for the names of addresses. Create it with [New].
type Zone struct {
	origin, domain string // without the dot at the end; the domain of a forward zone is empty
}

// Record is a resource record.
type Record struct {
	Name string // in lower case, without a dot at the end: below the origin or the origin itself
	Type string // A, AAAA or PTR
	Data string // an address, or a name with a dot at the end
}

// New returns the zone with an origin such as example.org, or 2.0.192.in-addr.arpa with the domain that hostnames without
// one are in.
func New(origin, domain string) (*Zone, error) {
	origin, domain = strings.ToLower(strings.TrimSuffix(origin, ".")), strings.ToLower(strings.TrimSuffix(domain, "."))
	reverse := strings.HasSuffix("."+origin, ".in-addr.arpa") || strings.HasSuffix("."+origin, ".ip6.arpa")
	switch {
	case !IsHostName(origin):
		return nil, errors.New("the origin is no domain: use one such as example.org or 2.0.192.in-addr.arpa")
	case reverse && !IsHostName(domain):
		return nil, errors.New("the zone for addresses needs the domain of the hostnames, such as example.org")
	case !reverse && domain != "":
		return nil, errors.New("a domain is for zones of addresses, such as 2.0.192.in-addr.arpa")
	}
	return &Zone{origin, domain}, nil
}

// Origin returns the origin, without a dot at the end.
func (z *Zone) Origin() string { return z.origin }

// Record returns the record of a device. valid is false if its hostname is no host name, or its address none, or the name
// is too long; in is false if the record is in another zone.
func (z *Zone) Record(hostname, address string) (r Record, valid, in bool) {
	name := strings.ToLower(hostname)
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Zone() != "" || !IsHostName(name) {
		return r, false, false
	}
	domain := z.origin
	if z.domain != "" {
		domain = z.domain
	}
	if name != domain && !strings.HasSuffix(name, "."+domain) {
		name += "." + domain
	}
	if len(name) > 253 {
		return r, false, false
	}
	if z.domain != "" {
		r = Record{reversed(addr), "PTR", name + "."}
		return r, true, strings.HasSuffix(r.Name, "."+z.origin)
	}
	r = Record{name, "A", address}
	if addr.Is6() {
		r.Type = "AAAA"
	}
	return r, true, true
}

// Relative returns a name as it is below the origin: @ for the origin itself.
func (z *Zone) Relative(name string) string {
	if name == z.origin {
		return "@"
	}
	return strings.TrimSuffix(name, "."+z.origin)
}

// reversed returns the name of an address (RFC 1035, section 3.5, and RFC 3596, section 2.5).
func reversed(addr netip.Addr) string {
	const digits = "0123456789abcdef"
	var name strings.Builder
	all := addr.AsSlice()
	for i := range all {
		b := all[len(all)-1-i]
		if addr.Is4() {
			name.WriteString(strconv.Itoa(int(b)) + ".")
		} else {
			name.Write([]byte{digits[b&15], '.', digits[b>>4], '.'})
		}
	}
	if addr.Is4() {
		return name.String() + "in-addr.arpa"
	}
	return name.String() + "ip6.arpa"
}

// IsHostName reports whether a text is a host name of RFC 1123, section 2.1, and does not look like an
// address: labels of up to 63 letters, digits and hyphens, the last one not of digits alone.
func IsHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
				return false
			}
		}
		last = label
	}
	return strings.Trim(last, "0123456789") != ""
}
