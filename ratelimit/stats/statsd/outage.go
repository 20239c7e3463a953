package statsd

import (
	"log/slog"
	"math/rand/v2"
	"time"
)

// Time from one attempt to the next while a daemon is away: about twice as long each
// time, and never longer than this.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// outage is the time from a flush that failed to one that does not.
type outage struct {
	log   *slog.Logger
	to    string
	since time.Time // zero if there is none
	wait  time.Duration
	retry time.Time
}

// waits reports whether it is too early to try again.
func (o *outage) waits() bool { return !o.since.IsZero() && time.Now().Before(o.retry) }

// failed notes that a flush has failed; the log is told of the first one and of the
// last one there will be.
func (o *outage) failed(err error, last bool) {
	now := time.Now()
	if o.since.IsZero() {
		o.since, o.wait = now, firstRetry
		if !last {
			o.log.Warn("statistics cannot be sent; they are kept until they can", "to", o.to, "error", err)
		}
	}
	if last {
		o.log.Warn("the last statistics could not be sent and are lost", "to", o.to, "error", err)
	}
	// Half of it is left to chance, so that many processes do not come at the same time.
	o.retry = now.Add(o.wait/2 + rand.N(o.wait/2))
	o.wait = min(2*o.wait, lastRetry)
}

// over notes that a flush has not failed.
func (o *outage) over(lost *uint64) {
	if o.since.IsZero() {
		return
	}
	o.log.Info("statistics can be sent again", "to", o.to,
		"after", time.Since(o.since).Round(time.Millisecond), "counts_lost_with_forgotten_names", *lost)
	o.since, *lost = time.Time{}, 0
}
