package memcachestore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

// TestSimulation runs engines and a store with two nodes in a bubble. The faults of one node,
// and the jumps of the clock, follow from a seed.
func TestSimulation(t *testing.T) {
	var total totals
	seeds := 0
	for seed := range scaletest.Seeds(t, 20, 100) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed, &total) })
		seeds++
	}
	t.Logf("%d seeds: %+v", seeds, total)
	if seeds >= 20 && !t.Failed() {
		require.NotZero(t, min(total.failed, total.overLimit, total.lost, total.suspensions), "the simulation does not cover all of these")
	}
}

// totals counts what all simulations together have covered.
type totals struct{ calls, failed, overLimit, lost, suspensions uint64 }

const (
	simulatedTime    = 3 * time.Second
	simulatedTimeout = 500 * time.Millisecond
	simulatedLimit   = 80
	// simulatedRecovery is from when on a node that replies again is in use.
	simulatedRecovery = 200 * time.Millisecond
)

func simulate(t *testing.T, seed uint64, total *totals) {
	opts := &memcachestore.Options{
		Timeout: simulatedTimeout, CloseTimeout: time.Duration(1+seed%10) * 100 * time.Millisecond,
		MaxReads: 1 + int(seed%3), MaxWorkers: 1 + int(seed%4), MaxIdleConns: 1 + int(seed%5),
	}
	longest := simulatedTimeout
	if seed%7 == 0 {
		opts.MaxPending = 1
		longest *= 4 // calls connect and send increments themselves
	}
	s := newSimulation(t, seed, opts)
	s.longest = longest
	limit := ratelimit.Per(simulatedLimit, ratelimit.Year)
	rules, err := ratelimit.Compile([]ratelimit.Domain{
		{Name: "0", Rules: []ratelimit.Rule{{Key: "key", Limit: &limit}}}, {Name: "1", Rules: []ratelimit.Rule{{Key: "key", Limit: &limit}}},
	}, nil)
	require.NoError(t, err)
	engines := make([]*ratelimit.Engine, 2)
	for i, stop := range []bool{false, true} {
		engines[i] = ratelimit.MustNew(s, &ratelimit.Options{Now: s.now, StopIncrementWhenOverLimit: stop})
		engines[i].Use(rules)
	}
	var all sync.WaitGroup
	end := time.Now().Add(simulatedTime)
	for caller := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(caller+10)))
		all.Go(func() {
			for time.Now().Before(end) {
				s.call(engines, random)
				time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 100))
	for time.Now().Before(end) {
		s.nodes[0].set(anyFault(random))
		if random.IntN(4) == 0 {
			s.jump.Add(int64(random.IntN(400)-200) * int64(time.Hour)) // across the end of a year, seldom
		}
		time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
		s.nodes[0].set(healthy)
		if random.IntN(4) == 0 {
			s.nodes[random.IntN(2)].flush()
		}
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
	}
	all.Wait()
	time.Sleep(simulatedRecovery)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, s.store.Flush(ctx), "the nodes reply")
	require.NoError(t, s.store.Ping(ctx))
	s.call(engines, random) // must succeed
	require.Zero(t, s.store.Stats().Suspended)
	if seed%2 == 0 {
		s.nodes[0].set(anyFault(random))
		for caller := range 4 {
			random := rand.New(rand.NewPCG(seed, uint64(caller+200)))
			all.Go(func() {
				for !s.closing.Load() {
					s.call(engines, random)
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		time.Sleep(time.Duration(random.IntN(800)) * time.Millisecond)
	}
	s.closing.Store(true)
	began := time.Now()
	_ = s.store.Close()
	if took := time.Since(began); took > opts.CloseTimeout {
		t.Errorf("Close took %v", took)
	}
	all.Wait()
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("memcachestore.(*")) || bytes.Contains(stacks, []byte("circuit.(*")) {
		t.Errorf("a goroutine is left after Close:\n%s", stacks)
	}
	s.nodes[0].set(healthy)
	time.Sleep(time.Minute) // commands that were held are executed
	s.check()
	stats := s.store.Stats()
	total.calls += s.calls
	total.failed += s.failed
	total.overLimit += s.overLimit
	total.lost += stats.Lost
	total.suspensions += stats.Suspensions
	for _, n := range s.nodes {
		n.set(down)
	}
}

// TestCloseWithCallOnTwoNodes closes a store while a call waits for one node and holds a
// counter on another. CloseTimeout must apply in whatever order the nodes are closed.
func TestCloseWithCallOnTwoNodes(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(t, 1, &memcachestore.Options{Timeout: time.Minute, CloseTimeout: time.Second})
			s.nodes[0].set(hanging)
			hits := []ratelimit.Hit{hit("a", 1), hit("d", 1)}
			require.True(t, s.nodeOf(hits[0].Key) != s.nodeOf(hits[1].Key))
			var all sync.WaitGroup
			all.Go(func() {
				if s.store.Add(t.Context(), hits) == nil {
					t.Error("the call succeeded without a reply")
				}
			})
			time.Sleep(time.Millisecond)
			began := time.Now()
			require.Error(t, s.store.Close())
			require.Equal(t, time.Second, time.Since(began))
			all.Wait()
			s.nodes[0].set(healthy)
			time.Sleep(time.Second) // the node notices
		})
	}
}

