package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// maxValues is the maximum size in bytes of the values of a device, with what they cost in memory.
const maxValues = 32 << 20

// Options are the settings of a [Collector].
type Options struct {
	Timeout     time.Duration // to wait for each response: a millisecond to a minute
	Retries     int           // of a request without a response: up to 10
	DeviceTime  time.Duration // of all requests to a device: a millisecond to an hour
	Concurrency int           // devices that All reads at a time: 1 to 256
	MaxRows     int           // of a table: 1 to 1,000,000
}

// Defaults returns the settings of most networks. Package discovery accepts as many rows.
func Defaults() Options {
	return Options{Timeout: 2 * time.Second, Retries: 2, DeviceTime: 2 * time.Minute, Concurrency: 16, MaxRows: 10_000}
}

// Collector reads devices. Its methods are safe for concurrent use.
type Collector struct {
	credentials Credentials
	options     Options
}

// New returns a collector. The error says which credentials or options are invalid, by the names of the flags; it has no
// secrets.
func New(credentials Credentials, o Options) (*Collector, error) {
	return &Collector{credentials, o}, errors.Join(
		credentials.validate(),
		within("timeout", o.Timeout, time.Millisecond, time.Minute),
		within("retries", o.Retries, 0, 10),
		within("device-time", o.DeviceTime, time.Millisecond, time.Hour),
		within("concurrency", o.Concurrency, 1, 256),
		within("max-rows", o.MaxRows, 1, 1_000_000),
	)
}

// within reports a value that is out of bounds.
func within[T cmp.Ordered](name string, value, least, most T) error {
	if value < least || value > most {
		return fmt.Errorf("-%s is %v: use %v to %v", name, value, least, most)
	}
	return nil
}

// Collect reads a device: a host name or address, with or without a port. The error says why there is no
// result: no response, wrong credentials, a response that is invalid, or a bound that was exceeded.
func (c *Collector) Collect(ctx context.Context, target string) (*Result, error) {
	host, port, err := ParseTarget(target)
	if err != nil {
		return nil, err
	}
	late := fmt.Errorf("not finished within %v", c.options.DeviceTime)
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.DeviceTime, late)
	defer cancel()
	s, err := c.open(ctx, host, port)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &Result{Target: target, Host: host}
	for _, read := range []func(*session, *Result){readSystem, readInterfaces, readNeighbors, readHardware} {
		if read(s, r); s.err != nil {
			return nil, s.err
		}
	}
	return r, nil
}

// All reads devices, as many at a time as Options.Concurrency, and calls done for each of them, in the order
// in which they finish and one at a time, with a result or an error. It returns when all have finished. An
// error of done ends it early and is returned, as is the cause of ctx when it ends.
func (c *Collector) All(ctx context.Context, targets []string, done func(target string, r *Result, err error) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	finish := func(target string) {
		r, err := c.Collect(ctx, target)
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := done(target, r, err); err != nil {
			stop(err)
		}
	}
	next := make(chan string)
	var workers sync.WaitGroup
	for range min(c.options.Concurrency, len(targets)) {
		workers.Go(func() {
			for target := range next {
				finish(target)
			}
		})
	}
	for _, target := range targets {
		select {
		case next <- target:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}
