package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

var (
	_ ratelimit.ChargeStore   = (*redisstore.Store)(nil)
	_ ratelimit.SubtractStore = (*redisstore.Store)(nil)
	_ ratelimit.ChargeStore   = (*redisstore.Cluster)(nil)
	_ ratelimit.SubtractStore = (*redisstore.Cluster)(nil)
)

// chargingAlgorithms lists those that are no fixed windows.
var chargingAlgorithms = []ratelimit.Algorithm{ratelimit.SlidingWindow, ratelimit.TokenBucket, ratelimit.Concurrency}

// maxTime is the longest time of tokens, in microseconds.
const maxTime = 1 << 51

// limit makes charges.
type limit struct {
	algorithm            ratelimit.Algorithm
	rate, most, duration int64 // hits in a window, at once, and its microseconds
}

// charge returns a charge of n hits at a time in Unix microseconds, as the engine makes it.
func (l limit) charge(key string, n, now int64) ratelimit.Charge {
	t := ratelimit.Charge{Key: []byte(key), Algorithm: l.algorithm, N: uint64(n), Now: now}
	switch l.algorithm {
	case ratelimit.TokenBucket:
		t.Params[4], t.Params[5] = l.rate, l.duration
		for i, hits := range []int64{n, l.most} {
			if t.Params[2*i], t.Params[2*i+1] = hits*l.duration/l.rate, hits*l.duration%l.rate; t.Params[2*i] >= maxTime {
				t.Params[2*i], t.Params[2*i+1] = maxTime, 0
			}
		}
	case ratelimit.SlidingWindow:
		start := now - now%l.duration
		weight := 1<<20 - (now-start)<<20/l.duration
		t.Params = [6]int64{start, start - l.duration, weight, l.rate, start + l.duration, start + 2*l.duration}
	case ratelimit.Concurrency:
		t.Params = [6]int64{now / (l.duration / 7), l.rate, l.duration / 7}
	}
	return t
}

// randomCharge returns a charge at some time near now.
func (l limit) randomCharge(key string, r *rand.Rand, now int64, last ratelimit.State) ratelimit.Charge {
	n := []int64{0, 1, 1, 1, 2, 3, l.rate, l.rate + 1, l.most, r.Int64N(2*l.most + 1)}[r.IntN(10)]
	t := l.charge(key, n, now)
	if t.Refund = r.IntN(4) == 0; t.Refund && l.algorithm == ratelimit.Concurrency && r.IntN(3) > 0 {
		t.Params[3] = max(last[0], t.Params[0]) - 9 + r.Int64N(14) // when they were taken
	}
	return t
}

// inHurry repeats a test with a name of its own if the server may have dropped a state meanwhile.
func inHurry(t *testing.T, test func(key string) error) {
	t.Helper()
	for {
		began := time.Now()
		err := test(uniqueName())
		if err == nil {
			return
		}
		if time.Since(began) < time.Second {
			t.Fatal(err)
		}
	}
}

// compareWithApply makes random charges from one key, several in a call, and compares the results
// with those of Charge.Apply.
func compareWithApply(ctx context.Context, store ratelimit.ChargeStore, l limit, r *rand.Rand, key string) error {
	now := time.Now().UnixMicro()
	var state ratelimit.State
	for range 10 {
		charges := make([]ratelimit.Charge, 1+r.IntN(8))
		if r.IntN(5) == 0 {
			l.rate = 1 + r.Int64N(12) // the limit has been changed
		}
		for i := range charges {
			switch r.IntN(8) {
			case 0: // the clock steps
				now += (r.Int64N(4*l.duration) - 2*l.duration) * []int64{1, 1, 1000}[r.IntN(3)]
			case 1:
				now += r.Int64N(3 * l.duration)
			default:
				now += r.Int64N(l.duration/l.rate + 1)
			}
			charges[i] = l.randomCharge(key, r, now, state)
		}
		if err := compareCharges(ctx, store, charges, &state); err != nil {
			return err
		}
	}
	return nil
}

// compareCharges makes one call, and compares the results with those of Charge.Apply. The state remains
// if no hits were taken or given back.
func compareCharges(ctx context.Context, store ratelimit.ChargeStore, charges []ratelimit.Charge, state *ratelimit.State) error {
	before, want, changed := *state, slices.Clone(charges), false
	if err := store.Charge(ctx, charges); err != nil {
		return err
	}
	for i := range charges {
		want[i].Apply(state)
		if charges[i].Allowed != want[i].Allowed || charges[i].State != want[i].State {
			return fmt.Errorf("from %v:\ncharge %d of %+v\ngot %v %v, want %v %v", before, i, charges, charges[i].Allowed, charges[i].State, want[i].Allowed, want[i].State)
		}
		changed = changed || want[i].Allowed && want[i].N > 0
	}
	if !changed {
		*state = before
	}
	return nil
}

