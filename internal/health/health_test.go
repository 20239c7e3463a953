package health_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/health"
)

// The rows of specification, "States and transitions": each trigger, with the state
// of the whole before and after it.
func TestSpecificationTable(t *testing.T) {
	t.Parallel()
	type parts struct{ store, config, termination *health.Component }
	for _, row := range []struct {
		name          string
		configOn      bool // HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED
		before        func(parts)
		trigger       func(parts)
		wasUp, willBe bool
	}{
		{
			name:    "counter store: no active connection",
			trigger: func(p parts) { p.store.Set(false, "no active connection") },
			wasUp:   true, willBe: false,
		},
		{
			name:    "counter store: a connection again",
			before:  func(p parts) { p.store.Set(false, "no active connection") },
			trigger: func(p parts) { p.store.Set(true, "connected") },
			wasUp:   false, willBe: true,
		},
		{
			name: "configuration: starts unhealthy, a domain loads", configOn: true,
			trigger: func(p parts) { p.config.Set(true, "1 domain") },
			wasUp:   false, willBe: true,
		},
		{
			name: "configuration: none loaded any more", configOn: true,
			before:  func(p parts) { p.config.Set(true, "1 domain") },
			trigger: func(p parts) { p.config.Set(false, "no domain") },
			wasUp:   true, willBe: false,
		},
		{
			name:    "configuration: off without the setting",
			trigger: func(p parts) { p.config.Set(false, "no domain") },
			wasUp:   true, willBe: true,
		},
		{
			name:    "termination: SIGTERM",
			trigger: func(p parts) { p.termination.Fail("SIGTERM") },
			wasUp:   true, willBe: false,
		},
		{
			name: "only when every one is: one of two comes back", configOn: true,
			before:  func(p parts) { p.store.Set(false, "no active connection") },
			trigger: func(p parts) { p.config.Set(true, "1 domain") },
			wasUp:   false, willBe: false,
		},
		{
			name: "nothing heals termination", configOn: true,
			before: func(p parts) { p.termination.Fail("SIGTERM") },
			trigger: func(p parts) {
				p.store.Set(true, "connected")
				p.config.Set(true, "1 domain")
				p.termination.Set(true, "changed my mind")
			},
			wasUp: false, willBe: false,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := health.New(nil)
			p := parts{store: h.Component("counter store", true), termination: h.Component("termination", true)}
			if row.configOn {
				p.config = h.Component("configuration", false)
			}
			if row.before != nil {
				row.before(p)
			}
			require.Equal(t, row.wasUp, h.Healthy(), "before")
			row.trigger(p)
			require.Equal(t, row.willBe, h.Healthy(), "after")
		})
	}
}

func TestNoComponentsAreHealthy(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	require.True(t, h.Healthy())
	require.Empty(t, h.Components())
}

func TestComponents(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	h := health.New(&health.Options{Now: func() time.Time { return now }})
	store := h.Component("store", true)
	config := h.Component("configuration", false)
	start := now
	require.Equal(t, []health.State{
		{Name: "store", Healthy: true, Why: "not reported yet", Since: start},
		{Name: "configuration", Healthy: false, Why: "not reported yet", Since: start},
	}, h.Components())

	now = now.Add(time.Minute)
	store.Set(true, "connected") // another reason, the same state since the start
	config.Set(true, "2 domains")
	loaded := now
	now = now.Add(time.Minute)
	config.Set(true, "3 domains")
	require.Equal(t, []health.State{
		{Name: "store", Healthy: true, Why: "connected", Since: start},
		{Name: "configuration", Healthy: true, Why: "3 domains", Since: loaded},
	}, h.Components())

	h.Components()[0].Why = "mine"
	require.Equal(t, "connected", h.Components()[0].Why, "the slice is the caller's")
}

func TestDefaultClock(t *testing.T) {
	t.Parallel()
	before := time.Now()
	h := health.New(nil)
	h.Component("store", true)
	require.WithinRange(t, h.Components()[0].Since, before, time.Now())
}

func TestFailIsForGood(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	c := h.Component("termination", true)
	c.Fail("SIGTERM")
	c.Set(true, "no")
	c.Set(false, "no")
	c.Fail("SIGTERM again")
	state := h.Components()[0]
	require.False(t, h.Healthy())
	require.False(t, state.Healthy)
	require.Equal(t, "SIGTERM", state.Why)
}

// Fail holds for a component that is unhealthy already.
func TestFailOfAnUnhealthyComponent(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	c := h.Component("configuration", false)
	c.Fail("given up")
	c.Set(true, "1 domain")
	require.False(t, h.Healthy())
	require.Equal(t, "given up", h.Components()[0].Why)
}

func TestNilComponent(t *testing.T) {
	t.Parallel()
	var off *health.Component
	require.NotPanics(t, func() {
		off.Set(false, "nobody asks")
		off.Fail("nobody asks")
	})
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	h := health.New(nil)
	h.Component("store", true)
	require.PanicsWithValue(t, `health: there is a component "store" already: give each a name of its own`,
		func() { h.Component("store", false) })
	require.PanicsWithValue(t, "health: a component needs a name", func() { h.Component("", false) })
	require.True(t, h.Healthy(), "a refused component counts for nothing")
	require.Len(t, h.Components(), 1)
}
