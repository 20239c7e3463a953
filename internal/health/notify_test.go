package health_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/health"
)

// record is a listener that keeps what it is told.
type record struct {
	mu   sync.Mutex
	told []bool
}

func (r *record) listen(healthy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, healthy)
}

func (r *record) all() []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]bool{}, r.told...)
}

func TestNotifyTellsThePresentStateAtOnce(t *testing.T) {
	t.Parallel()
	for _, healthy := range []bool{true, false} {
		h := health.New(nil)
		h.Component("store", healthy)
		var r record
		h.Notify(r.listen)
		require.Equal(t, []bool{healthy}, r.all())
	}
}

func TestNotifyTellsChangesOfTheWholeOnly(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store, config := h.Component("store", true), h.Component("configuration", false)
	var r record
	h.Notify(r.listen)
	require.Equal(t, []bool{false}, r.all())

	config.Set(true, "1 domain")
	require.Equal(t, []bool{false, true}, r.all())
	config.Set(true, "2 domains") // nothing new
	store.Set(true, "connected")
	require.Equal(t, []bool{false, true}, r.all())
	store.Set(false, "no connection")
	config.Set(false, "no domain") // unhealthy already
	store.Set(true, "connected")   // still unhealthy
	require.Equal(t, []bool{false, true, false}, r.all())
	config.Set(true, "1 domain")
	require.Equal(t, []bool{false, true, false, true}, r.all())
}

// A component that comes later counts at once.
func TestNotifyTellsOfNewComponents(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	var r record
	h.Notify(r.listen)
	h.Component("store", true)
	require.Equal(t, []bool{true}, r.all())
	h.Component("configuration", false)
	require.Equal(t, []bool{true, false}, r.all())
}

func TestNotifySeveral(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store := h.Component("store", true)
	var first, second record
	h.Notify(first.listen)
	store.Set(false, "no connection")
	h.Notify(second.listen)
	store.Set(true, "connected")
	require.Equal(t, []bool{true, false, true}, first.all())
	require.Equal(t, []bool{false, true}, second.all())
}

// What a listener changes is told when it has returned: no deadlock, no call within a
// call.
func TestSetFromTheListener(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store := h.Component("store", true)
	var told []bool
	within := false
	h.Notify(func(healthy bool) {
		require.False(t, within, "called within its own call")
		within = true
		defer func() { within = false }()
		told = append(told, healthy)
		require.Equal(t, healthy, h.Healthy())
		require.Len(t, h.Components(), 1)
		if len(told) == 2 { // away for a moment, and back by its own doing
			store.Set(true, "reconnected")
		}
	})
	store.Set(false, "no connection")
	require.Equal(t, []bool{true, false, true}, told)
}

func TestNotifyFromTheListener(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store := h.Component("store", true)
	var inner record
	once := false
	h.Notify(func(healthy bool) {
		if !once {
			once = true
			h.Notify(inner.listen)
		}
	})
	store.Set(false, "no connection")
	require.Equal(t, []bool{true, false}, inner.all())
}

func TestStop(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store := h.Component("store", true)
	var stopped, other record
	stop := h.Notify(stopped.listen)
	h.Notify(other.listen)
	stop()
	stop()
	store.Set(false, "no connection")
	require.Equal(t, []bool{true}, stopped.all())
	require.Equal(t, []bool{true, false}, other.all())
}

// A stop from within takes back what was still to be told.
func TestStopFromTheListener(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store := h.Component("store", true)
	var told []bool
	var stop func()
	stop = h.Notify(func(healthy bool) {
		told = append(told, healthy)
		if !healthy {
			store.Set(true, "connected")
			stop()
		}
	})
	store.Set(false, "no connection")
	require.Equal(t, []bool{true, false}, told)
}

// A listener that is slow delays no other goroutine's Set, misses no change, and is
// not called again before it returns.
func TestSlowListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := health.New(nil)
		store := h.Component("store", true)
		var r record
		release := make(chan struct{})
		h.Notify(func(healthy bool) {
			r.listen(healthy)
			if !healthy {
				<-release
			}
		})
		go store.Set(false, "no connection")
		synctest.Wait() // in the listener now

		store.Set(true, "connected")
		store.Set(false, "no connection")
		require.False(t, h.Healthy())
		require.Equal(t, []bool{true, false}, r.all())
		close(release)
		synctest.Wait()
		require.Equal(t, []bool{true, false, true, false}, r.all())
	})
}

// A listener that panics harms the caller of Set and nothing else.
func TestPanickingListener(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	store := h.Component("store", true)
	var r record
	h.Notify(func(healthy bool) {
		r.listen(healthy)
		if !healthy {
			panic("mine")
		}
	})
	require.PanicsWithValue(t, "mine", func() { store.Set(false, "no connection") })
	require.False(t, h.Healthy())
	store.Set(true, "connected")
	require.Equal(t, []bool{true, false, true}, r.all())
}

// Whatever happens at the same time: calls never overlap, never repeat, and the last
// one tells how it ended.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	const writers, rounds = 8, 500
	var components []*health.Component
	for _, name := range []string{"a", "b", "c"} {
		components = append(components, h.Component(name, true))
	}
	var calls atomic.Int32
	var told []bool // by the promise that calls don't overlap
	h.Notify(func(healthy bool) {
		if calls.Add(1) != 1 {
			t.Error("two calls at a time")
		}
		told = append(told, healthy)
		calls.Add(-1)
	})
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range rounds {
				components[(w+i)%len(components)].Set((w+i)%4 != 0, "round")
				h.Components()
				stop := h.Notify(func(bool) {})
				stop()
			}
		})
	}
	group.Wait()
	components[0].Fail("the end")
	require.False(t, h.Healthy())
	require.False(t, told[len(told)-1], "the last call tells the last state")
	for i := 1; i < len(told); i++ {
		require.NotEqual(t, told[i-1], told[i], "call %d says the same as the one before", i)
	}
	require.True(t, told[0])
	require.GreaterOrEqual(t, len(told), 2)
}
