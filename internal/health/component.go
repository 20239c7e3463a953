package health

// Component is a part of a program that is healthy or not. Make one with
// Health.Component. The methods of a nil Component do nothing, so a component that a
// setting turns off needs no condition where it is used.
type Component struct {
	health *Health
	state  State // by health.mu
	failed bool  // by health.mu: for good
}

// Set says how the component is, and why: a short text for people. After Fail it has
// no effect.
func (c *Component) Set(healthy bool, why string) { c.set(healthy, why, false) }

// Fail makes the component unhealthy for good. Only the first Fail has an effect.
func (c *Component) Fail(why string) { c.set(false, why, true) }

func (c *Component) set(healthy bool, why string, forGood bool) {
	if c == nil {
		return
	}
	c.note(healthy, why, forGood)
	c.health.tell()
}

func (c *Component) note(healthy bool, why string, forGood bool) {
	h := c.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.failed {
		return
	}
	c.failed = forGood
	c.state.Why = why
	if c.state.Healthy == healthy {
		return
	}
	c.state.Healthy = healthy
	c.state.Since = h.now()
	if healthy {
		h.count(-1)
	} else {
		h.count(1)
	}
}
