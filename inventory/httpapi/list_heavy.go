package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// HeavyOptions bound the heavy queries: those of [records.Query.Heavy], the overviews of metrics of
// [records.Query.HeavyLatest], and the overviews and summaries of a store that has to read all
// records for them. Zero means the default.
type HeavyOptions struct {
	// PerCaller is the number of them that one user, or one address without a token, may run at once.
	// 32 more wait, and further ones get 429. Default: 2.
	PerCaller int
	// Total is the maximum number of them that run at once. At most three of four connections with which the
	// store reads are for them (records.ReadBounder), so that other requests always find one.
	// Default: half of the processors, at least 3 and at most 8.
	Total int
	// Timeout bounds waiting and running: a query that waited so long gets 429, one that was
	// running 503. Default: 5 seconds.
	Timeout time.Duration
}

// maxHeavyWaiting is the maximum number of heavy queries of one caller that wait.
const maxHeavyWaiting = 32

// heavyQueries bounds the heavy queries that run at once. Its size is bounded by the requests
// in flight.
type heavyQueries struct {
	opts  HeavyOptions
	total *semaphore.Weighted

	running atomic.Int32

	mu      sync.Mutex
	callers map[string]*heavyCaller

	exports openings
}

// heavyCaller is a caller with heavy queries.
type heavyCaller struct {
	slots   *semaphore.Weighted
	queries int // that wait or run
}

func newHeavyQueries(o HeavyOptions, store records.Store) *heavyQueries {
	o.PerCaller = cmp.Or(max(o.PerCaller, 0), 2)
	o.Total = cmp.Or(max(o.Total, 0), min(max(3, runtime.GOMAXPROCS(0)/2), 8))
	o.Timeout = cmp.Or(max(o.Timeout, 0), 5*time.Second)
	if s, ok := store.(records.ReadBounder); ok && s.MaxReads() > 0 {
		o.Total = min(o.Total, max(s.MaxReads()*3/4, 1))
	}
	return &heavyQueries{opts: o, total: semaphore.NewWeighted(int64(o.Total)), callers: map[string]*heavyCaller{}, exports: openings{
		most: maxExports, perCaller: maxExportsPerCaller, callers: map[string]int{},
		all: "Too many exports run: try again later", own: "Too many requests: at most %d exports of one user run at once",
	}}
}

// run runs a query of a caller when there is a free slot for it.
func (h *heavyQueries) run(ctx context.Context, caller string, query func(context.Context) error) error {
	return h.runPatiently(ctx, 0, caller, query)
}

// runPatiently is run for a query that may wait for its slot longer, by some time.
func (h *heavyQueries) runPatiently(ctx context.Context, longer time.Duration, caller string, query func(context.Context) error) error {
	slow, cancel := context.WithTimeout(ctx, h.opts.Timeout+longer)
	defer cancel()
	c := h.enter(caller)
	if c == nil {
		return h.tooMany(nil)
	}
	defer h.leave(caller, c)
	for _, slots := range []*semaphore.Weighted{c.slots, h.total} {
		if err := slots.Acquire(slow, 1); err != nil {
			return cmp.Or(ctx.Err(), h.tooMany(err))
		}
		defer slots.Release(1)
	}
	if longer > 0 { // the time to run does not depend on the wait
		slow, cancel = context.WithTimeout(ctx, h.opts.Timeout)
		defer cancel()
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	err := query(slow)
	if err != nil && ctx.Err() == nil && errors.Is(slow.Err(), context.DeadlineExceeded) {
		return retryLater(http.StatusServiceUnavailable, 5, err, "The query took longer than %v: filter or sort by other fields, or use cursor and count=false", h.opts.Timeout)
	}
	return err
}

// enter adds a query of a caller. It returns nil if too many of them wait.
func (h *heavyQueries) enter(caller string) *heavyCaller {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.callers[caller]
	if c == nil {
		c = &heavyCaller{slots: semaphore.NewWeighted(int64(h.opts.PerCaller))}
		h.callers[caller] = c
	}
	if c.queries == h.opts.PerCaller+maxHeavyWaiting {
		return nil
	}
	c.queries++
	return c
}

func (h *heavyQueries) leave(caller string, c *heavyCaller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.queries--; c.queries == 0 {
		delete(h.callers, caller)
	}
}

func (h *heavyQueries) tooMany(cause error) error {
	return retryLater(http.StatusTooManyRequests, 1, cause, "Too many requests: at most %d searches, totals and sorted lists of one user run at once", h.opts.PerCaller)
}

// page reads a page of a query as the sender may see it (records.Mask).
func (c *call) page(ctx context.Context, q *records.Query, list lister) (*records.Page, error) {
	if q.After != nil && slices.Contains(q.After.Values, any(records.Hidden)) { // the cursor does not say where it is
		rec, err := c.store.Get(ctx, q.Resource, q.After.ID)
		if err != nil {
			return nil, err
		}
		q.After = q.PlaceOf(rec)
	}
	page, err := list(ctx, q)
	if err == nil {
		page.Records, err = records.Mask(ctx, c.store, q.Resource, page.Records...)
	}
	return page, err
}

// read reads a page of a query, in its turn if it is heavy.
func (c *call) read(q *records.Query, heavy bool, list lister) (page *records.Page, err error) {
	if !heavy {
		return c.page(c.r.Context(), q, list)
	}
	err = c.api.heavy.run(c.r.Context(), c.heavyCaller(), func(ctx context.Context) error {
		page, err = c.page(ctx, q, list)
		return err
	})
	return page, err
}

// heavyCaller returns by whom the heavy queries of the request are counted.
func (c *call) heavyCaller() string {
	if c.identity != nil {
		return c.keyOwner()
	}
	return "address " + c.api.opts.Clients.Key(c.r)
}
