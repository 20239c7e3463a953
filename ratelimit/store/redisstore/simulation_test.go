package redisstore_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// TestSimulation runs an engine and a store in a bubble, with a server whose faults, and a clock
// whose jumps, follow from a seed.
func TestSimulation(t *testing.T) {
	for seed := range scaletest.Seeds(t, 10, 100) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		// The library keeps timers in a sync.Pool, and a bubble's timers must not be used outside of
		// it. The second collection empties the pool.
		runtime.GC()
		runtime.GC()
	}
}

const (
	simulatedTime    = 3 * time.Second
	simulatedTimeout = 500 * time.Millisecond
	simulatedLimit   = 40
)

func simulate(t *testing.T, seed uint64) {
	s := &simulation{
		server: &fakeRedis{values: make(map[string]int64), random: rand.New(rand.NewPCG(seed, 0))},
		keys:   make(map[string]*keyRecord),
	}
	opts := &redisstore.Options{Timeout: simulatedTimeout, Dial: s.server.dial, Now: s.now, PoolSize: 1 + int(seed%4)}
	store, err := redisstore.New("fake:1", opts)
	require.NoError(t, err)
	s.inner = store
	limiters := make([]*ratelimit.Limiter, 2)
	for i, stop := range []bool{false, true} {
		limiters[i], err = ratelimit.NewLimiter(fmt.Sprint("domain", i), s, ratelimit.Per(simulatedLimit, ratelimit.Year),
			&ratelimit.Options{Now: s.now, StopIncrementWhenOverLimit: stop})
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	end := time.Now().Add(simulatedTime)
	for caller := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(caller+1)))
		all.Go(func() {
			for time.Now().Before(end) {
				s.call(t, limiters[random.IntN(2)], random)
				time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 100))
	for time.Now().Before(end) {
		s.server.set(fault(random.IntN(int(lastFault) + 1)))
		if random.IntN(4) == 0 {
			s.jump.Add(int64(random.IntN(400)-200) * int64(time.Hour)) // across the end of a year, seldom
		}
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond)
		s.server.set(healthy)
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	}
	all.Wait()
	time.Sleep(200 * time.Millisecond)
	_, err = limiters[0].Allow(t.Context(), "after")
	require.NoError(t, err, "the server has been back for 200 ms")
	s.server.set(healthy)
	time.Sleep(time.Minute) // commands that were held are executed
	require.NoError(t, store.Close())
	s.server.set(down)
	s.check(t)
}

// simulation is a store that records what it is asked for.
type simulation struct {
	server *fakeRedis
	inner  *redisstore.Store
	jump   atomic.Int64 // of the clock, in nanoseconds

	mu   sync.Mutex
	keys map[string]*keyRecord
}

// keyRecord counts the hits on one key.
type keyRecord struct {
	limit                     uint32
	sent, succeeded, admitted uint64
	counts                    map[uint64]bool
	twice                     bool
}

func (s *simulation) now() time.Time { return time.Now().Add(time.Duration(s.jump.Load())) }

func (s *simulation) call(t *testing.T, l *ratelimit.Limiter, random *rand.Rand) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if random.IntN(10) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Millisecond)
		defer cancel()
	}
	began := time.Now()
	if random.IntN(3) == 0 {
		hits := []ratelimit.Hit{hit(strconv.Itoa(random.IntN(3)), 1)}
		_ = s.record(hits, charger{s.inner}.Add(ctx, hits))
	} else {
		_, _ = l.Allow(ctx, strconv.Itoa(random.IntN(3)))
	}
	if took := time.Since(began); took > 2*simulatedTimeout+time.Second {
		t.Errorf("a call took %v", took)
	}
}

// Add implements ratelimit.Store.
func (s *simulation) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return s.record(hits, s.inner.Add(ctx, hits))
}

// AddUnlessOver implements ratelimit.ConditionalStore.
func (s *simulation) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return s.record(hits, s.inner.AddUnlessOver(ctx, hits))
}

func (s *simulation) record(hits []ratelimit.Hit, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hits {
		k := s.keys[string(h.Key)]
		if k == nil {
			k = &keyRecord{limit: h.Limit, counts: make(map[uint64]bool)}
			s.keys[string(h.Key)] = k
		}
		k.sent += h.N
		if err != nil {
			continue
		}
		k.succeeded += h.N
		k.twice = k.twice || k.counts[h.Count]
		k.counts[h.Count] = true
		if h.Count <= uint64(h.Limit) {
			k.admitted += h.N
		}
	}
	return err
}

