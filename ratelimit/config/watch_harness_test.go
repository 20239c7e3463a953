package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	timeout  = 30 * time.Second
	interval = 2 * time.Millisecond
	never    = 100 * time.Millisecond // how long to wait for a load that must not come
	// idleTicks is the number of ticks without a load after which none is pending. It is
	// not a duration, because a process that gets no CPU time makes no progress in it.
	idleTicks = 50
)

// harness runs one call of Watch and records its results.
type harness struct {
	t    *testing.T
	log  logtest.Log
	end  context.CancelFunc
	done chan error

	mu     sync.Mutex
	loaded []*config.Config
	failed []error
}

// start calls Watch and waits for the first load.
func start(t *testing.T, source config.Dir, opts *config.WatchOptions) *harness {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &harness{t: t, end: cancel, done: make(chan error, 1)}
	o := config.WatchOptions{Quiet: 2 * time.Millisecond, MaxWait: 100 * time.Millisecond, Poll: 5 * time.Millisecond}
	if opts != nil {
		o.WatchContents, o.Load, o.MaxDirs = opts.WatchContents, opts.Load, opts.MaxDirs
		o.Poll = max(o.Poll, opts.Poll)
	}
	o.Log = r.log.Logger()
	go func() { r.done <- config.Watch(ctx, source, &o, r.onLoaded, r.onFailed) }()
	t.Cleanup(r.stop)
	r.until("a first load", func() bool { return len(r.loaded)+len(r.failed) > 0 })
	return r
}

func (r *harness) onLoaded(c *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = append(r.loaded, c)
}

func (r *harness) onFailed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
}

func (r *harness) stop() {
	if r.end == nil {
		return
	}
	r.end()
	r.end = nil
	select {
	case err := <-r.done:
		require.NoError(r.t, err)
	case <-time.After(timeout):
		require.Fail(r.t, "the watch does not end with its context")
	}
}

// until waits for a condition on the results.
func (r *harness) until(what string, reached func() bool) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return reached()
	}, timeout, interval, what)
}

// untilUsed waits until the last loaded configuration has these limits.
func (r *harness) untilUsed(want map[string]uint32) {
	r.t.Helper()
	r.until(fmt.Sprint("the limits ", want), func() bool {
		return len(r.loaded) > 0 && fmt.Sprint(limits(r.loaded[len(r.loaded)-1])) == fmt.Sprint(want)
	})
}

// counts returns the numbers of loads and failures.
func (r *harness) counts() (loaded, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.loaded), len(r.failed)
}

// rest waits until no more loads come.
func (r *harness) rest() {
	r.t.Helper()
	r.restFor(idleTicks / 5)
}

func (r *harness) restFor(ticks int) {
	r.t.Helper()
	last, same := 0, 0
	r.until("loads to end", func() bool {
		same++
		if now := len(r.loaded) + len(r.failed); now != last {
			last, same = now, 0
		}
		return same > ticks
	})
}

// loads runs a function that must lead to a successful load.
func (r *harness) loads(what func()) {
	r.t.Helper()
	r.rest()
	before, _ := r.counts()
	what()
	r.until("a load", func() bool { return len(r.loaded) > before })
}

// failure returns the last failure.
func (r *harness) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(r.t, r.failed)
	return r.failed[len(r.failed)-1]
}

// fails runs a function that must lead to a load that fails for a reason, and returns
// the error. A change in several steps may first fail for another reason.
func (r *harness) fails(reason string, what func()) (err error) {
	r.t.Helper()
	r.rest()
	_, before := r.counts()
	what()
	r.until("a failure: "+reason, func() bool {
		for _, err = range r.failed[before:] {
			if strings.Contains(err.Error(), reason) {
				return true
			}
		}
		return false
	})
	return err
}

// ignores runs a function that must not lead to a load.
func (r *harness) ignores(what func()) {
	r.t.Helper()
	r.restFor(idleTicks) // earlier changes must not be mistaken for this one
	loaded, failed := r.counts()
	what()
	require.Never(r.t, func() bool {
		l, f := r.counts()
		return l > loaded || f > failed
	}, never, interval, "there was a load")
}

// limits returns the first limit of each domain.
func limits(c *config.Config) map[string]uint32 {
	m := map[string]uint32{}
	for _, d := range c.Domains {
		m[d.Name] = d.Rules[0].Limit.RequestsPerUnit
	}
	return m
}

// domain returns a file with one limit.
func domain(name string, limit int) string {
	return fmt.Sprintf("domain: %s\ndescriptors: [{key: k, rate_limit: {unit: hour, requests_per_unit: %d}}]\n", name, limit)
}

// relink atomically makes path a link to target.
func relink(t *testing.T, target, path string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), ".next")
	require.NoError(t, os.Symlink(target, next))
	require.NoError(t, os.Rename(next, path))
}
