package attack_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// target names the server to attack and the addresses to attack it from.
type target struct {
	Addr        string   // host:port
	Connections int      // open at the same time; 0 means 1
	From        []string // local IP addresses to connect from, in turn; empty lets the system choose
	// Pause is the wait before a closed connection is opened again. 0 means 100ms.
	Pause time.Duration
	TLS   bool // HTTP/2 over TLS, whatever the certificate
}

// result counts what an attack achieved.
type result struct {
	Connections int64 // opened, again ones included
	Closed      int64 // connections that the server closed or did not accept
	Streams     int64 // gRPC streams, or HTTP requests, that were begun
	Refused     int64 // streams or requests that got a response, nearly always an error
	Bytes       int64 // sent
}

// String lists the numbers.
func (r result) String() string {
	return fmt.Sprintf("%d connections (%d closed by the server), %d streams or requests (%d refused), %d bytes sent",
		r.Connections, r.Closed, r.Streams, r.Refused, r.Bytes)
}

// counts is a result that is being counted.
type counts struct{ connections, closed, streams, refused, bytes atomic.Int64 }

func (c *counts) result() result {
	return result{c.connections.Load(), c.closed.Load(), c.streams.Load(), c.refused.Load(), c.bytes.Load()}
}

// run holds connections open until ctx ends. hold sends the attack on one connection, and returns
// when the server has closed it.
func (t *target) run(ctx context.Context, hold func(net.Conn, *counts)) (result, error) {
	var all counts
	var group sync.WaitGroup
	errs := make([]error, max(t.Connections, 1))
	for i := range errs {
		group.Go(func() { errs[i] = t.persist(ctx, i, &all, hold) })
	}
	group.Wait()
	if all.connections.Load() == 0 {
		return all.result(), errors.Join(errs...)
	}
	return all.result(), nil
}

// persist opens a connection again and again. It returns the last error of opening one.
func (t *target) persist(ctx context.Context, i int, all *counts, hold func(net.Conn, *counts)) (err error) {
	pause := t.Pause
	if pause <= 0 {
		pause = 100 * time.Millisecond
	}
	for ctx.Err() == nil {
		var conn net.Conn
		if conn, err = t.dial(ctx, i); err == nil {
			all.connections.Add(1)
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			hold(&countingConn{conn, &all.bytes}, all)
			stop()
			_ = conn.Close()
		}
		if ctx.Err() == nil {
			all.closed.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return err
}

func (t *target) dial(ctx context.Context, i int) (net.Conn, error) {
	d := &net.Dialer{Timeout: 10 * time.Second}
	if len(t.From) > 0 {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(t.From[i%len(t.From)])}
	}
	if !t.TLS {
		return d.DialContext(ctx, "tcp", t.Addr)
	}
	over := &tls.Dialer{NetDialer: d, Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	return over.DialContext(ctx, "tcp", t.Addr)
}

type countingConn struct {
	net.Conn
	bytes *atomic.Int64
}

// Write implements net.Conn.
func (c *countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}
