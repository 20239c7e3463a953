package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// lane is the way to one node: what waits for it, and what is under way. A node that
// does not answer holds up its own lane and no other.
type lane struct {
	addr   string
	opts   *Options
	tally  *tally
	dialer *dialer
	client *memcache.Client

	mu       sync.Mutex
	counters map[string]*counter // that are read, or have hits which are not on the node
	calls    int                 // that are between begin and end
	waiting  []*part             // for a read
	queue    []*counter          // for an increment
	readers  int                 // goroutines
	writers  int
	pings    int
	busy     int           // increments under way
	down     bool          // the last command failed
	retired  bool          // keep no connections when idle
	closed   bool          // take no calls
	killed   bool          // give up what waits
	changed  chan struct{} // closed at the next change; nil if nobody waits for one
}

func newLane(addr string, opts *Options, t *tally) *lane {
	l := &lane{addr: addr, opts: opts, tally: t, dialer: newDialer(addr, opts), counters: make(map[string]*counter)}
	l.client = memcache.NewFromSelector(only{address(addr)})
	l.client.DialContext, l.client.Timeout, l.client.MaxIdleConns = l.dialer.dial, opts.Timeout, opts.MaxIdleConns
	return l
}

// begin has the counters of a part be read. From here to end they are kept track of,
// so that no increment can come between reading and counting.
func (l *lane) begin(p *part, hits []ratelimit.Hit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	case len(l.waiting) >= l.opts.MaxWaiting:
		return fmt.Errorf("%w: %d for node %s", ErrBusy, len(l.waiting), l.addr)
	}
	for _, i := range p.hits {
		c := l.counter(hits[i].Key)
		c.calls++
		p.call.items[i].counter = c
	}
	p.begun = true
	l.calls++
	l.waiting = append(l.waiting, p)
	if l.readers < l.opts.MaxReads {
		l.readers++
		go l.read()
	}
	return nil
}

func (l *lane) counter(key []byte) *counter {
	c := l.counters[string(key)]
	if c == nil {
		c = &counter{key: string(key)}
		l.counters[c.key] = c
	}
	return c
}

// end lets go of the counters of a part.
func (l *lane) end(p *part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range p.hits {
		c := p.call.items[i].counter
		c.calls--
		l.forget(c)
	}
	l.calls--
	l.change()
}

// forget drops a counter whose value is all on the node.
func (l *lane) forget(c *counter) {
	if c.calls == 0 && !c.listed {
		delete(l.counters, c.key)
	}
}

// pending is how many counters have hits that are not on the node.
func (l *lane) pending() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) + l.busy
}

// quiet reports whether nothing goes on.
func (l *lane) quiet() bool {
	return l.calls+l.readers+l.writers+l.pings+l.busy+len(l.queue) == 0
}

// closeIfQuiet takes no more calls if nothing goes on, and reports whether that is so.
func (l *lane) closeIfQuiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = l.closed || l.quiet()
	return l.closed
}

func (l *lane) flushed() bool { return len(l.queue)+l.busy == 0 }

// change is called with the lock held when something may have come to its end.
func (l *lane) change() {
	if l.retired && l.quiet() {
		_ = l.client.Close()
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// await returns when is is true, which it asks with the lock held.
func (l *lane) await(ctx context.Context, is func() bool) error {
	for {
		l.mu.Lock()
		if is() {
			l.mu.Unlock()
			return nil
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// retire has the lane's connections be closed as soon as it has nothing to do.
func (l *lane) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = true
	l.change()
}

// close takes no more calls.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.retired = true, true
	l.change()
}

// kill breaks off what is under way and gives up what waits.
func (l *lane) kill() {
	l.mu.Lock()
	l.killed = true
	for _, c := range l.queue {
		l.lose(c)
	}
	l.queue = nil
	l.change()
	l.mu.Unlock()
	l.dialer.close()
}

// lose gives up the hits of a counter that wait.
func (l *lane) lose(c *counter) {
	l.tally.lost.Add(c.send())
	c.arrived(0)
	c.listed = false
	l.forget(c)
}

// again says of which failures a command may be sent once more.
type again func(error) bool

// whenUnsent is for commands that change something.
func whenUnsent(err error) bool { return errors.Is(err, errUnsent) }

// whenCut is for commands that read: the connection was lost, as all that were open
// before a restart are.
func whenCut(err error) bool {
	return whenUnsent(err) || errors.Is(err, io.EOF) || isReset(err)
}

// do sends a command. A second attempt is made on a new connection.
func (l *lane) do(may again, command func() error) error {
	err := l.guard(command)
	if err != nil && may(err) {
		_ = l.client.Close() // the other idle ones are no better
		err = l.guard(command)
	}
	l.report(err)
	if err != nil && !isAnswer(err) {
		return fmt.Errorf("memcachestore: node %s: %w", l.addr, err)
	}
	return err
}

// guard keeps an answer that the client can't read from ending the process.
func (l *lane) guard(command func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			_ = l.client.Close() // the connection is out of step
			err = fmt.Errorf("the answer is not that of a memcached: %v", r)
		}
	}()
	return command()
}

// isAnswer tells the errors that are answers.
func isAnswer(err error) bool {
	return errors.Is(err, memcache.ErrCacheMiss) || errors.Is(err, memcache.ErrNotStored)
}

// report says in the log when the node fails and when it answers again.
func (l *lane) report(err error) {
	down := err != nil && !isAnswer(err)
	l.mu.Lock()
	was := l.down
	l.down = down
	l.mu.Unlock()
	switch {
	case down && !was:
		l.opts.Log.Warn("a memcached node fails", "node", l.addr, "err", err)
	case was && !down:
		l.opts.Log.Info("a memcached node answers again", "node", l.addr)
	}
}

// ping asks for an answer.
func (l *lane) ping(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.pings++
	l.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		done <- l.do(whenCut, l.client.Ping)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pings--
		l.change()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("memcachestore: node %s: %w", l.addr, context.Cause(ctx))
	}
}
