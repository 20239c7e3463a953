package redisstore

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// askEvery is the time after which the server is asked for its time again, while a program asks for it.
	askEvery = time.Second
	// askAgain is that time after the server did not reply.
	askAgain = 10 * time.Second
	// sameTime is the difference up to which clocks agree: the way to the server and back takes time too.
	sameTime = 100 * time.Millisecond
)

// clock follows the clock of the server, so that all instances have the same time.
type clock struct {
	log    *slog.Logger
	local  func() time.Time
	ask    func(context.Context) (time.Time, error) // asks the server
	last   atomic.Pointer[reading]
	asking sync.Mutex
	ctx    context.Context // until close
	close  func()
}

// reading is a time of the server.
type reading struct {
	local, server time.Time // at the same moment
	known         bool
	differs       bool
	next          time.Time // when to ask again, by the local clock
	never         bool      // the server does not tell its time
}

// newClock returns a clock that is that of the options, if they have one.
func newClock(opts *Options) *clock {
	c := &clock{log: opts.Log, local: time.Now}
	if opts.Now != nil {
		c.local = opts.Now
		c.last.Store(&reading{never: true})
	}
	ctx, stop := context.WithCancel(context.Background())
	c.ctx, c.close = ctx, sync.OnceFunc(func() {
		stop()
		c.asking.Lock() // waits for the one who asks, and nobody will
	})
	return c
}

// now returns the time of the server, or that of this machine as long as that of the server is not known. Since
// the last reply, time has passed by the monotonic clock of this machine.
func (c *clock) now() time.Time {
	now, r := c.local(), c.last.Load()
	if r == nil || !r.known {
		return now
	}
	return r.server.Add(now.Sub(r.local))
}

// follow asks the server if it is time to. It does not wait.
func (c *clock) follow() {
	if r := c.last.Load(); (r == nil || !r.never && c.local().After(r.next)) && c.asking.TryLock() {
		go c.read()
	}
}

// wait asks the server, if nobody does.
func (c *clock) wait() {
	if r := c.last.Load(); (r == nil || !r.never) && c.asking.TryLock() {
		c.read()
	}
}

// read asks the server for its time, for a second at most, and unlocks asking.
func (c *clock) read() {
	defer c.asking.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, askEvery)
	defer cancel()
	began := c.local()
	server, err := c.ask(ctx)
	ended := c.local()
	var last reading
	if r := c.last.Load(); r != nil {
		last = *r
	}
	if err != nil {
		if last.next, last.never = ended.Add(askAgain), unsupported(err); last.never {
			c.log.Warn("redis: the server does not tell its time: instances decide by their own clocks", "err", err)
		}
		c.last.Store(&last)
		return
	}
	way := ended.Sub(began)
	r := &reading{local: began.Add(way / 2), known: true, next: began.Add(askEvery)}
	ahead := r.local.Sub(server)
	if r.server = r.local; ahead.Abs() > sameTime+way {
		r.server, r.differs = server, true
		if !last.differs {
			c.log.Warn("redis: the clock of this machine and that of the server differ; limits follow that of the server", "ahead_of_server", ahead)
		}
	}
	c.last.Store(r)
}
