//go:build unix

package server_test

import (
	"net/netip"
	"strings"

	"github.com/stretchr/testify/require"
)

// networks measures lists with the addresses of a network: of one with so many that to count them
// takes longer than the rest, and of one with few.
func (x *measured) networks() {
	x.t.Helper()
	wide, narrow := x.largestNetwork(8), x.largestNetwork(24)
	for _, query := range []string{
		"within=" + wide + "&count=none",
		"within=" + wide + "&count=none&sortby=hostname:asc",
		"within=" + wide + "&count=estimated&sortby=ip:desc",
		"within=" + narrow,
		"within=" + narrow + "&sortby=hostname:asc",
		"within=" + narrow + "&status=active&sortby=updated_at:desc",
	} {
		_, p := x.measure("devices "+query, 5, "devices", "/devices?limit=20&"+query)
		if p != nil && strings.HasSuffix(query, narrow) {
			n := 0
			for _, addr := range x.addresses() {
				if netip.MustParsePrefix(narrow).Contains(addr) {
					n++
				}
			}
			require.EqualValues(x.t, n, p.Meta.Total, query)
		}
	}
}

// addresses returns the addresses of all devices.
func (x *measured) addresses() (all []netip.Addr) {
	x.t.Helper()
	for _, row := range x.query("SELECT ip FROM devices WHERE ip <> ''") {
		all = append(all, netip.MustParseAddr(row[0].(string)))
	}
	return all
}

// largestNetwork returns the network of a size with the most devices.
func (x *measured) largestNetwork(bits int) (largest string) {
	x.t.Helper()
	number := map[string]int{}
	for _, addr := range x.addresses() {
		network, err := addr.Prefix(bits)
		require.NoError(x.t, err)
		name := network.String()
		number[name]++
		if n := number[name]; n > number[largest] || n == number[largest] && name < largest {
			largest = name
		}
	}
	return largest
}