// check compares the counters of the server with the calls.
func (s *simulation) check(t *testing.T) {
	total := uint64(0)
	for key, k := range s.keys {
		counted := uint64(s.server.values[key])
		total += k.succeeded
		if k.admitted > uint64(k.limit) || counted > k.sent || counted < k.succeeded || k.twice {
			t.Errorf("%s: limit %d, %d admitted; %d sent, %d counted, %d succeeded; the same count twice: %v",
				key, k.limit, k.admitted, k.sent, counted, k.succeeded, k.twice)
		}
	}
	if total == 0 {
		t.Error("no call has succeeded")
	}
}

// fault is a fault of a fakeRedis.
type fault int32

const (
	healthy     fault = iota
	down              // connections are reset, and refused
	unreachable       // nothing arrives: connections hang, and commands are lost
	hanging           // commands are executed later
	resetBefore       // connections are reset, one in ten before a command is executed
	resetAfter        // one in ten after that
	halfReply         // one in ten within the reply
	slow              // replies take up to 100 ms
	refusing          // existing connections work
	lastFault   = refusing
)

// fakeRedis is a server in memory. Counters do not expire.
type fakeRedis struct {
	current atomic.Int32

	mu     sync.Mutex
	values map[string]int64
	random *rand.Rand
	conns  []net.Conn
}

func (f *fakeRedis) fault() fault { return fault(f.current.Load()) }

func (f *fakeRedis) set(to fault) {
	f.current.Store(int32(to))
	f.mu.Lock()
	defer f.mu.Unlock()
	if to == down {
		for _, c := range f.conns {
			_ = c.Close()
		}
		f.conns = nil
	}
}

func (f *fakeRedis) intN(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(n)
}

var errRefused = errors.New("connection refused")

func (f *fakeRedis) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	switch f.fault() {
	case down, refusing:
		return nil, errRefused
	case unreachable:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ours, theirs := net.Pipe()
	f.mu.Lock()
	f.conns = append(f.conns, theirs)
	f.mu.Unlock()
	commands := make(chan string, 100) // the buffers of the network
	go func() {
		defer close(commands)
		for r := bufio.NewReader(theirs); ; {
			command, err := readCommand(r)
			if err != nil {
				return
			}
			if f.fault() != unreachable { // or it is lost
				commands <- command
			}
		}
	}()
	go func() {
		defer func() { _ = theirs.Close() }()
		for command := range commands {
			if !f.serve(theirs, command) {
				return
			}
		}
	}()
	return ours, nil
}

// serve executes a command and replies. It returns false if the connection is to end.
func (f *fakeRedis) serve(conn io.Writer, command string) bool {
	for f.fault() == hanging || f.fault() == unreachable {
		time.Sleep(10 * time.Millisecond)
	}
	one := f.intN(10) == 0
	at := f.fault()
	if at == resetBefore && one {
		return false
	}
	reply := f.execute(command) + "\r\n"
	switch {
	case at == resetAfter && one:
		return false
	case at == halfReply && one:
		_, _ = io.WriteString(conn, reply[:len(reply)/2])
		return false
	case at == slow:
		time.Sleep(time.Duration(f.intN(100)) * time.Millisecond)
	}
	_, err := io.WriteString(conn, reply)
	return err == nil
}

// execute executes a command. AddUnlessOver is a script with one key here, and Charge one that adds
// to a sliding window without an end.
func (f *fakeRedis) execute(command string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	words := strings.Split(command, " ")
	number := func(at int) int64 {
		n, _ := strconv.ParseInt(words[at], 10, 64)
		return n
	}
	switch words[0] {
	case "ping":
		return "+PONG"
	case "wait":
		return ":0"
	case "set":
		return "+OK" // a counter begins with 0 anyway
	case "pexpire":
		return ":1"
	case "incrby":
		f.values[words[1]] += number(2)
		return fmt.Sprintf(":%d", f.values[words[1]])
	case "evalsha":
		key, n := words[3], number(4)
		if charges := strings.Join(words[4:], " "); strings.HasPrefix(key, "take") {
			return f.charge(strings.TrimPrefix(key, "take"), []byte(charges))
		}
		f.values[key] += n
		return bulk(strconv.FormatInt(min(f.values[key], math.MaxInt64), 10))
	}
	return "-ERR unknown command"
}

// charge executes charges of eight numbers each, of which the first is the hits.
func (f *fakeRedis) charge(key string, charges []byte) string {
	reply := fmt.Sprintf("*%d", 3*len(charges)/64)
	for ; len(charges) > 0; charges = charges[64:] {
		f.values[key] += int64(math.Float64frombits(binary.LittleEndian.Uint64(charges)))
		reply += fmt.Sprintf("\r\n:1\r\n:%d\r\n:0", f.values[key])
	}
	return reply
}
