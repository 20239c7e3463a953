package localcache_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/localcache"
)

var _ ratelimit.OverLimitCache = (*localcache.Cache)(nil)

func has(c *localcache.Cache, key []byte) bool {
	found, _ := c.Contains(key)
	return found
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newCache returns a cache and a function that advances its clock.
func newCache(t testing.TB, size int) (*localcache.Cache, func(time.Duration)) {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	c, err := localcache.New(size, &localcache.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return c, func(d time.Duration) { now = now.Add(d) }
}

func TestRemove(t *testing.T) {
	c, _ := newCache(t, localcache.MinSize)
	c.Add([]byte("a"), time.Minute)
	c.Add([]byte("b"), time.Minute)
	c.Remove([]byte("a"))
	c.Remove([]byte("unknown"))
	if has(c, []byte("a")) || !has(c, []byte("b")) {
		t.Errorf("after Remove(a): contains a %v, b %v; want false, true", has(c, []byte("a")), has(c, []byte("b")))
	}
}

func TestNewRefusesSizes(t *testing.T) {
	for _, size := range []int{0, -1, math.MinInt} {
		c, err := localcache.New(size, nil)
		if err == nil || c != nil {
			t.Fatalf("New(%d) = %v, %v; want an error", size, c, err)
		}
		for _, want := range []string{fmt.Sprint(size), "at least 1"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("New(%d): error %q does not say %q", size, err, want)
			}
		}
	}
}

func TestSmallSizesAreRaised(t *testing.T) {
	c, _ := newCache(t, 1)
	for i := range 1000 {
		c.Add(fmt.Appendf(nil, "key%d", i), time.Hour)
	}
	if s := c.Stats(); s.EntryCount != 1000 || s.Bytes > localcache.MinSize {
		t.Errorf("a cache of size 1 holds %d entries of %d bytes, want all 1000 within MinSize", s.EntryCount, s.Bytes)
	}
}

func TestContains(t *testing.T) {
	c, _ := newCache(t, 1<<20)
	keys := []string{"", "a", "a\x00", "domain_key_value_1700000000", "\xff\xfe", strings.Repeat("k", 1000)}
	for i, key := range keys {
		if has(c, []byte(key)) {
			t.Errorf("%.20q is there before it was added", key)
		}
		c.Add([]byte(key), time.Minute)
		for _, other := range keys[:i+1] {
			if !has(c, []byte(other)) {
				t.Errorf("%.20q is missing after %.20q was added", other, key)
			}
		}
	}
	if has(c, nil) != has(c, []byte{}) {
		t.Error("nil and the empty key are different")
	}
}

// The keys of the engine are in a buffer that the next decision overwrites.
func TestKeysAreCopied(t *testing.T) {
	c, _ := newCache(t, 1<<20)
	buf := []byte("key1")
	c.Add(buf, time.Minute)
	copy(buf, "key2")
	if has(c, buf) {
		t.Error("the key changed with the buffer of the caller")
	}
	if !has(c, []byte("key1")) {
		t.Error("the key is lost after a change of the buffer of the caller")
	}
	for i := range 10_000 { // look-ups of which something might be kept
		has(c, fmt.Appendf(buf[:0], "%4d", i%7))
	}
	if s := c.Stats(); s.EntryCount != 1 {
		t.Errorf("%d entries after looking up others, want 1", s.EntryCount)
	}
}

func TestExpiry(t *testing.T) {
	c, pass := newCache(t, 1<<20)
	short, long := []byte("short"), []byte("long")
	c.Add(short, time.Second)
	c.Add(long, 365*24*time.Hour)

	pass(time.Second - 1)
	if !has(c, short) {
		t.Error("expired a nanosecond early")
	}
	pass(1)
	if has(c, short) {
		t.Error("still found after its expiry")
	}
	pass(365*24*time.Hour - time.Second - 1)
	if !has(c, long) {
		t.Error("an entry for a year expired early")
	}
	pass(1)
	if has(c, long) {
		t.Error("an entry for a year is found after the year")
	}
	pass(time.Minute)
	if s := c.Stats(); s.EntryCount != 0 || s.Bytes != 0 || s.ExpiredCount != 2 {
		t.Errorf("after all have expired: %+v", s)
	}
}

func TestAddAgainRenews(t *testing.T) {
	c, pass := newCache(t, 1<<20)
	key := []byte("key")
	c.Add(key, time.Minute)
	pass(40 * time.Second)
	c.Add(key, time.Minute)
	pass(40 * time.Second)
	if !has(c, key) {
		t.Error("adding again did not renew the ttl")
	}
	c.Add(key, time.Second)
	pass(time.Second)
	if has(c, key) {
		t.Error("adding again with a shorter ttl did not shorten it")
	}
}

func TestOddTimes(t *testing.T) {
	c, pass := newCache(t, 1<<20)
	for _, ttl := range []time.Duration{0, -1, math.MinInt64} {
		c.Add([]byte("never"), ttl)
		if has(c, []byte("never")) {
			t.Errorf("stored for %v", ttl)
		}
	}
	c.Add([]byte("ever"), math.MaxInt64)
	pass(10 * 365 * 24 * time.Hour)
	if !has(c, []byte("ever")) {
		t.Error("the maximum ttl expired within ten years")
	}
}

func TestDefaultClock(t *testing.T) {
	before := time.Now().Unix()
	c, err := localcache.New(1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Add([]byte("key"), time.Hour)
	c.Add([]byte("gone"), 1)
	if !has(c, []byte("key")) || has(c, []byte("gone")) {
		t.Error("the entry for an hour is missing, or that for a nanosecond is found")
	}
	if s := c.Stats(); s.AverageAccessTime < before || s.AverageAccessTime > time.Now().Unix() {
		t.Errorf("entries were last seen at %d, want now", s.AverageAccessTime)
	}
}
