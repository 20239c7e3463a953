package demo

import "net/netip"

// deviceIP is the address of a device in its management network: one of 172.16.0.0/12, and each
// once for the first 1,040,384 devices.
func deviceIP(i int) string {
	block, host := i/254%4096, i%254+1
	return netip.AddrFrom4([4]byte{172, byte(16 + block>>8), byte(block), byte(host)}).String()
}

// linkIP is the address of one end of a link between routers, in a network of two (RFC 6164)
// of the prefix for documentation.
func linkIP(site, link, end int) string {
	a := [16]byte{0x20, 0x01, 0x0d, 0xb8, byte(site >> 8), byte(site), byte(link >> 8), byte(link), 15: byte(end)}
	return netip.PrefixFrom(netip.AddrFrom16(a), 127).String()
}

// subnet is the network of a VLAN, and the address of the router in it.
func subnet(site, vlan int) (cidr, gateway string) {
	a := netip.AddrFrom4([4]byte{10, byte(7*site + vlan>>8), byte(vlan), 0})
	return netip.PrefixFrom(a, 24).String(), a.Next().String()
}

// mac is the address of an interface: a locally administered one.
func mac(i int) string {
	const digits = "0123456789abcdef"
	b := []byte("02:a5:00:00:00:00")
	for at := len(b) - 1; at > 5; at -= 3 {
		b[at], b[at-1] = digits[i&15], digits[i>>4&15]
		i >>= 8
	}
	return string(b)
}
