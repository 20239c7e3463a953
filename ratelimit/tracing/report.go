package tracing

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// repeatAfter is how long nothing more is said of a receiver that fails.
	repeatAfter = time.Minute
	// maxReason is how much of an error is logged, in bytes. Errors quote what
	// the receiver answers.
	maxReason = 500
)

// report says in the log how exporting fares: at once when it begins to fail, every
// so often while it goes on, and when it's over.
type report struct {
	log  *slog.Logger
	now  func() time.Time
	mask *strings.Replacer

	mu      sync.Mutex
	all     uint64    // spans lost since the start
	lost    uint64    // spans lost since it began to fail
	failing bool      // since the last success
	said    time.Time // when that was logged last
}

func newReport(o Options, secrets []string) *report {
	var pairs []string
	// The replacer takes the first that fits, and one may be the beginning of another.
	longest := func(a, b string) int { return len(b) - len(a) }
	for _, secret := range slices.SortedFunc(slices.Values(secrets), longest) {
		pairs = append(pairs, secret, "***")
	}
	return &report{log: o.Log, now: o.Now, mask: strings.NewReplacer(pairs...)}
}

// failed notes that spans were lost.
func (r *report) failed(spans int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all += uint64(spans)
	r.lost += uint64(spans)
	now := r.now()
	if r.failing && now.Sub(r.said) < repeatAfter {
		return
	}
	r.failing, r.said = true, now
	r.log.Warn("trace spans were not delivered", "err", r.reason(err), "lost", r.lost)
}

// delivered notes that spans have arrived.
func (r *report) delivered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failing {
		return
	}
	r.log.Info("trace spans are delivered again", "lost", r.lost)
	r.failing, r.lost = false, 0
}

func (r *report) total() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// reason is the error's text without the secrets that a receiver may have sent back.
func (r *report) reason(err error) string {
	return shorten(r.mask.Replace(err.Error()), maxReason)
}
