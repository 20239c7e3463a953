package expiring_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/expiring"
)

func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := expiring.New[string, int](2)
	_, ok, age := c.Get("a", now)
	require.False(t, ok)
	c.Put("a", 1, now, now.Add(time.Second), age)
	for at, valid := range map[time.Duration]bool{-1: false, 0: true, time.Second - 1: true, time.Second: false} {
		_, ok, _ := c.Get("a", now.Add(at))
		require.Equal(t, valid, ok, at)
	}
	c.Put("none", 0, now, now, age)
	require.Equal(t, 1, c.Len(), "a value that is never valid is stored")
	for i := range 10 {
		c.Put(string(rune('b'+i)), i, now, now.Add(time.Second), age)
		require.LessOrEqual(t, c.Len(), 2)
	}
	c.Forget(func(_ string, value int) bool { return value == 9 })
	require.Equal(t, 1, c.Len())
	c.Put("a", 1, now, now.Add(time.Second), age)
	require.Equal(t, 1, c.Len(), "a value from before a Forget is stored")
}