// simulation is a store that records what it is asked for.
type simulation struct {
	t     *testing.T
	nodes [2]*fakeNode // only the first has faults
	store *memcachestore.Store
	jump  atomic.Int64 // of the clock, in nanoseconds

	closing atomic.Bool
	longest time.Duration // that a call may take

	mu                       sync.Mutex
	keys                     map[string]*keyRecord
	calls, failed, overLimit uint64
}

// newSimulation returns a simulation with a new store.
func newSimulation(t *testing.T, seed uint64, opts *memcachestore.Options) *simulation {
	s := &simulation{t: t, keys: make(map[string]*keyRecord)}
	addrs := make([]string, len(s.nodes))
	for i := range s.nodes {
		s.nodes[i] = &fakeNode{counters: make(map[string]*fakeCounter), states: make(map[string]fakeState), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		s.nodes[i].set(healthy)
		addrs[i] = fmt.Sprintf("node:%d", i+1)
	}
	opts.Now, opts.Log = s.now, slog.New(slog.DiscardHandler)
	opts.SetDial(func(ctx context.Context, _, addr string) (net.Conn, error) {
		return s.nodes[slices.Index(addrs, addr)].dial(ctx)
	})
	var err error
	s.store, err = memcachestore.New(addrs, opts)
	require.NoError(t, err)
	return s
}

// nodeOf returns the node that has a key.
func (s *simulation) nodeOf(key []byte) *fakeNode { return s.nodes[crc32.ChecksumIEEE(key)%2] }

// keyRecord counts the hits on one key.
type keyRecord struct {
	node                          *fakeNode
	underWay, succeeded, admitted uint64
	limit                         uint64
}

func (s *simulation) now() time.Time { return time.Now().Add(time.Duration(s.jump.Load())) }

// simulatedValues have their counters on both nodes in each domain.
var simulatedValues = []string{"a", "bb", "ccc", "dddd"}

// call makes a request with one or two descriptors.
func (s *simulation) call(engines []*ratelimit.Engine, random *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if random.IntN(10) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Millisecond)
		defer cancel()
	}
	engine := random.IntN(2)
	r := &ratelimit.Request{Domain: strconv.Itoa(engine), HitsAddend: uint32(random.IntN(3))}
	for range 1 + random.IntN(2) {
		entry := ratelimit.Entry{Key: "key", Value: simulatedValues[random.IntN(len(simulatedValues))]}
		r.Descriptors = append(r.Descriptors, ratelimit.Descriptor{Entries: []ratelimit.Entry{entry}})
	}
	_, _ = engines[engine].Decide(ctx, r)
}

