package httpx

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// BudgetOptions configures [NewBudget]. Nil and zero fields mean the defaults.
type BudgetOptions struct {
	// Bytes is the size of the budget. Default: 64 MiB.
	Bytes int64
	// BytesPerClient is the share that one client may use. Default: half of Bytes.
	BytesPerClient int64
}

// Budget bounds the memory that a service uses for requests in progress: 16 KiB and twice the
// header for each request; bodies that [ReadBody], [Body] and httpx/sanitize buffer, as they
// arrive; the values that [Body] decodes; responses of [WriteJSON]; and what a handler adds with
// [Reserve]. Everything is released at the end of the request. Garbage is not counted: a process
// needs about twice the budget, or a GOMEMLIMIT.
//
// When the budget is used up, a request gets 503 with Retry-After. Before that, requests that wait
// for their client, to send the rest of a body or to accept a response, are ended with 503, those
// of the client that uses most first. Clients that use less than others are served therefore even
// if others hold the whole budget. A request waits at most 1 s until those are ended.
//
// Create it with [NewBudget]. It is safe for concurrent use, and several chains may share it.
type Budget struct {
	size, share int64

	mu      sync.Mutex
	total   usage
	clients map[netip.Addr]*usage
	waiting map[*reservation]struct{} // for their client
	changed chan struct{}             // closed when a request was ended or has released memory
	chunks  [][]byte                  // to be used again
}

// usage counts bytes.
type usage struct {
	bytes   int64
	leaving int64 // of these, the bytes of requests that were ended and have not released them yet
}

// remains returns the bytes that will be in use when ended requests have released theirs.
func (u *usage) remains() int64 { return u.bytes - u.leaving }

// NewBudget returns a budget. opts may be nil.
func NewBudget(opts *BudgetOptions) *Budget {
	o := *cmp.Or(opts, &BudgetOptions{})
	b := &Budget{
		size: cmp.Or(o.Bytes, 64<<20), clients: map[netip.Addr]*usage{}, waiting: map[*reservation]struct{}{}, changed: make(chan struct{}),
	}
	b.share = min(cmp.Or(o.BytesPerClient, b.size/2), b.size)
	return b
}

// Used returns the number of bytes in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total.bytes
}

// reservation is the part of a budget that one request uses.
type reservation struct {
	budget *Budget
	client netip.Addr
	w      http.ResponseWriter

	// Guarded by the lock of the budget.
	use     *usage // of the client, while bytes is above 0
	bytes   int64
	writing bool // waits for the client to accept a response, not to send a body
	revoked bool // ended in favour of others
	ended   bool
}

type reservationKey struct{}

// requestCost is the size that is counted for a request besides its header: goroutine, buffers, values.
const requestCost = 16 << 10

// Middleware counts requests and what they buffer. clients finds the address that a request is
// counted by, an IPv6 address as its /64 network; nil means the peer of the connection. A request
// that an outer budget counts is not counted again.
func (b *Budget) Middleware(clients *Clients) Middleware {
	return around(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if reservationOf(r.Context()) != nil {
			next.ServeHTTP(w, r)
			return
		}
		own := wrap(w)
		own.reserved = &reservation{budget: b, client: networkOf(clients.Addr(r)), w: w}
		defer own.reserved.end()
		if err := own.reserved.add(requestCost + 2*headerSize(r)); err != nil {
			WriteError(own, r, err)
			return
		}
		next.ServeHTTP(own, r.WithContext(context.WithValue(r.Context(), reservationKey{}, own.reserved)))
	})
}

// headerSize returns the size of a request's header as HTTP/2 counts it (RFC 9113, section
// 6.5.2), because a short reference can stand for a long value.
func headerSize(r *http.Request) (size int64) {
	const overhead = 32
	for name, values := range r.Header {
		for _, value := range values {
			size += int64(len(name) + len(value) + overhead)
		}
	}
	return size + int64(len(r.RequestURI)+len(r.Host))
}

func reservationOf(ctx context.Context) *reservation {
	s, _ := ctx.Value(reservationKey{}).(*reservation)
	return s
}

// Reserve adds bytes to what the request of ctx uses of its [Budget], until the request ends.
// Handlers call it before they allocate much memory. The error is an [*Error] with 503 if the
// budget is used up; nothing is reserved then. Without a budget it returns nil.
func Reserve(ctx context.Context, bytes int64) error { return reservationOf(ctx).add(bytes) }

// ReserveBody is [Reserve] for what the body of a request takes. The error is an [*Error] with 413 if the request alone
// needs more than one client may use, which it would also need later.
func ReserveBody(ctx context.Context, bytes int64) error {
	s := reservationOf(ctx)
	err := s.add(bytes)
	if err == nil {
		return nil
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.revoked || s.bytes+bytes <= s.budget.share {
		return err
	}
	return Errorf(http.StatusRequestEntityTooLarge, "The request needs more memory than the %d MiB of one client: send it in parts", s.budget.share>>20)
}

// maxRelease is the time that a request waits for memory that others are about to release.
const maxRelease = time.Second

// add reserves bytes. A nil reservation has no limit.
func (s *reservation) add(bytes int64) error {
	if s == nil || bytes <= 0 {
		return nil
	}
	b := s.budget
	var late <-chan time.Time
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		use := b.usageOf(s)
		switch {
		case s.revoked || s.ended:
			return unavailable()
		case b.total.bytes+bytes <= b.size && use.bytes+bytes <= b.share:
			s.change(bytes)
			return nil
		case b.total.remains()+bytes > b.size || use.remains()+bytes > b.share:
			victim := b.victim(s, bytes)
			if victim == nil {
				return unavailable()
			}
			victim.revoke()
			continue
		}
		if late == nil {
			late = time.After(maxRelease)
		}
		if !b.await(late) {
			return unavailable()
		}
	}
}

