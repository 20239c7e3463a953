package main

import (
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// progress shows how far a stretch of load is.
type progress struct {
	env   cli.Env
	phase string // what is under way
}

// watch shows the progress of a stretch until stop is called.
func (p *progress) watch(s *stretch) (stop func()) {
	return cli.NewProgress(p.env, "ratelimit-load").Watch(func(elapsed time.Duration) string { return s.text(p.phase, elapsed) })
}

// text returns a line such as "measuring: 4s of 10s, 300324 calls, 75081 a second".
func (s *stretch) text(phase string, elapsed time.Duration) string {
	sent := min(s.tickets.Load(), s.calls)
	return fmt.Sprintf("%s: %v of %v, %d calls, %.0f a second", phase, elapsed.Round(time.Second), s.duration, sent, float64(sent)/elapsed.Seconds())
}

// warnWithoutLimit warns if no response of a target so far had a limit, because then the
// service counts nothing and the figures do not say what its decisions cost.
func (p *progress) warnWithoutLimit(s *settings, t *target) {
	if !t.limited {
		fmt.Fprintf(p.env.Stderr, "ratelimit-load: warning: no response of %s has a limit: check that domain %q has a rule for key %q (-domain, -entry)\n", t.addr, s.domain, s.entry)
	}
}
