package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// ChangesOptions bound the change feed. Zero means the default.
type ChangesOptions struct {
	// Streams is the maximum number of streams and waiting requests; others get 503. Each has an
	// open connection. Default: 200.
	Streams int
	// StreamsPerCaller is the number of them that one user may have; others get 429. Default: 10.
	StreamsPerCaller int
}

// pollChanges is the interval at which the feed looks for changes of other processes while somebody waits.
const pollChanges = 200 * time.Millisecond

// waiters are those who wait for changes, which it wakes.
type waiters struct {
	chain   records.AuditChain
	timeout time.Duration
	streams openings // and requests that wait

	mu      sync.Mutex
	at      map[*follower]int64 // how far they have read
	head    int64               // the last position that was read
	changed chan struct{}       // closed when head grows, or the feed ends
	polling bool
	poke    chan struct{} // to poll at once
	done    bool          // streams end
}

// newWaiters returns those of a store, nil if it keeps no chain.
func newWaiters(store records.Store, o ChangesOptions, timeout time.Duration) *waiters {
	chain, ok := records.Fresh(store).(records.AuditChain)
	if !ok {
		return nil
	}
	return &waiters{
		chain: chain, timeout: timeout, at: map[*follower]int64{}, changed: make(chan struct{}), poke: make(chan struct{}, 1),
		streams: openings{
			most: cmp.Or(max(o.Streams, 0), 200), perCaller: cmp.Or(max(o.StreamsPerCaller, 0), 10), callers: map[string]int{},
			all: "No further change stream can be opened: try again later, or use GET /changes without wait",
			own: "Too many requests: at most %d change streams of one user are open at once",
		},
	}
}

// enter adds a caller that waits. The error is for too many of them.
func (f *waiters) enter(caller string, who *follower) (leave func(), err error) {
	free, err := f.streams.enter(caller)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		free()
		return nil, retryLater(http.StatusServiceUnavailable, 5, nil, "%s", f.streams.all)
	}
	f.at[who] = who.At.Seq
	if !f.polling {
		f.polling = true
		go f.poll()
	}
	return func() {
		free()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.at, who)
		f.wake() // the poller ends with the last one
	}, nil
}

// wake polls at once, after a change of this process.
func (f *waiters) wake() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

// poll reads the end of the log until nobody waits. A failure is that of those who wait too: they
// read after it.
func (f *waiters) poll() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
		head, err := f.chain.AuditHead(ctx)
		cancel()
		f.mu.Lock()
		if err == nil && head.Seq != f.head {
			f.head = head.Seq
			close(f.changed)
			f.changed = make(chan struct{})
		}
		if len(f.at) == 0 {
			f.polling = false
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		select {
		case <-f.poke:
		case <-time.After(pollChanges):
		}
	}
}

// wait waits until there are entries after a position, and reports whether there are.
func (f *waiters) wait(ctx context.Context, seq int64) bool {
	for {
		f.mu.Lock()
		head, changed, done := f.head, f.changed, f.done
		f.mu.Unlock()
		switch {
		case head > seq:
			return true
		case done:
			return false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// read notes how far a follower has read.
func (f *waiters) read(who *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at[who] = who.At.Seq
}

// Streams are those of the change feed.
type Streams struct {
	Open, Max int   // streams and requests that wait for changes
	Lag       int64 // changes that the slowest of them has yet to read
}

// ChangeStreams returns the state of the change feed ([ChangesOptions]).
func (a *API) ChangeStreams() (s Streams) {
	f := a.feed
	if f == nil {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Open, s.Max = len(f.at), f.streams.most
	for _, at := range f.at {
		s.Lag = max(s.Lag, f.head-at)
	}
	return s
}

func (f *waiters) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

// EndStreams ends the change streams and the requests that wait for changes, and refuses others,
// so that a server can stop: clients connect to the next one.
func (a *API) EndStreams() {
	if a.feed == nil {
		return
	}
	a.feed.mu.Lock()
	defer a.feed.mu.Unlock()
	if !a.feed.done {
		a.feed.done = true
		close(a.feed.changed)
		a.feed.changed = make(chan struct{})
	}
}