// TestChargesAtBounds makes charges that random ones hardly meet.
func TestChargesAtBounds(t *testing.T) {
	server := redistest.Start(t, nil)
	store := open(t, server.Addr, nil)
	const now = 1_800_000_000_000_000
	bucket := func(n uint64, params ...int64) ratelimit.Charge {
		return ratelimit.Charge{Algorithm: ratelimit.TokenBucket, N: n, Now: now, Params: [6]int64(append(params, 60e6))}
	}
	window := limit{ratelimit.SlidingWindow, 2, 2, 1 << 20}
	start := int64(now - now%window.duration)
	early := window.charge("", 1, start)
	early.Now--
	// 2^31 hits in 2^21 microseconds are the most that are weighed exactly.
	const many, most = 1 << 31, 1<<32 - 1
	large := limit{ratelimit.SlidingWindow, most, most, 1 << 21}
	last := now - now%large.duration - 1
	for name, charges := range map[string][]ratelimit.Charge{
		"hits of a limit of none":         {bucket(1, maxTime, 0, maxTime, 0, 0), bucket(0, 0, 0, maxTime, 0, 0)},
		"more than the bucket ever holds": {bucket(1<<33, maxTime, 0, maxTime, 0, 1)},
		"a full bucket":                   {bucket(3, 60e6, 0, 60e6, 0, 3), bucket(1, 20e6, 0, 60e6, 0, 3)},
		"less than a microsecond":         {bucket(2, 0, 2, 0, 2, 3), bucket(1, 0, 1, 0, 2, 3)},
		"the last microsecond of a window": {
			window.charge("", 1, start-1), window.charge("", 2, start+window.duration-1), window.charge("", 1, start+window.duration-1),
		},
		"before the window":    {window.charge("", 1, start-1), early},
		"many hits":            {large.charge("", many, last-large.duration), large.charge("", most-1024, last), large.charge("", 1, last)},
		"too many hits":        {large.charge("", many+1, last-large.duration), large.charge("", most-2048, last), large.charge("", most-2049, last)},
		"hits before any time": {limit{ratelimit.Concurrency, 3, 3, 7}.charge("", 2, 0), limit{ratelimit.Concurrency, 3, 3, 7}.charge("", 2, 1)},
		"more hits than fit":   {limit{ratelimit.Concurrency, 3, 3, 7e6}.charge("", 1<<62, now), limit{ratelimit.SlidingWindow, 3, 3, 7e6}.charge("", 1<<62, now)},
	} {
		t.Run(name, func(t *testing.T) {
			inHurry(t, func(key string) error {
				states := make(map[ratelimit.Algorithm]*ratelimit.State)
				for _, charge := range charges {
					a := charge.Algorithm
					charge.Key = []byte(key + a.String())
					if states[a] == nil {
						states[a] = new(ratelimit.State)
					}
					for _, back := range []bool{false, true, false} {
						charge.Refund = back
						if err := compareCharges(t.Context(), store, []ratelimit.Charge{charge}, states[a]); err != nil {
							return err
						}
					}
				}
				return nil
			})
		})
	}
}

// testCharges makes thousands of random charges.
func testCharges(t *testing.T, store ratelimit.ChargeStore, sequences int) {
	t.Helper()
	if testing.Short() {
		sequences = (sequences + 3) / 4
	}
	for _, a := range chargingAlgorithms {
		for seed := range sequences {
			inHurry(t, func(key string) error {
				r := rand.New(rand.NewPCG(uint64(a), uint64(seed)))
				l := limit{a, 1 + r.Int64N(12), 1 + r.Int64N(20), []int64{7, 1e6, 60e6, 86_400e6}[r.IntN(4)]}
				if r.IntN(8) == 0 {
					l.rate, l.most = 1<<32-1-r.Int64N(3), 1<<32-1-r.Int64N(3)
					l.duration = 60e6
				}
				return compareWithApply(t.Context(), store, l, r, key)
			})
		}
	}
}