// await waits for a change and reports whether there was one in time. The caller holds the lock.
func (b *Budget) await(late <-chan time.Time) bool {
	changed := b.changed
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case <-changed:
		return true
	case <-late:
		return false
	}
}

// signal wakes the requests that wait for memory. The caller holds the lock.
func (b *Budget) signal() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// usageOf returns what the client of s uses. The caller holds the lock.
func (b *Budget) usageOf(s *reservation) *usage {
	if s.bytes > 0 {
		return s.use
	}
	if s.use = b.clients[s.client]; s.use == nil {
		s.use = &usage{}
		b.clients[s.client] = s.use
	}
	return s.use
}

// victim returns the waiting request to end, so that s gets more bytes, or nil. If the client of s
// uses its share, it is one of the same client.
func (b *Budget) victim(s *reservation, bytes int64) *reservation {
	own := s.use.remains() + bytes
	var found *reservation
	for w := range b.waiting {
		switch {
		case w == s:
			continue
		case w.client == s.client:
			if w.bytes <= s.bytes+bytes {
				continue
			}
		case own > b.share || w.use.remains() <= own:
			continue
		}
		if found == nil || cmp.Or(cmp.Compare(w.use.remains(), found.use.remains()), cmp.Compare(w.bytes, found.bytes)) > 0 {
			found = w
		}
	}
	return found
}

// revoke ends a request that waits for its client. The caller holds the lock, so that the request
// cannot end meanwhile.
func (s *reservation) revoke() {
	b := s.budget
	s.revoked = true
	s.use.leaving += s.bytes
	b.total.leaving += s.bytes
	delete(b.waiting, s)
	control, past := http.NewResponseController(s.w), time.Unix(1, 0)
	if s.writing {
		_ = control.SetWriteDeadline(past) // fails only where the writer has no connection
	} else {
		_ = control.SetReadDeadline(past) // as above
	}
	b.signal() // it may wait for memory itself
}

// change adds bytes, which may be negative. The caller holds the lock.
func (s *reservation) change(bytes int64) {
	b := s.budget
	s.bytes += bytes
	s.use.bytes += bytes
	b.total.bytes += bytes
	if s.revoked {
		s.use.leaving += bytes
		b.total.leaving += bytes
	}
	if b.total.leaving > 0 || s.revoked {
		b.signal()
	}
	if s.use.bytes == 0 {
		delete(b.clients, s.client)
	}
}

// drop returns bytes before the end of the request.
func (s *reservation) drop(bytes int64) {
	if s == nil || bytes <= 0 {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.bytes > 0 {
		s.change(-min(bytes, s.bytes))
	}
}

// chunkSize is the size of the buffers for large bodies that have not arrived completely.
const chunkSize = 64 << 10

// chunk returns a buffer of chunkSize bytes. The caller has reserved it.
func (s *reservation) chunk() []byte {
	if s == nil {
		return make([]byte, chunkSize)
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.chunks) - 1
	if last < 0 {
		return make([]byte, chunkSize)
	}
	chunk := b.chunks[last]
	b.chunks[last] = nil
	b.chunks = b.chunks[:last]
	return chunk
}

// recycle takes chunks back. It keeps at most a quarter of the budget, so that a flood of bodies
// makes no garbage, which is not counted.
func (s *reservation) recycle(chunks [][]byte) {
	if s == nil {
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	room := max(int(b.size/4/chunkSize)-len(b.chunks), 0)
	b.chunks = append(b.chunks, chunks[:min(room, len(chunks))]...)
}

// wait marks the request as waiting for its client, to accept a response if writing is true, else
// to send a body, until the function it returns is called.
func (s *reservation) wait(writing bool) (stop func()) {
	if s == nil {
		return func() {}
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.revoked && !s.ended {
		b.waiting[s] = struct{}{}
		s.writing = writing
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, s)
	}
}

// lost reports whether the request was ended in favour of others.
func (s *reservation) lost() bool {
	if s == nil {
		return false
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.revoked
}

// end releases everything.
func (s *reservation) end() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.bytes > 0 {
		s.change(-s.bytes)
	} else if s.use != nil && s.use.bytes == 0 && s.budget.clients[s.client] == s.use {
		delete(s.budget.clients, s.client) // nothing was reserved
	}
	s.ended = true
	delete(s.budget.waiting, s)
}

// unavailable is the error of a request for which there is no memory.
func unavailable() *Error {
	return &Error{
		Status:  http.StatusServiceUnavailable,
		Message: "The server has no memory left for this request: try again later",
		Header:  http.Header{"Retry-After": {"1"}},
	}
}
