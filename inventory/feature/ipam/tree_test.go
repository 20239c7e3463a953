package ipam_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/feature/ipam"
)

// TestBlocksAfter: the networks after one are all of the rest, in order.
func TestBlocksAfter(t *testing.T) {
	t.Parallel()
	blocks := ipam.BlocksAfter(netip.MustParsePrefix("10.0.4.0/24"), netip.MustParsePrefix("10.0.0.0/20"))
	require.Equal(t, "[10.0.5.0/24 10.0.6.0/23 10.0.8.0/21]", fmt.Sprint(blocks))
	require.Empty(t, ipam.BlocksAfter(netip.MustParsePrefix("10.0.15.0/24"), netip.MustParsePrefix("10.0.0.0/20")))
	require.Len(t, ipam.BlocksAfter(netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("::/0")), 32-9, "a block for each zero bit")
}