func TestCharges(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	testCharges(t, open(t, server.Addr, nil), 100)
	requireExpiries(t, server.Client())
}

// TestChargesAreMerged has calls wait for each other: they are one script call for each key, and
// each charge gets the result that it would have got alone.
func TestChargesAreMerged(t *testing.T) {
	server := redistest.Start(t, nil)
	for _, a := range chargingAlgorithms {
		store, first := frozenServerStore(t, server, oneConnection())
		const callers, limited = 40, 100
		l, now := limit{a, limited, limited, 70e6}, time.Now().UnixMicro()
		key, other := uniqueName(), uniqueName()
		calls := make([][]ratelimit.Charge, callers)
		var all sync.WaitGroup
		for i := range calls {
			calls[i] = []ratelimit.Charge{l.charge(key, 3, now), l.charge(other, 1, now), l.charge(key, 0, now)}
			all.Go(func() {
				if err := store.Charge(t.Context(), calls[i]); err != nil {
					t.Error(err)
				}
			})
		}
		require.Eventually(t, func() bool { return store.Waiting() == callers }, testTimeout, time.Millisecond)
		server.Thaw()
		all.Wait()
		require.NoError(t, <-first)
		require.Equal(t, 2, commandCalls(t, server.Client(), "eval"), "one for each key: the server did not know the script")
		require.NoError(t, server.Client().ConfigResetStat(t.Context()).Err())

		slices.SortFunc(calls, func(x, y []ratelimit.Charge) int {
			if c := slices.Compare(x[0].State[:], y[0].State[:]); c != 0 || x[0].Allowed == y[0].Allowed {
				return c
			} else if x[0].Allowed {
				return -1
			}
			return 1
		})
		var state ratelimit.State
		for i, call := range calls {
			want := l.charge(key, 3, now)
			want.Apply(&state)
			require.Equal(t, want, call[0], i)
			require.Equal(t, call[0].State, call[2].State, "a call charges, and reads that")
			require.True(t, call[1].Allowed)
		}
		require.NoError(t, store.Close())
	}
}

// TestChargeExpiry checks how long states live: as long as they are of use, and some seconds.
func TestChargeExpiry(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	for _, a := range chargingAlgorithms {
		key := uniqueName()
		charges := []ratelimit.Charge{limit{a, 10, 10, 3600e6}.charge(key, 5, time.Now().UnixMicro())}
		for _, back := range []bool{false, true} {
			charges[0].Refund = back
			asked := time.Now()
			require.NoError(t, store.Charge(t.Context(), charges))
			left := client.PTTL(t.Context(), key).Val()
			of := time.Duration(charges[0].Expires()-charges[0].Now) * time.Microsecond
			require.LessOrEqual(t, left, of+3*time.Second, "%v, back: %v", a, back)
			require.GreaterOrEqual(t, left+time.Since(asked), of+2*time.Second-10*time.Millisecond, "%v, back: %v", a, back)
		}
	}
}

// TestChargeKeepsLongerExpiry has an instance charge whose clock is late: the state of the other
// one must live as long as that has said.
func TestChargeKeepsLongerExpiry(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	for _, a := range chargingAlgorithms {
		key, now := uniqueName(), time.Now().UnixMicro()
		l := limit{a, 10, 10, 3600e6}
		ahead := []ratelimit.Charge{l.charge(key, 5, now+1800e6), l.charge(key, 1, now)}
		require.NoError(t, store.Charge(t.Context(), ahead[:1]))
		before := client.PTTL(t.Context(), key).Val()
		require.NoError(t, store.Charge(t.Context(), ahead[1:]))
		require.Greater(t, client.PTTL(t.Context(), key).Val(), before-time.Minute, a)
	}
}