// Add implements ratelimit.Store.
func (s *simulation) Add(ctx context.Context, hits []ratelimit.Hit) error {
	before := make([]uint64, len(hits)) // hits of calls that have succeeded before this call
	onlyHealthy := true
	s.mu.Lock()
	for i := range hits {
		k := s.record(&hits[i])
		k.underWay += hits[i].N
		before[i] = k.succeeded
		onlyHealthy = onlyHealthy && k.node == s.nodes[1]
	}
	s.mu.Unlock()
	began, phase := time.Now(), s.nodes[0].phase.Load()
	reachable := onlyHealthy || s.nodes[0].fault() == healthy && time.Since(*s.nodes[0].changed.Load()) >= simulatedRecovery
	err := s.store.Add(ctx, hits)
	if took := time.Since(began); took > s.longest || onlyHealthy && took > 0 {
		s.t.Errorf("a call took %v; only on the healthy node: %v", took, onlyHealthy)
	}
	if err != nil && reachable && ctx.Err() == nil && (onlyHealthy || phase == s.nodes[0].phase.Load()) && !errors.Is(err, memcachestore.ErrClosed) {
		s.t.Errorf("a call failed although its nodes replied: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err != nil {
		s.failed++
	}
	for i := range hits {
		h := &hits[i]
		k := s.record(h)
		k.underWay -= h.N
		if err != nil {
			continue
		}
		k.succeeded += h.N
		if h.Count <= k.limit {
			k.admitted += h.N
		} else {
			s.overLimit++
		}
	}
	lost := s.store.Stats().Lost
	for i := range hits {
		h := &hits[i]
		k := s.record(h)
		_, flushed := k.node.counted(string(h.Key))
		if made := k.succeeded + k.underWay; err == nil && (h.Count > made || h.Count+lost+flushed < before[i]+h.N) {
			s.t.Errorf("%s: count %d: %d hits before, %d made, %d lost, %d flushed", h.Key, h.Count, before[i], made, lost, flushed)
		}
	}
	s.checkKeys(lost)
	return err
}

// record returns the record of a key. The mutex is held.
func (s *simulation) record(h *ratelimit.Hit) *keyRecord {
	k := s.keys[string(h.Key)]
	if k == nil {
		k = &keyRecord{limit: uint64(h.Limit), node: s.nodeOf(h.Key)}
		s.keys[string(h.Key)] = k
	}
	return k
}

// checkKeys checks that no hit was counted that was not made, or twice, and that no limit was
// exceeded by more than the hits that were lost. The mutex is held.
func (s *simulation) checkKeys(lost uint64) {
	over := uint64(0)
	for key, k := range s.keys {
		counted, flushed := k.node.counted(key)
		if made := k.succeeded + k.underWay; counted > made {
			s.t.Errorf("%s: %d hits counted of %d", key, counted, made)
		}
		over += k.admitted - min(k.admitted, k.limit+flushed)
	}
	if over > lost {
		s.t.Errorf("%d hits more than the limits allow; %d lost", over, lost)
	}
}

// check compares the counters of the nodes with the calls after all have ended.
func (s *simulation) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.store.Stats()
	s.checkKeys(stats.Lost)
	all, missing := uint64(0), uint64(0)
	for key, k := range s.keys {
		counted, _ := k.node.counted(key)
		all += k.succeeded
		missing += k.succeeded - counted
		if k.underWay != 0 {
			s.t.Errorf("%s: %d hits are still under way", key, k.underWay)
		}
	}
	if missing > stats.Lost || stats.Lost > all || all == 0 || stats.Pending != 0 {
		s.t.Errorf("%d hits, of which %d did not arrive and %d were reported as lost; %d increments pending", all, missing, stats.Lost, stats.Pending)
	}
}

// fault is a fault of a fakeNode.
type fault int32

const (
	healthy     fault = iota
	down              // connections are reset, and refused
	unreachable       // nothing arrives: connections hang, and commands are lost
	hanging           // commands are executed later
	resetBefore       // connections are reset, one in ten before a command is executed
	resetAfter        // one in ten after that
	halfCommand       // one in ten within the command
	halfReply         // one in ten within the reply
	lostReply         // one in ten commands gets no reply
	slow              // replies take up to 200 ms, in two parts
	refusing          // existing connections work
	lastFault   = refusing
	lastOutage  = hanging
)

