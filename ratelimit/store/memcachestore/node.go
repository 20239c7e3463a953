package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/circuit"
)

// node sends commands to one memcached node and counts their results.
type node struct {
	addr    string
	opts    *Options
	totals  *totals
	client  *memcache.Client
	failing atomic.Bool // the last command failed
	circuit *circuit.Circuit

	aborted context.Context // done when all connections are to be closed
	abort   context.CancelFunc
}

func newNode(addr string, opts *Options, t *totals) *node {
	n := &node{addr: addr, opts: opts, totals: t}
	n.aborted, n.abort = context.WithCancel(context.Background())
	n.circuit = circuit.New(&circuit.Options{
		Failures: opts.BreakerFailures, Wait: opts.BreakerWait, MaxWait: opts.BreakerMaxWait,
		Timeout: 2 * opts.Timeout, Probe: n.probe, Name: addr, Log: opts.Log,
	}, &t.circuits)
	n.client = memcache.NewFromSelector(address(addr))
	n.client.DialContext, n.client.Timeout, n.client.MaxIdleConns = n.dial, opts.Timeout, opts.MaxIdleConns
	return n
}

// address is the server of a memcache.Client. It contains a host name, which is resolved for each
// connection, so that a node may move.
type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

// String implements net.Addr.
func (a address) String() string { return string(a) }

// PickServer implements memcache.ServerSelector.
func (a address) PickServer(string) (net.Addr, error) { return a, nil }

// Each implements memcache.ServerSelector.
func (a address) Each(f func(net.Addr) error) error { return f(a) }

// kind is a kind of commands. They differ in the failures after which they are sent again.
type kind int

const (
	reading kind = iota
	modifying
)

// maxConnects is how often a connection is tried for a command, in all for about as long as a
// circuit needs to open.
const maxConnects = 6

var connectWait = backoff.Backoff{Initial: 10 * time.Millisecond}

// do runs a command, counts its result in codes, and logs when the node begins to
// fail and when it recovers. A command that was not sent, because the node had closed the connection
// or none could be opened, is sent again, and a read also if the connection was lost: after a restart
// all connections are dead. An error has the address of the node, unless it is an ordinary reply.
func (n *node) do(kind kind, codes *Codes, command func() error) error {
	began, again := time.Now(), true
	err := n.run(command)
	for connects := 0; err != nil; connects++ {
		if again && (errors.Is(err, errUnsent) || kind == reading && isLost(err)) {
			again = false
			_ = n.client.Close() // the other idle connections are dead too
		} else if !errors.Is(err, errConnect) || connects == maxConnects || n.circuit.Open() ||
			backoff.Sleep(n.aborted, connectWait.Wait(connects)) != nil {
			break
		}
		err = n.run(command)
	}
	switch err {
	case nil, memcache.ErrCacheMiss, memcache.ErrNotStored, memcache.ErrCASConflict:
		n.succeeded()
	default:
		err = n.failed(began, err)
	}
	n.totals.count(codes, err)
	return err
}

func (n *node) succeeded() {
	n.circuit.Succeeded()
	if n.failing.Load() && n.failing.Swap(false) {
		n.opts.Log.Info("memcached node has recovered", "node", n.addr)
	}
}

func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// failed reports a failure and returns the error with the address of the node.
func (n *node) failed(began time.Time, err error) error {
	netErr, isNet := errors.AsType[net.Error](err)
	if isNet || isLost(err) || errors.Is(err, errUnsent) || errors.Is(err, errConnect) {
		n.circuit.Failed(began, err)
	}
	if !n.failing.Swap(true) {
		n.opts.Log.Warn("memcached node fails", "node", n.addr, "err", err)
	}
	if isNet && netErr.Timeout() {
		return fmt.Errorf("%w: node %s: %w", ErrTimeout, n.addr, err)
	}
	return fmt.Errorf("memcachestore: node %s: %w", n.addr, err)
}

