package memcachestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/internal/circuit"
)

// node is a memcached node, with the work for it: reads, counters that wait for an increment, and states
// that wait for an exchange. Goroutines start when there is some and end when there is none. A node that does
// not reply delays its own work only.
type node struct {
	addr    string
	store   *Store
	client  *memcache.Client
	circuit *circuit.Circuit

	aborted context.Context // done when all connections are to be closed
	abort   context.CancelFunc

	// The lock of the Store protects these.
	waiting int // hits and charges that wait for reads and exchanges that have not begun

	counters map[string]*counter // being read, or with hits that have not arrived
	next     *read               // has not begun; hits join it
	reading  chan struct{}       // has an element for each read under way

	increments []*counter // wait for an increment
	writers    int        // goroutines
	decrements int        // that have ended

	exchanges  map[string]*exchange // by key: the next, which charges join, nil if there is none but one is under way
	exchanging chan struct{}        // has an element for each exchange under way
}

func newNode(addr string, s *Store) *node {
	n := &node{addr: addr, store: s}
	n.counters, n.reading = make(map[string]*counter), make(chan struct{}, s.opts.MaxReads)
	n.exchanges, n.exchanging = make(map[string]*exchange), make(chan struct{}, s.opts.MaxWorkers)
	n.aborted, n.abort = context.WithCancel(context.Background())
	n.circuit = circuit.New(&circuit.Options{
		Failures: s.opts.BreakerFailures, Wait: s.opts.BreakerWait, MaxWait: s.opts.BreakerMaxWait,
		Timeout: 2 * s.opts.Timeout, Probe: n.ping, Name: addr, Log: s.opts.Log,
	}, &s.circuits)
	n.client = memcache.NewFromSelector(address(addr))
	n.client.DialContext, n.client.Timeout, n.client.MaxIdleConns = n.dial, s.opts.Timeout, s.opts.MaxIdleConns
	return n
}

// stop closes all connections; commands fail from now on.
func (n *node) stop() {
	n.abort()
	n.circuit.Close()
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

// dial opens a connection for memcache.Client, which limits ctx by the timeout. The connection has its own
// timeout for each command: the client library would grant one for every line of a reply.
func (n *node) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if n.aborted.Err() != nil {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.aborted, cancel)()
	c, err := circuit.DialTLS(ctx, n.store.opts.TLS, addr, func(ctx context.Context) (net.Conn, error) { return n.store.opts.dial(ctx, network, addr) })
	if err != nil {
		return nil, &circuit.Unsent{Err: fmt.Errorf("cannot connect: %w", err)}
	}
	stop := context.AfterFunc(n.aborted, func() { _ = c.Transport.Close() })
	c.Timeout, c.Closed = n.store.opts.Timeout, func() { stop() }
	return c, nil
}

// maxConnects bounds how often a connection is tried for a command, in all for about as long as a
// circuit needs to open.
const maxConnects = 7

var connectWait = backoff.Backoff{Initial: 10 * time.Millisecond}

// do runs a command and counts its result in codes. A command that was not sent, because the node had
// closed the connection or none could be opened, is sent again, and a read also if the connection was lost: after a
// restart all connections are dead. An error has the address of the node, unless it is an ordinary reply.
func (n *node) do(codes *Codes, command func() error) error {
	began := time.Now()
	err := n.run(command)
	for attempt := range maxConnects {
		lostRead := attempt == 0 && codes == &n.store.stats.MultiGet && isLost(err)
		if !lostRead && !circuit.IsUnsent(err) || attempt > 0 && (n.circuit.Open() || backoff.Sleep(n.aborted, connectWait.Wait(attempt-1)) != nil) {
			break
		}
		_ = n.client.Close() // the other idle connections are dead too
		err = n.run(command)
	}
	number := codes.of(err)
	if number != &codes.Error {
		n.circuit.Succeeded()
	} else {
		err = n.failed(began, err)
	}
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	*number++
	return err
}

func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// failed reports a failure and returns the error with the address of the node.
func (n *node) failed(began time.Time, err error) error {
	netErr, isNet := errors.AsType[net.Error](err)
	if isNet || isLost(err) || circuit.IsUnsent(err) {
		n.circuit.Failed(began, err)
	}
	if isNet && netErr.Timeout() {
		return fmt.Errorf("%w: node %s: %w", ErrTimeout, n.addr, err)
	}
	return fmt.Errorf("memcachestore: node %s: %w", n.addr, err)
}

// ping returns nil if the node replies as a memcached does, on a connection of its own.
func (n *node) ping(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, 2*n.store.opts.Timeout)
	defer cancel()
	c, err := n.dial(limited, "tcp", n.addr)
	if err == nil {
		defer func() { _ = c.Close() }()
		defer context.AfterFunc(limited, func() { _ = c.Close() })()
		_, _ = io.WriteString(c, "version\r\n") // if it fails, reading does
		_, err = fmt.Fscanf(c, "VERSION %s", new(string))
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("memcachestore: node %s: %w", n.addr, err)
	}
	n.circuit.Succeeded()
	return nil
}

// run runs a command. It turns a panic of the client, which a malformed
// reply can cause, into an error.
func (n *node) run(command func() error) (err error) {
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
	err = n.do(&n.store.stats.MultiGet, func() (err error) {
		if len(keys) > 1 {
			found, err = n.client.GetMulti(keys)
			return err
		}
		item, err := n.client.Get(keys[0]) // faster than GetMulti
		if err == nil {
			found = map[string]*memcache.Item{keys[0]: item}
		} else if errors.Is(err, memcache.ErrCacheMiss) {
			return nil
		}
		return err
	})
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	n.store.stats.KeysRequested += uint64(len(keys))
	n.store.stats.KeysFound += uint64(len(found))
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

// maxAttempts bounds how often a counter may appear and disappear between two commands until
// increment fails.
const maxAttempts = 3

// increment adds delta to a counter, or creates it, and returns its new value.
func (n *node) increment(key string, delta uint64, ttl time.Duration) (value uint64, err error) {
	for range maxAttempts {
		err = n.do(&n.store.stats.Increment, func() (err error) {
			value, err = n.client.Increment(key, delta)
			return err
		})
		if !errors.Is(err, memcache.ErrCacheMiss) {
			return value, err
		}
		item := &memcache.Item{Key: key, Value: strconv.AppendUint(nil, delta, 10), Expiration: expiry(ttl, n.store.opts.Now())}
		err = n.do(&n.store.stats.Add, func() error { return n.client.Add(item) })
		if !errors.Is(err, memcache.ErrNotStored) {
			return delta, err
		}
	}
	return 0, fmt.Errorf("memcachestore: node %s: a counter disappears repeatedly: the node may be out of memory", n.addr)
}

// decrement subtracts delta from a counter, which stops at zero, and returns its new value. A counter that
// does not exist has the value 0, and is not created.
func (n *node) decrement(key string, delta uint64) (value uint64, err error) {
	err = n.do(&n.store.stats.Decrement, func() (err error) {
		value, err = n.client.Decrement(key, delta)
		return err
	})
	if errors.Is(err, memcache.ErrCacheMiss) {
		return 0, nil
	}
	return value, err
}
