package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// progress prints how far a stretch of load is: on a terminal in one line, else a line every
// some seconds.
type progress struct {
	w        io.Writer
	terminal bool
	every    time.Duration
	phase    string // what is under way
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, terminal: cli.IsTerminal(w), every: 10 * time.Second}
	if p.terminal {
		p.every = 500 * time.Millisecond
	}
	return p
}

// watch prints the progress of a stretch until stop is called.
func (p *progress) watch(s *stretch) (stop func()) {
	end := make(chan struct{})
	var printing sync.WaitGroup
	printing.Go(func() {
		ticker := time.NewTicker(p.every)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				p.print(s.text(p.phase, now.Sub(s.start)))
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		printing.Wait()
		if p.terminal {
			fmt.Fprint(p.w, "\r\x1b[K")
		}
	}
}

func (p *progress) print(text string) {
	if p.terminal {
		fmt.Fprintf(p.w, "\r%s\x1b[K", text)
		return
	}
	fmt.Fprintf(p.w, "ratelimit-load: %s\n", text)
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
		fmt.Fprintf(p.w, "ratelimit-load: warning: no response of %s has a limit: check that domain %q has a rule for key %q (-domain, -entry)\n", t.addr, s.domain, s.entry)
	}
}