// TestChargesOfClockAhead has hits from a clock that is ahead: no state lives longer than three windows, however
// long that is, and permits that are not released expire although others are acquired and released.
func TestChargesOfClockAhead(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	for _, a := range chargingAlgorithms {
		for _, duration := range []int64{1e6, 60e6, 3600e6} {
			for _, ahead := range []int64{duration / 2, duration, 3 * duration / 2, 3 * duration, 86_400e6} {
				key, now, l := uniqueName(), time.Now().UnixMicro(), limit{a, 10, 10, duration}
				left := func() time.Duration {
					ttl := client.PTTL(t.Context(), key).Val()
					require.LessOrEqual(t, ttl, 3*micros(duration), "%v: %v ahead", a, micros(ahead))
					require.Positive(t, ttl)
					return ttl
				}
				require.NoError(t, store.Charge(t.Context(), []ratelimit.Charge{l.charge(key, 9, now+ahead)}))
				before := left()
				charges := []ratelimit.Charge{l.charge(key, 1, now)}
				require.NoError(t, store.Charge(t.Context(), charges))
				require.True(t, charges[0].Allowed || ahead <= 2*duration, "%v: %v ahead", a, micros(ahead))
				if after := left(); a == ratelimit.Concurrency && ahead > 2*duration {
					require.LessOrEqual(t, after, before)
				}
			}
		}
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// TestStatesOfOlderVersions reads what versions wrote that kept the state of one clock.
func TestStatesOfOlderVersions(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	const now = 1_800_000_000_000_000
	for a, text := range map[ratelimit.Algorithm]string{
		ratelimit.SlidingWindow: "1800000000000000 8 0",
		ratelimit.TokenBucket:   "1800000048000000",
		ratelimit.Concurrency:   strconv.Itoa(now/(60_000_000/7)) + " 8 0 0 0 0 0 0 0",
	} {
		key, l := uniqueName(), limit{a, 10, 10, 60e6}
		require.NoError(t, client.Set(t.Context(), key, text, time.Minute).Err())
		charges := []ratelimit.Charge{l.charge(key, 3, now), l.charge(key, 2, now), l.charge(key, 1, now)}
		require.NoError(t, store.Charge(t.Context(), charges))
		require.Equal(t, []bool{false, true, false}, []bool{charges[0].Allowed, charges[1].Allowed, charges[2].Allowed}, a)
		require.Len(t, strings.Fields(client.Get(t.Context(), key).Val()), len(strings.Fields(text)), "older versions can read it")
	}
}

func TestChargeFromForeignKey(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	require.NoError(t, client.Set(t.Context(), "text", "12 or so", 0).Err())
	require.NoError(t, client.RPush(t.Context(), "list", "1").Err())
	for _, a := range chargingAlgorithms {
		good := []ratelimit.Charge{limit{a, 10, 10, 3600e6}.charge("good"+a.String(), 1, 1e15)}
		for key, want := range map[string]string{"text": "not the state", "list": "WRONGTYPE"} {
			charges := []ratelimit.Charge{limit{a, 10, 10, 3600e6}.charge(key, 1, 1e15), good[0]}
			err := store.Charge(t.Context(), charges)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, fmt.Sprintf("(key %q)", key))
			require.ErrorContains(t, err, server.Addr)
			require.NotErrorIs(t, err, errors.ErrUnsupported)
		}
		require.NoError(t, store.Charge(t.Context(), good))
		require.Zero(t, store.Stats().Suspensions)
	}
	for key, want := range map[string]string{"text": "not a counter", "list": "WRONGTYPE"} {
		for _, n := range []uint64{0, 1} {
			err := store.Subtract(t.Context(), []ratelimit.Hit{{Key: []byte(key), N: n}})
			require.ErrorContains(t, err, want)
		}
	}
	require.ErrorContains(t, store.Charge(t.Context(), make([]ratelimit.Charge, 1)), "fixed_window")
}

// TestScriptsRefused uses servers that do not let scripts run: only what needs them fails.
func TestScriptsRefused(t *testing.T) {
	t.Parallel()
	renamed := func(commands ...string) (opts redistest.Options) {
		for _, c := range commands {
			opts.Args = append(opts.Args, "--rename-command", c, "")
		}
		return opts
	}
	for name, opts := range map[string]redistest.Options{
		"ACL":               {Password: "nobody's", Users: []string{"alice on >secret ~* +@all -@scripting"}},
		"ACL within script": {Password: "nobody's", Users: []string{"alice on >secret ~* +@all -set -decrby"}},
		"ACL without EVAL":  {Password: "nobody's", Users: []string{"alice on >secret ~* +@all -eval"}},
		"renamed":           renamed("eval", "evalsha", "script"),
		"renamed EVAL":      renamed("eval"),
		"renamed GET":       renamed("get"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, &opts)
			store := open(t, server.Addr, &redisstore.Options{})
			if opts.Users != nil {
				store = open(t, server.Addr, &redisstore.Options{Auth: "alice:secret"})
			}
			h := hit(uniqueName(), 3)
			require.EqualValues(t, 3, add(t, store, h))
			for range 2 {
				err := store.Subtract(t.Context(), []ratelimit.Hit{h})
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.ErrorContains(t, err, server.Addr)
				err = store.Charge(t.Context(), []ratelimit.Charge{limit{ratelimit.TokenBucket, 1, 1, 1e6}.charge(uniqueName(), 1, 1e15)})
				require.ErrorIs(t, err, errors.ErrUnsupported)
			}
			require.NoError(t, store.Charge(t.Context(), nil), "that does not ask the server")
			require.EqualValues(t, 6, add(t, store, h))
			require.Zero(t, store.Stats().Suspensions)
		})
	}
}