// anyFault returns an outage in two of three cases.
func anyFault(random *rand.Rand) fault {
	if random.IntN(3) > 0 {
		return down + fault(random.IntN(int(lastOutage)))
	}
	return lastOutage + 1 + fault(random.IntN(int(lastFault-lastOutage)))
}

// fakeNode is a memcached in memory. Counters do not expire.
type fakeNode struct {
	current atomic.Int32
	phase   atomic.Int64 // how often current has changed
	changed atomic.Pointer[time.Time]

	mu       sync.Mutex
	counters map[string]*fakeCounter
	states   map[string]fakeState
	random   *rand.Rand
	conns    []*fakeConn
}

// fakeState is a value that is no number, and the number of its last change.
type fakeState struct {
	value   string
	changed int
}

type fakeCounter struct {
	exists         bool
	value          uint64
	total, flushed uint64 // all hits that were counted, and those that were flushed
}

func (n *fakeNode) fault() fault { return fault(n.current.Load()) }

func (n *fakeNode) set(to fault) {
	now := time.Now()
	n.changed.Store(&now)
	n.phase.Add(1)
	n.current.Store(int32(to))
	n.mu.Lock()
	defer n.mu.Unlock()
	if to == down {
		for _, c := range n.conns {
			c.reset()
		}
		n.conns = nil
	}
}

// flush removes all counters.
func (n *fakeNode) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.states)
	for _, c := range n.counters {
		c.flushed += c.value
		c.exists, c.value = false, 0
	}
}

// counted returns the hits that were counted on a key, and those that were flushed.
func (n *fakeNode) counted(key string) (total, flushed uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.counters[key]; c != nil {
		return c.total, c.flushed
	}
	return 0, 0
}

func (n *fakeNode) intN(max int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.IntN(max)
}

