package health

import (
	"fmt"
	"sync"
	"time"
)

// Options are the choices of New. Nil, like each zero field, means the default.
type Options struct {
	// Now is the clock for State.Since. Default: time.Now.
	Now func() time.Time
}

// Health is the state of a program, made up of the states of its components. Make
// one with New. Any number of goroutines may use it.
type Health struct {
	now func() time.Time

	mu         sync.Mutex // not held while listeners are told
	components []*Component
	unhealthy  int // how many of them are
	listeners  []*listener
}

// New returns a Health without components, which is healthy. opts may be nil.
func New(opts *Options) *Health {
	h := &Health{now: time.Now}
	if opts != nil && opts.Now != nil {
		h.now = opts.Now
	}
	return h
}

// Component adds a component in its first state and returns it. Nothing takes it away
// again. The name must not be empty and not that of another component, or Component
// panics.
func (h *Health) Component(name string, healthy bool) *Component {
	if name == "" {
		panic("health: a component needs a name")
	}
	c := &Component{health: h, state: State{Name: name, Healthy: healthy, Why: "not reported yet"}}
	h.add(c)
	h.tell()
	return c
}

func (h *Health) add(c *Component) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.components {
		if other.state.Name == c.state.Name {
			panic(fmt.Sprintf("health: there is a component %q already: give each a name of its own", c.state.Name))
		}
	}
	h.components = append(h.components, c)
	c.state.Since = h.now()
	if !c.state.Healthy {
		h.count(1)
	}
}

// Healthy reports whether every component is healthy.
func (h *Health) Healthy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unhealthy == 0
}

// State is what is known of a component.
type State struct {
	Name    string
	Healthy bool
	Why     string    // as last told; "not reported yet" until then
	Since   time.Time // when Healthy became what it is
}

// Components returns the states of all components, in the order they were added. The
// slice is the caller's.
func (h *Health) Components() []State {
	h.mu.Lock()
	defer h.mu.Unlock()
	states := make([]State, 0, len(h.components))
	for _, c := range h.components {
		states = append(states, c.state)
	}
	return states
}

// count notes that so many components more, or less, are unhealthy, and what that
// means for listeners. The caller holds the lock and calls tell without it.
func (h *Health) count(change int) {
	before := h.unhealthy == 0
	h.unhealthy += change
	if before == (h.unhealthy == 0) {
		return
	}
	for _, l := range h.listeners {
		l.pending++
	}
}
