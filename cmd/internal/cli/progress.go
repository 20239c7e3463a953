package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// The times of a [Progress].
const (
	quietTime     = 2 * time.Second
	lineEvery     = 5 * time.Second
	terminalEvery = 200 * time.Millisecond
)

// Progress shows how far a task is that may take long, on the standard error. It shows nothing in the first
// two seconds. On a terminal it rewrites one line, elsewhere it writes a line every five seconds. It is safe
// for concurrent use.
type Progress struct {
	w        io.Writer
	name     string
	terminal bool
	begin    time.Time

	mu    sync.Mutex
	next  time.Time
	shown bool
}

// NewProgress returns the progress of a task that begins now. The name begins the lines.
func NewProgress(env Env, name string) *Progress {
	now := time.Now()
	terminal := isTerminal(env.Stderr) && env.Environ["TERM"] != "dumb"
	return &Progress{w: env.Stderr, name: name, terminal: terminal, begin: now, next: now.Add(quietTime)}
}

// Show shows a text, such as one of [Done], if it is time to. text gets the time since the beginning.
func (p *Progress) Show(text func(elapsed time.Duration) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	line := p.name + ": " + text(now.Sub(p.begin))
	if p.terminal {
		p.next, p.shown = now.Add(terminalEvery), true
		_, _ = fmt.Fprintf(p.w, "\r%s\x1b[K", line)
		return
	}
	p.next = now.Add(lineEvery)
	_, _ = fmt.Fprintln(p.w, line)
}

// Watch shows a text again and again until stop is called, which ends the progress too.
func (p *Progress) Watch(text func(elapsed time.Duration) string) (stop func()) {
	end := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		ticker := time.NewTicker(terminalEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.Show(text)
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		showing.Wait()
		p.End()
	}
}

// End removes the line of a terminal.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Done returns a text such as "1200 of 4000 records, 600 a second, 5s left". A total of 0 is unknown.
func Done(done, total int64, what string, elapsed time.Duration) string {
	rate := float64(done) / max(elapsed.Seconds(), 0.001)
	return Part(done, total, fmt.Sprintf("%d %s, %.0f a second", done, what, rate), fmt.Sprintf("%d of %d %s, %.0f a second", done, total, what, rate), elapsed)
}

// DoneBytes is [Done] for bytes: "12.0 of 40.0 MB, 6.0 MB a second, 5s left".
func DoneBytes(done, total int64, elapsed time.Duration) string {
	const mega = 1e6
	rate := float64(done) / mega / max(elapsed.Seconds(), 0.001)
	return Part(done, total, fmt.Sprintf("%.1f MB, %.1f MB a second", float64(done)/mega, rate),
		fmt.Sprintf("%.1f of %.1f MB, %.1f MB a second", float64(done)/mega, float64(total)/mega, rate), elapsed)
}

// Part returns the text open if the total is not known, else the text of, with the time that is left.
func Part(done, total int64, open, of string, elapsed time.Duration) string {
	if done <= 0 || total < done {
		return open
	}
	left := time.Duration(float64(elapsed) * float64(total-done) / float64(done))
	return of + ", " + left.Round(time.Second).String() + " left"
}