// probe opens a connection of its own and returns nil if the node replies on it.
func (n *node) probe(ctx context.Context) error {
	_, err := n.version(ctx)
	return err
}

// version returns the first bytes of the reply to the command version, on a connection of its own.
func (n *node) version(ctx context.Context) (string, error) {
	c, err := n.dial(ctx, "tcp", n.addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if _, err = io.WriteString(c, "version\r\n"); err != nil {
		return "", err
	}
	reply := make([]byte, 64)
	size, err := c.Read(reply)
	return string(reply[:size]), err
}

// ping returns nil if the node replies as a memcached does.
func (n *node) ping(ctx context.Context) error {
	if n.aborted.Err() != nil {
		return ErrClosed
	}
	connecting, cancel := context.WithTimeout(ctx, 2*n.opts.Timeout)
	defer cancel()
	reply, err := n.version(connecting)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && !strings.HasPrefix(reply, "VERSION"):
		err = fmt.Errorf("the server is no memcached: its reply has %d bytes", len(reply))
	}
	if err != nil {
		return fmt.Errorf("memcachestore: node %s: %w", n.addr, err)
	}
	n.succeeded()
	return nil
}

// run runs a command unless the store is closed. It turns a panic of the client, which a malformed
// reply can cause, into an error.
func (n *node) run(command func() error) (err error) {
	if n.aborted.Err() != nil {
		return ErrClosed
	}
	defer func() {
		if r := recover(); r != nil {
			_ = n.client.Close() // the connection is out of step
			err = fmt.Errorf("malformed reply: %v", r)
		}
	}()
	return command()
}

// get reads values. Those that do not exist are missing from the result.
func (n *node) get(keys []string) (found map[string]*memcache.Item, err error) {
	err = n.do(reading, &n.totals.MultiGet, func() (err error) {
		if len(keys) > 1 {
			found, err = n.client.GetMulti(keys)
			return err
		}
		item, err := n.client.Get(keys[0]) // faster than GetMulti
		if errors.Is(err, memcache.ErrCacheMiss) {
			return nil
		}
		found = map[string]*memcache.Item{keys[0]: item}
		return err
	})
	n.totals.addTo(&n.totals.KeysRequested, uint64(len(keys)))
	if err == nil {
		n.totals.addTo(&n.totals.KeysFound, uint64(len(found)))
	}
	return found, err
}

// parseValue parses the value of a counter. memcached pads a number that has become
// shorter with blanks.
func parseValue(value []byte) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimRight(string(value), " "), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: its value has %d bytes", ErrNotANumber, len(value))
	}
	return n, nil
}

// maxAttempts is how often a counter may appear and disappear between two commands until
// increment fails.
const maxAttempts = 3

// increment adds delta to a counter, or creates it, and returns its new value.
func (n *node) increment(key string, delta uint64, ttl time.Duration) (value uint64, err error) {
	for range maxAttempts {
		err = n.do(modifying, &n.totals.Increment, func() (err error) {
			value, err = n.client.Increment(key, delta)
			return err
		})
		if !errors.Is(err, memcache.ErrCacheMiss) {
			return value, err
		}
		item := &memcache.Item{Key: key, Value: strconv.AppendUint(nil, delta, 10), Expiration: expiry(ttl, n.opts.Now())}
		err = n.do(modifying, &n.totals.Add, func() error { return n.client.Add(item) })
		if !errors.Is(err, memcache.ErrNotStored) {
			return delta, err
		}
	}
	return 0, fmt.Errorf("memcachestore: node %s: a counter disappears repeatedly: the node may be out of memory", n.addr)
}

// decrement subtracts delta from a counter, which stops at zero, and returns its new value. A counter that
// does not exist has the value 0, and is not created.
func (n *node) decrement(key string, delta uint64) (value uint64, err error) {
	err = n.do(modifying, &n.totals.Decrement, func() (err error) {
		value, err = n.client.Decrement(key, delta)
		return err
	})
	if errors.Is(err, memcache.ErrCacheMiss) {
		return 0, nil
	}
	return value, err
}
