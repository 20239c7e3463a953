package localcache_test

import (
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/localcache"
)

func TestStats(t *testing.T) {
	const start = 1_700_000_000
	c, pass := newCache(t, 1<<20)
	if s := c.Stats(); s != (localcache.Stats{}) {
		t.Fatalf("of a new cache: %+v", s)
	}
	a, b := []byte("a"), []byte("bb")
	c.Add(a, time.Hour)
	c.Add(b, time.Hour)
	c.Add(b, time.Hour)
	c.Contains(a)
	c.Contains(a)
	c.Contains([]byte("c"))
	want := localcache.Stats{
		EntryCount: 2, HitCount: 2, MissCount: 1, LookupCount: 3, OverwriteCount: 1,
		AverageAccessTime: start, Bytes: 3 + 2*localcache.Overhead,
	}
	if s := c.Stats(); s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}

	pass(10 * time.Second)
	c.Contains(a)
	c.Contains(a)
	if s := c.Stats(); s.AverageAccessTime != start+5 {
		t.Errorf("one of two seen 10 s later: mean at start%+d, want start+5", s.AverageAccessTime-start)
	}
	pass(10 * time.Second)
	c.Add(b, time.Hour)
	if s := c.Stats(); s.AverageAccessTime != start+15 {
		t.Errorf("the other added again at 20 s: mean at start%+d, want start+15", s.AverageAccessTime-start)
	}
}

func TestStatsTellWhyEntriesWent(t *testing.T) {
	c, pass := newCache(t, localcache.MinSize)
	flood(c, 10_000, 40)
	s := c.Stats()
	if s.EvacuateCount == 0 || s.ExpiredCount != 0 || s.EntryCount+s.EvacuateCount != 10_000 {
		t.Errorf("after a flood: %+v", s)
	}
	pass(2 * time.Hour)
	held := s.EntryCount
	s = c.Stats()
	if s.ExpiredCount != held || s.EntryCount != 0 || s.AverageAccessTime != 0 {
		t.Errorf("%d entries were held; once their time is up: %+v", held, s)
	}
}