func TestChargeAfterScriptFlush(t *testing.T) {
	server := redistest.Start(t, nil)
	store, client := open(t, server.Addr, nil), server.Client()
	slots := limit{ratelimit.Concurrency, 10, 10, 3600e6}
	h, key := hit(uniqueName(), 1), uniqueName()
	require.EqualValues(t, 1, add(t, store, h))
	for range 3 {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		charges := []ratelimit.Charge{slots.charge(key, 4, 1e15), slots.charge(key, 4, 1e15), slots.charge(key, 4, 1e15), slots.charge(key, 8, 1e15)}
		charges[3].Refund = true
		require.NoError(t, store.Charge(t.Context(), charges))
		require.Equal(t, []bool{true, true, false, true}, []bool{charges[0].Allowed, charges[1].Allowed, charges[2].Allowed, charges[3].Allowed})
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		hits := []ratelimit.Hit{h, h}
		hits[1].N = 0
		require.NoError(t, store.Subtract(t.Context(), hits))
		require.Zero(t, hits[0].Count+hits[1].Count)
		require.EqualValues(t, 1, add(t, store, h))
	}
	requireExpiries(t, client)
}

// TestSubtractionsAreMerged subtracts from one counter in several calls that wait for each
// other, beside calls that add to it.
func TestSubtractionsAreMerged(t *testing.T) {
	server := redistest.Start(t, nil)
	store, first := frozenServerStore(t, server, oneConnection())
	const callers = 20
	h, large := hit(uniqueName(), 1), hit(uniqueName(), 3)
	before := []ratelimit.Hit{h, large}
	before[0].N, before[1].N = 30, 1<<63-1
	counts := make(chan uint64, callers)
	var all sync.WaitGroup
	all.Go(func() {
		if err := store.Add(t.Context(), before); err != nil {
			t.Error(err)
		}
	})
	require.Eventually(t, func() bool { return store.Waiting() == 1 }, testTimeout, time.Millisecond)
	for range callers {
		all.Go(func() {
			hits := []ratelimit.Hit{h, large, hit("none"+string(h.Key), 1)}
			if err := store.Subtract(t.Context(), hits); err != nil || hits[2].Count != 0 {
				t.Error(hits[2].Count, err)
			}
			counts <- hits[0].Count
		})
	}
	require.Eventually(t, func() bool { return store.Waiting() == 1+callers }, testTimeout, time.Millisecond)
	server.Thaw()
	all.Wait()
	require.NoError(t, <-first)
	close(counts)
	left := slices.Sorted(func(yield func(uint64) bool) {
		for n := range counts {
			yield(n)
		}
	})
	for i, n := range left {
		require.EqualValues(t, 10+i, n)
	}
	require.EqualValues(t, uint64(1<<63-1-3*callers), add(t, store, numbered(large, 0)), "counts are exact beyond 2^53")
	require.Equal(t, 3, commandCalls(t, server.Client(), "eval"), "one for each counter")
	require.Zero(t, server.Client().Exists(t.Context(), "none"+string(h.Key)).Val(), "a subtraction creates nothing")
	requireExpiries(t, server.Client())
}

// numbered returns the hit with another number.
func numbered(h ratelimit.Hit, n uint64) ratelimit.Hit {
	h.N = n
	return h
}

// charger counts hits in sliding windows without an end.
type charger struct{ ratelimit.ChargeStore }

// Add implements ratelimit.Store.
func (s charger) Add(ctx context.Context, hits []ratelimit.Hit) error {
	charges := make([]ratelimit.Charge, len(hits))
	for i, h := range hits {
		charges[i] = limit{ratelimit.SlidingWindow, 1 << 31, 1, 1e15}.charge("take"+string(h.Key), int64(h.N), started.UnixMicro())
	}
	err := s.Charge(ctx, charges)
	for i := range hits {
		hits[i].Count = uint64(charges[i].State[1])
	}
	return err
}
