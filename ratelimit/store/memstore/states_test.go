package memstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// bucket returns a charge of n tokens at a time after noon, from a bucket of 10 that a second
// refills by one.
func bucket(key string, n uint64, after time.Duration) ratelimit.Charge {
	return ratelimit.Charge{
		Key: []byte(key), Algorithm: ratelimit.TokenBucket, N: n, Now: (noon*1_000_000 + after.Microseconds()),
		Params: [6]int64{int64(n) * 1_000_000, 0, 10_000_000, 0, 1, 1_000_000},
	}
}

func charge(store *memstore.Store, t ratelimit.Charge) bool {
	all := []ratelimit.Charge{t}
	_ = store.Charge(context.Background(), all)
	return all[0].Allowed
}

// A flood of keys fills the store and leaves it within its memory. A state that ends late stays,
// unless nothing is dropped at all, and then new keys are refused or not counted.
func TestStatesFlood(t *testing.T) {
	scaletest.Unraced(t)
	keys := 60_000
	if testing.Short() {
		keys = 20_000
	}
	for _, whenFull := range allWhenFull {
		t.Run(string(whenFull), func(t *testing.T) {
			store := memstore.MustNew(&memstore.Options{MaxBytes: 1 << 20, Shards: 4, WhenFull: whenFull, Now: atNoon})
			for range 10 {
				if !charge(store, bucket("early", 1, 0)) {
					t.Fatal("refused within the limit")
				}
			}
			for i := range keys {
				charge(store, bucket(fmt.Sprint("flood", i), 1, 0))
				if flooded := store.Stats(); flooded.Bytes > 1<<20 {
					t.Fatalf("%d bytes in use after %d keys", flooded.Bytes, i)
				}
				if i%100 == 0 { // a client that comes again and again
					add(store, hit(fmt.Sprint("window", i), 1, ratelimit.Hour, noon))
				}
			}
			if charge(store, bucket("early", 1, 0)) {
				t.Error("the flood has filled the bucket of another key again")
			}
			if store.Stats().Overflow() == 0 {
				t.Error("the store does not tell that it is full")
			}
			if taken := charge(store, bucket("new", 1, 0)); taken != (whenFull != memstore.Deny) {
				t.Errorf("a new key: taken %v", taken)
			}
			// Two minutes later all buckets are full again, and their memory is free.
			store.Trim(time.Unix(noon+120, 0))
			if !charge(store, bucket("new", 1, 2*time.Minute)) {
				t.Error("a new key is refused when there is memory again")
			}
			if n := store.Stats().Keys; n > 1+600 {
				t.Errorf("%d keys after all have expired", n)
			}
		})
	}
}

// Limits of rules keep their states in a flood of keys of clients.
func TestStatesFixed(t *testing.T) {
	store := memstore.MustNew(&memstore.Options{MaxBytes: 1 << 17, Shards: 1, Now: atNoon})
	fixed := bucket("rule", 10, 0)
	fixed.Fixed = true
	charge(store, fixed)
	for i := range 60_000 {
		charge(store, bucket(fmt.Sprint("flood", i), 10, time.Second)) // which end later
	}
	fixed = bucket("rule", 5, time.Second)
	if charge(store, fixed) {
		t.Error("a flood has filled the bucket of a rule again")
	}
}

// BenchmarkTake is a decision with each algorithm, on existing keys.
func BenchmarkCharge(b *testing.B) {
	for a := ratelimit.FixedWindow; a <= ratelimit.Concurrency; a++ {
		b.Run(a.String(), func(b *testing.B) {
			e := ratelimit.MustNew(memstore.MustNew(nil), nil)
			limit := ratelimit.Limit{RequestsPerUnit: 1 << 30, Unit: ratelimit.Hour, Algorithm: a}
			if a == ratelimit.TokenBucket { // that does not fill between two decisions
				limit.RequestsPerUnit, limit.Burst, limit.Unit = 1<<20, 1<<26, ratelimit.Month
			}
			rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "domain", Rules: []ratelimit.Rule{{Key: "path", Limit: &limit}}}}, nil)
			if err != nil {
				b.Fatal(err)
			}
			e.Use(rules)
			requests := make([]ratelimit.Request, 10_000)
			for i := range requests {
				requests[i] = ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{
					{Entries: []ratelimit.Entry{{Key: "path", Value: fmt.Sprintf("value%05d", i*7919%len(requests))}}},
				}}
			}
			var d ratelimit.Decision
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := e.DecideInto(context.Background(), &requests[i%len(requests)], &d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// States that have expired make room for others without new memory, and none is lost when they do.
func TestExpiredStatesMakeRoom(t *testing.T) {
	scaletest.Unraced(t)
	const kept, keys, rounds = 40, 500, 20
	store := memstore.MustNew(&memstore.Options{Shards: 1, Now: atNoon})
	for i := range kept {
		if !charge(store, bucket(fmt.Sprint("kept", i), 10, 0)) {
			t.Fatal("refused within the limit")
		}
	}
	var size int64
	for i := range keys * rounds {
		brief := bucket(fmt.Sprint("brief", i), 1, time.Duration(i)*time.Microsecond)
		brief.Params = [6]int64{1, 0, 10, 0, 1, 1} // a token each microsecond
		if !charge(store, brief) {
			t.Fatalf("charge %d of another key was refused", i)
		}
		if i == keys {
			size = store.Stats().Bytes
		}
	}
	for i := range kept {
		if charge(store, bucket(fmt.Sprint("kept", i), 10, 20*time.Millisecond)) {
			t.Errorf("state %d was lost", i)
		}
	}
	if got := store.Stats().Bytes; got != size {
		t.Errorf("%d bytes after %d keys, %d after %d", size, keys, got, keys*rounds)
	}
	charges := []ratelimit.Charge{bucket("a key", 1, 0)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range keys * rounds {
		c := &charges[0]
		c.Key, c.N, c.Params = binary.AppendUvarint(c.Key[:0], uint64(i)), 1, [6]int64{1, 0, 10, 0, 1, 1}
		c.Now += 10
		_ = store.Charge(context.Background(), charges)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / (keys * rounds); n > 100 { // other tests allocate meanwhile
		t.Errorf("a charge allocates %d bytes", n)
	}
}
