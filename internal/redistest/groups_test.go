package redistest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

func TestSentinel(t *testing.T) {
	s := redistest.StartSentinel(t, &redistest.Options{Password: "data", TLS: true}, "watch")
	require.Equal(t, s.Servers[0], s.Master())
	require.NoError(t, s.Master().Client().Set(t.Context(), "key", "value", 0).Err())
	s.Failover()
	require.Equal(t, s.Servers[1], s.Master())
	require.Equal(t, "value", s.Master().Client().Get(t.Context(), "key").Val(), "the replica had been told")
}

func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t, 3, true, &redistest.Options{TLS: true})
	require.Len(t, c.Addrs(), 3)
	require.Len(t, c.Replicas, 3)
	slot := c.Slot("key")
	from, to := c.Masters[c.Owner(slot)], c.Masters[(c.Owner(slot)+1)%3]
	require.NoError(t, from.Client().Set(t.Context(), "key", "value", 0).Err())

	m := c.Migrate(slot, from, to)
	m.Move()
	require.ErrorContains(t, from.Client().Get(t.Context(), "key").Err(), "ASK")
	m.Finish()
	require.ErrorContains(t, from.Client().Get(t.Context(), "key").Err(), "MOVED")
	require.Equal(t, "value", to.Client().Get(t.Context(), "key").Val())
}
