package files_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/files"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 30 * time.Second
	tick     = 2 * time.Millisecond
	calm     = 100 * time.Millisecond // for how long nothing must happen to pass for never
	// looks is how often the same must be seen, a tick apart, to pass for the last
	// word. It is no time, since a process that is kept waiting sees none of what it
	// has still to do in it.
	looks = 50
)

// rig is a Watch under way, and what it has told.
type rig struct {
	t    *testing.T
	log  buffer
	end  context.CancelFunc
	done chan error

	mu     sync.Mutex
	loaded []*config.Config
	failed []error
}

// start returns when the first load has been told of.
func start(t *testing.T, source files.Source, opts *files.Options) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{t: t, end: cancel, done: make(chan error, 1)}
	o := files.Options{Quiet: 2 * time.Millisecond, MaxWait: 100 * time.Millisecond, Poll: 5 * time.Millisecond}
	if opts != nil {
		o.WatchContents, o.Config, o.MaxDirs = opts.WatchContents, opts.Config, opts.MaxDirs
		o.Poll = max(o.Poll, opts.Poll)
	}
	o.Log = slog.New(slog.NewTextHandler(&r.log, nil))
	go func() { r.done <- files.Watch(ctx, source, &o, r.onLoaded, r.onFailed) }()
	t.Cleanup(r.stop)
	r.until("a first load", func() bool { return len(r.loaded)+len(r.failed) > 0 })
	return r
}

func (r *rig) onLoaded(c *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded = append(r.loaded, c)
}

func (r *rig) onFailed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
}

func (r *rig) stop() {
	if r.end == nil {
		return
	}
	r.end()
	r.end = nil
	select {
	case err := <-r.done:
		require.NoError(r.t, err)
	case <-time.After(patience):
		require.Fail(r.t, "the watch does not end with its context")
	}
}

// until waits for something about what has been told.
func (r *rig) until(what string, reached func() bool) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return reached()
	}, patience, tick, what)
}

// untilUsed waits until the limits in use are these.
func (r *rig) untilUsed(want map[string]uint32) {
	r.t.Helper()
	r.until(fmt.Sprint("the limits ", want), func() bool {
		return len(r.loaded) > 0 && fmt.Sprint(limits(r.loaded[len(r.loaded)-1])) == fmt.Sprint(want)
	})
}

// counts are how many loads and failures there were.
func (r *rig) counts() (loaded, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.loaded), len(r.failed)
}

// rest waits until no more loads come.
func (r *rig) rest() {
	r.t.Helper()
	r.restFor(looks / 5)
}

func (r *rig) restFor(looks int) {
	r.t.Helper()
	last, same := 0, 0
	r.until("loads to end", func() bool {
		same++
		if now := len(r.loaded) + len(r.failed); now != last {
			last, same = now, 0
		}
		return same > looks
	})
}

// loads runs something that has to lead to a load that goes well.
func (r *rig) loads(what func()) {
	r.t.Helper()
	r.rest()
	before, _ := r.counts()
	what()
	r.until("a load", func() bool { return len(r.loaded) > before })
}

// failure is the last one.
func (r *rig) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(r.t, r.failed)
	return r.failed[len(r.failed)-1]
}

// fails runs something that has to lead to a load that fails for a reason, and returns
// the error. If it is seen in several parts, the first of them may fail for others.
func (r *rig) fails(reason string, what func()) (err error) {
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

// ignores runs something that must not lead to a load.
func (r *rig) ignores(what func()) {
	r.t.Helper()
	r.restFor(looks) // what was told before must not be taken for it
	loaded, failed := r.counts()
	what()
	require.Never(r.t, func() bool {
		l, f := r.counts()
		return l > loaded || f > failed
	}, calm, tick, "there was a load")
}

// limits are the first limit of each domain.
func limits(c *config.Config) map[string]uint32 {
	m := map[string]uint32{}
	for _, d := range c.Domains {
		m[d.Name] = d.Rules[0].Limit.RequestsPerUnit
	}
	return m
}

// domain is the text of a file with one limit.
func domain(name string, limit int) string {
	return fmt.Sprintf("domain: %s\ndescriptors: [{key: k, rate_limit: {unit: hour, requests_per_unit: %d}}]\n", name, limit)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// relink makes path a link to target in one step.
func relink(t *testing.T, target, path string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), ".next")
	require.NoError(t, os.Symlink(target, next))
	require.NoError(t, os.Rename(next, path))
}

// buffer is a place for a log that tests may read while it is written to.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
