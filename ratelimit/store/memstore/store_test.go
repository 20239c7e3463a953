package memstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

var (
	_ ratelimit.ConditionalStore = (*memstore.Store)(nil)
	_ ratelimit.SubtractStore    = (*memstore.Store)(nil)
)

func TestStore(t *testing.T) {
	clock := storetest.NewClock()
	opts := &storetest.Options{Subtracts: true, Charges: true, Ledgers: true, Clock: clock, MaxCount: 1 << 62}
	for _, shards := range []int{0, 1, 16} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			storetest.Run(t, func(*testing.T) ratelimit.Store {
				return memstore.MustNew(&memstore.Options{Shards: shards, Now: clock.Now})
			}, opts)
		})
	}
}

// TestStoreWithItsOwnClock runs the suite with the current time.
func TestStoreWithItsOwnClock(t *testing.T) {
	storetest.Run(t, func(*testing.T) ratelimit.Store { return memstore.MustNew(nil) }, &storetest.Options{Subtracts: true, Charges: true, Ledgers: true, MaxCount: 1 << 62})
}

func hit(key string, n uint64, unit ratelimit.Unit, now int64) ratelimit.Hit {
	return ratelimit.Hit{Key: []byte(key), N: n, Limit: 100, Unit: unit, Window: unit.Window(now)}
}

// add counts one hit and returns the count.
func add(store *memstore.Store, h ratelimit.Hit) uint64 {
	hits := []ratelimit.Hit{h}
	if err := store.Add(context.Background(), hits); err != nil {
		panic(err) // the store never returns one
	}
	return hits[0].Count
}

const noon = 1_700_049_600 // a Wednesday, 12:00:00 UTC

// atNoon is a fixed clock: no window ends during a test, even on a slow machine.
func atNoon() time.Time { return time.Unix(noon, 0) }

func TestExtremeOptionsAreMadeGood(t *testing.T) {
	for _, opts := range []*memstore.Options{
		nil,
		{},
		{MaxBytes: 1},
		{MaxBytes: 1 << 62, Shards: 3},
		{MaxBytes: 200_000, Shards: 1 << 30},
		{Shards: 1 << 30},
	} {
		store := memstore.MustNew(opts)
		now := time.Now().Unix()
		for want := range uint64(3) {
			if got := add(store, hit("key", 1, ratelimit.Year, now)); got != want+1 {
				t.Errorf("with the options %+v hit %d was counted as %d", opts, want+1, got)
			}
		}
		if stats := store.Stats(); stats.Keys != 1 {
			t.Errorf("with the options %+v one counter makes the statistics %+v", opts, stats)
		}
	}
}

func TestLongKeysTakeLittleMemory(t *testing.T) {
	scaletest.Unraced(t)
	store := memstore.MustNew(&memstore.Options{Now: atNoon})
	before := store.Stats().Bytes
	for i := range 1000 {
		add(store, hit(strings.Repeat("k", 100_000)+fmt.Sprint(i), 1, ratelimit.Day, noon))
	}
	stats := store.Stats()
	if each := (stats.Bytes - before) / 1000; stats.Keys != 1000 || each > 64 {
		t.Errorf("1,000 keys of 100 KB: %+v, %d bytes each; want 1,000 keys of 64 bytes at most", stats, each)
	}
}

func TestWindowsAreFreedByAnyTraffic(t *testing.T) {
	now := int64(noon)
	store := memstore.MustNew(&memstore.Options{Now: func() time.Time { return time.Unix(now, 0) }})
	empty := store.Stats()
	for i := range 10_000 {
		add(store, hit(fmt.Sprint(i), 1, ratelimit.Minute, now))
	}
	now += 62
	for range 64 {
		add(store, hit("the only key that is still in use", 1, ratelimit.Hour, now))
	}
	if stats := store.Stats(); stats.Keys != 1 || stats.Bytes > empty.Bytes+10_000 {
		t.Errorf("two seconds after their window 10,000 counters leave %+v, want one key and about %d bytes", stats, empty.Bytes)
	}
}

