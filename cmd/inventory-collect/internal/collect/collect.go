package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The defaults and bounds of [Options].
const (
	DefaultTimeout     = 2 * time.Second
	DefaultRetries     = 2
	DefaultDeviceTime  = 2 * time.Minute
	DefaultConcurrency = 16
	DefaultMaxRows     = 10_000 // what package discovery accepts

	MaxTimeout     = time.Minute
	MaxRetries     = 10
	MaxDeviceTime  = time.Hour
	MaxConcurrency = 256
	MaxMaxRows     = 1_000_000

	// NoRetries as Retries sends each request once.
	NoRetries = -1
)

// maxValues is the maximum size in bytes of the values of a device, with what they cost in memory.
const maxValues = 32 << 20

// Options are the settings of a [Collector]. Nil and zero values mean the defaults.
type Options struct {
	// Timeout is the time to wait for each response. Default: 2 seconds; at most a minute.
	Timeout time.Duration
	// Retries is the number of times that a request without a response is sent again. Default: 2; at most 10.
	Retries int
	// DeviceTime is the maximum duration of all requests to a device. Default: 2 minutes; at most an hour.
	DeviceTime time.Duration
	// Concurrency is the number of devices that All reads at a time. Default: 16; at most 256.
	Concurrency int
	// MaxRows is the maximum number of rows of a table. Default: 10,000; at most 1,000,000.
	MaxRows int
}

// Collector reads devices. Its methods are safe for concurrent use.
type Collector struct {
	credentials Credentials
	options     Options
}

// New returns a collector. The error says which credentials or options are invalid; it has no secrets.
func New(credentials Credentials, opts *Options) (*Collector, error) {
	c := &Collector{credentials, *cmp.Or(opts, &Options{})}
	o := &c.options
	return c, errors.Join(
		credentials.validate(),
		setDefault("Timeout", &o.Timeout, DefaultTimeout, MaxTimeout),
		o.setRetries(),
		setDefault("DeviceTime", &o.DeviceTime, DefaultDeviceTime, MaxDeviceTime),
		setDefault("Concurrency", &o.Concurrency, DefaultConcurrency, MaxConcurrency),
		setDefault("MaxRows", &o.MaxRows, DefaultMaxRows, MaxMaxRows),
	)
}

func (o *Options) setRetries() error {
	if o.Retries == NoRetries {
		o.Retries = 0
		return nil
	}
	return setDefault("Retries", &o.Retries, DefaultRetries, MaxRetries)
}

// setDefault sets a value that is zero, and reports one that is out of bounds.
func setDefault[T int | time.Duration](name string, value *T, standard, largest T) error {
	if *value == 0 {
		*value = standard
	}
	if *value < 0 || *value > largest {
		return fmt.Errorf("%s is %v: use at most %v, or 0 for %v", name, *value, largest, standard)
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