func (n *fakeNode) dial(ctx context.Context) (net.Conn, error) {
	switch n.fault() {
	case down, refusing:
		return nil, syscall.ECONNREFUSED
	case unreachable:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ours, theirs := net.Pipe()
	c := &fakeConn{Conn: ours, theirs: theirs, node: n}
	n.mu.Lock()
	n.conns = append(n.conns, c)
	n.mu.Unlock()
	commands := make(chan []string, 100) // the buffers of the network
	go func() {
		defer close(commands)
		for r := bufio.NewReader(theirs); ; {
			command, err := readCommand(r)
			if err != nil {
				return
			}
			if n.fault() != unreachable { // or it is lost
				commands <- command
			}
		}
	}()
	go func() {
		defer c.reset()
		for command := range commands {
			if !n.serve(theirs, command) {
				return
			}
		}
	}()
	return c, nil
}

// readCommand returns the words of a command; those of "add" and "cas" include the value.
func readCommand(r *bufio.Reader) ([]string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	words := strings.Fields(line)
	if words[0] == "add" || words[0] == "cas" {
		value, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words = append(words, strings.TrimSpace(value))
	}
	return words, nil
}

// serve executes a command and replies. It returns false if the connection is to end.
func (n *fakeNode) serve(conn io.Writer, command []string) bool {
	for n.fault() == hanging || n.fault() == unreachable {
		time.Sleep(10 * time.Millisecond)
	}
	one := n.intN(10) == 0
	at := n.fault()
	if at == resetBefore && one {
		return false
	}
	reply := n.execute(command)
	half := 0
	switch {
	case at == resetAfter && one:
		return false
	case at == lostReply && one:
		return true
	case at == halfReply && one:
		_, _ = io.WriteString(conn, reply[:len(reply)/2])
		return false
	case at == slow:
		half = len(reply) / 2
		time.Sleep(time.Duration(n.intN(100)) * time.Millisecond)
		if _, err := io.WriteString(conn, reply[:half]); err != nil {
			return false
		}
		time.Sleep(time.Duration(n.intN(100)) * time.Millisecond)
	}
	_, err := io.WriteString(conn, reply[half:])
	return err == nil
}

func (n *fakeNode) execute(words []string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	counter := func() *fakeCounter {
		c := n.counters[words[1]]
		if c == nil {
			c = new(fakeCounter)
			n.counters[words[1]] = c
		}
		return c
	}
	add := func(c *fakeCounter, hits string) uint64 {
		delta, _ := strconv.ParseUint(hits, 10, 64)
		c.exists = true
		c.value += delta
		c.total += delta
		return c.value
	}
	switch words[0] {
	case "version":
		return "VERSION 1\r\n"
	case "gets":
		var reply strings.Builder
		for _, key := range words[1:] {
			if s, ok := n.states[key]; ok {
				fmt.Fprintf(&reply, "VALUE %s 0 %d %d\r\n%s\r\n", key, len(s.value), s.changed, s.value)
			}
			if c := n.counters[key]; c != nil && c.exists {
				text := strconv.FormatUint(c.value, 10)
				fmt.Fprintf(&reply, "VALUE %s 0 %d 1\r\n%s\r\n", key, len(text), text)
			}
		}
		return reply.String() + "END\r\n"
	case "incr":
		if c := counter(); c.exists {
			return strconv.FormatUint(add(c, words[2]), 10) + "\r\n"
		}
		return "NOT_FOUND\r\n"
	case "cas":
		switch s, ok := n.states[words[1]]; {
		case !ok:
			return "NOT_FOUND\r\n"
		case strconv.Itoa(s.changed) != words[5]:
			return "EXISTS\r\n"
		default:
			n.states[words[1]] = fakeState{words[6], s.changed + 1}
			return "STORED\r\n"
		}
	case "add":
		if strings.Contains(words[5], " ") {
			if _, ok := n.states[words[1]]; ok {
				return "NOT_STORED\r\n"
			}
			n.states[words[1]] = fakeState{words[5], n.random.Int()}
			return "STORED\r\n"
		}
		if c := counter(); !c.exists {
			add(c, words[5])
			return "STORED\r\n"
		}
		return "NOT_STORED\r\n"
	}
	return "ERROR\r\n"
}

// fakeConn is the client's end of a connection. Its errors are those of a socket.
type fakeConn struct {
	net.Conn
	theirs  net.Conn
	node    *fakeNode
	isReset atomic.Bool
}

// reset ends the connection from the side of the node.
func (c *fakeConn) reset() {
	c.isReset.Store(true)
	_ = c.theirs.Close()
}

func (c *fakeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.socketError("read", err)
}

func (c *fakeConn) Write(p []byte) (int, error) {
	if c.node.fault() == halfCommand && c.node.intN(10) == 0 {
		n, _ := c.Conn.Write(p[:len(p)/2])
		c.reset()
		return n, c.socketError("write", io.ErrClosedPipe)
	}
	n, err := c.Conn.Write(p)
	return n, c.socketError("write", err)
}

// socketError replaces an error of net.Pipe by that of a socket.
func (c *fakeConn) socketError(op string, err error) error {
	switch {
	case err == io.EOF:
		err = syscall.ECONNRESET
	case !errors.Is(err, io.ErrClosedPipe):
		return err
	case c.isReset.Load():
		err = syscall.EPIPE
	default:
		err = net.ErrClosed
	}
	return &net.OpError{Op: op, Net: "tcp", Err: err}
}

// SyscallConn returns the connection itself, whose Control fails if it is reset.
func (c *fakeConn) SyscallConn() (syscall.RawConn, error) { return fakeRawConn{c}, nil }

type fakeRawConn struct{ conn *fakeConn }

func (r fakeRawConn) Control(func(fd uintptr)) error {
	if r.conn.isReset.Load() {
		return syscall.ECONNRESET
	}
	return nil
}

func (fakeRawConn) Read(func(fd uintptr) bool) error  { return errors.ErrUnsupported }
func (fakeRawConn) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }
