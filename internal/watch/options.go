package watch

import (
	"log/slog"
	"time"
)

// Options are the choices of Dirs and DirsFunc. The zero value, like nil, is fit
// for use. A duration that is not positive counts as the default.
type Options struct {
	// Quiet is how long nothing must happen before a change is told: what belongs
	// together is told once. Default: 100 ms.
	Quiet time.Duration
	// MaxWait bounds the wait for Quiet, from the first event on: a directory that
	// is never quiet is told about every MaxWait. Default: 1 s.
	MaxWait time.Duration
	// Poll is how often each directory is looked up again: whether there is one,
	// and whether its path still leads to the same one. Default: 1 s.
	Poll time.Duration

	// Only picks what counts; nil counts everything. dir is one of the watched
	// directories, cleaned, and name the bare name of what is in it, or "." for the
	// directory itself. Where two of them are one and the same directory, dir is
	// either. That a directory came, went or was swapped always counts.
	//
	// It is a filter and no record: where a change is found in another way, Only is not
	// asked. It has to be quick: events wait for it. It is called by one goroutine at a
	// time, which may be while changed runs.
	Only func(dir, name string, op Op) bool

	// Log takes what keeps a directory from being watched, once for as long as it
	// lasts. A directory that is missing is not worth a line. Default:
	// slog.Default().
	Log *slog.Logger
}

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	r.Quiet = positive(r.Quiet, 100*time.Millisecond)
	r.MaxWait = positive(r.MaxWait, time.Second)
	r.Poll = positive(r.Poll, time.Second)
	if r.Log == nil {
		r.Log = slog.Default()
	}
	return r
}

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
