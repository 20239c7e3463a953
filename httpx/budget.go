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
// if others hold the whole budget.
//
// Create it with [NewBudget]. It is safe for concurrent use, and several chains may share it.
type Budget struct {
	size, share int64

	mu       sync.Mutex
	used     int64
	byClient map[netip.Addr]int64
	waiting  map[*reservation]struct{}
}

// NewBudget returns a budget. opts may be nil.
func NewBudget(opts *BudgetOptions) *Budget {
	o := BudgetOptions{}
	if opts != nil {
		o = *opts
	}
	b := &Budget{size: cmp.Or(o.Bytes, 64<<20), byClient: map[netip.Addr]int64{}, waiting: map[*reservation]struct{}{}}
	b.share = min(cmp.Or(o.BytesPerClient, b.size/2), b.size)
	return b
}

// Used returns the number of bytes in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// reservation is what one request uses of a budget.
type reservation struct {
	budget  *Budget
	client  netip.Addr
	w       http.ResponseWriter
	bytes   int64 // this and the following are guarded by the lock of the budget
	writing bool  // waits for the client to accept a response, not to send a body
	revoked bool  // ended in favour of others
	ended   bool
}

type reservationKey struct{}

// requestCost is what a request is counted with besides its header: goroutine, buffers, values.
const requestCost = 16 << 10

// Middleware counts requests and what they buffer. clients finds the address that a request is
// counted by, an IPv6 address as its /64 network; nil means the peer of the connection. A request
// that an outer budget counts is not counted again.
func (b *Budget) Middleware(clients *Clients) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// add reserves bytes. A nil reservation has no limit.
func (s *reservation) add(bytes int64) error {
	if s == nil || bytes <= 0 {
		return nil
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for !s.revoked && (b.used+bytes > b.size || b.byClient[s.client]+bytes > b.share) {
		victim := b.victim(s, bytes)
		if victim == nil {
			return unavailable()
		}
		victim.revoke()
	}
	if s.revoked {
		return unavailable()
	}
	s.change(bytes)
	return nil
}

// victim returns the waiting request to end, so that s gets more bytes, or nil. If the client of s
// uses its share, it is one of the same client.
func (b *Budget) victim(s *reservation, bytes int64) *reservation {
	own := b.byClient[s.client] + bytes
	var found *reservation
	for w := range b.waiting {
		switch {
		case w == s:
			continue
		case w.client == s.client:
			if w.bytes <= s.bytes+bytes {
				continue
			}
		case own > b.share || b.byClient[w.client] <= own:
			continue
		}
		if found == nil || b.before(w, found) {
			found = w
		}
	}
	return found
}

// before reports whether a request is ended before another one.
func (b *Budget) before(a, other *reservation) bool {
	if used, than := b.byClient[a.client], b.byClient[other.client]; used != than {
		return used > than
	}
	return a.bytes > other.bytes
}

// revoke ends a request that waits for its client. The caller holds the lock, so that the request
// cannot end meanwhile.
func (s *reservation) revoke() {
	s.change(-s.bytes)
	s.revoked = true
	delete(s.budget.waiting, s)
	control, past := http.NewResponseController(s.w), time.Unix(1, 0)
	if s.writing {
		_ = control.SetWriteDeadline(past) // fails only where the writer has no connection
	} else {
		_ = control.SetReadDeadline(past) // as above
	}
}

// change adds bytes, which may be negative. The caller holds the lock.
func (s *reservation) change(bytes int64) {
	b := s.budget
	s.bytes += bytes
	b.used += bytes
	if b.byClient[s.client] += bytes; b.byClient[s.client] == 0 {
		delete(b.byClient, s.client)
	}
}

// drop returns bytes before the end of the request.
func (s *reservation) drop(bytes int64) {
	if s == nil || bytes <= 0 {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if !s.revoked {
		s.change(-min(bytes, s.bytes))
	}
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
	s.change(-s.bytes)
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