func TestTrimFreesAllThatIsOver(t *testing.T) {
	store := memstore.MustNew(&memstore.Options{Now: atNoon})
	empty := store.Stats()
	for i := range 1000 {
		add(store, hit(fmt.Sprint(i), 1, ratelimit.Second, noon))
		add(store, hit(fmt.Sprint(i), 1, ratelimit.Hour, noon))
	}
	for _, step := range []struct{ after, keys int }{{0, 2000}, {2, 2000}, {3, 1000}, {3601, 1000}, {3602, 0}} {
		store.Trim(time.Unix(noon+int64(step.after), 0))
		if got := store.Stats().Keys; got != step.keys {
			t.Errorf("%d seconds after the windows began there are %d counters, want %d", step.after, got, step.keys)
		}
	}
	store.Trim(time.Unix(noon+3700, 0))
	if got := store.Stats(); got != empty {
		t.Errorf("after all windows are over the store holds %+v, want %+v as when it was new", got, empty)
	}
}

// TestLateFirstHit counts in windows that ended before their first hit, as happens if the
// engine and the store have different clocks.
func TestLateFirstHit(t *testing.T) {
	now := int64(noon)
	store := memstore.MustNew(&memstore.Options{Shards: 1, Now: func() time.Time { return time.Unix(now, 0) }})
	for want := range uint64(100) {
		if got := add(store, hit("late", 1, ratelimit.Second, noon-86400)); got != want+1 {
			t.Fatalf("hit %d of a window long past was counted as %d", want+1, got)
		}
		now += int64(want % 2)
	}
}

// TestArbitraryWindows counts in windows of arbitrary times: the store must stay small, and
// count exactly in the windows of its own clock.
func TestArbitraryWindows(t *testing.T) {
	store := memstore.MustNew(&memstore.Options{Shards: 1, Now: atNoon})
	for i := range int64(5000) {
		nowhere := hit("nowhere", 1, ratelimit.Unit(i%9), noon)
		nowhere.Window = i * i * i * 1_000_003 * (1 - 2*(i%2))
		if i%3 == 0 {
			nowhere.Length = uint32(1 + i*i*7919%ratelimit.MaxWindow)
		}
		add(store, nowhere)
		for _, length := range []int64{7, 90, 900, 90_000, 31 * 86400, ratelimit.MaxWindow} {
			h := hit(fmt.Sprint(length), 1, ratelimit.Second, noon-length/2)
			h.Length = uint32(length)
			if got := add(store, h); got != uint64(i+1) {
				t.Fatalf("hit %d of a window of %d s was counted as %d", i+1, length, got)
			}
		}
		for unit := ratelimit.Second; unit.Valid(); unit++ {
			if got := add(store, hit(unit.String(), 1, unit, noon)); got != uint64(i+1) {
				t.Fatalf("hit %d of this %v was counted as %d", i+1, unit, got)
			}
		}
	}
	if stats := store.Stats(); stats.Keys > 80 || stats.Bytes > 64<<10 {
		t.Errorf("5,000 windows from nowhere left %+v, want 80 keys and 64 KiB at most", stats)
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	store := memstore.MustNew(nil)
	now := time.Now().Unix()
	hits := make([]ratelimit.Hit, 8)
	for i := range hits {
		hits[i] = hit(fmt.Sprintf("key%d", i), 1, ratelimit.Year, now)
	}
	hits[7].Key = []byte(strings.Repeat("long", 1000))
	ctx := context.Background()
	for name, call := range map[string]func(context.Context, []ratelimit.Hit) error{
		"Add": store.Add, "AddUnlessOver": store.AddUnlessOver,
	} {
		// More calls than between two reads of the clock.
		if n := testing.AllocsPerRun(1000, func() { _ = call(ctx, hits) }); n != 0 {
			t.Errorf("%s of %d hits allocates %v times, want 0", name, len(hits), n)
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, o := range []memstore.Options{{WhenFull: "evict"}, {MaxBytes: -1}, {Shards: -1}} {
		if _, err := memstore.New(&o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
