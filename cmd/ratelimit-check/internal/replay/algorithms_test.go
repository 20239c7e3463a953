package replay_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// lineAt is a line of a client so many milliseconds after midnight.
func lineAt(client string, ms int) string {
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	return fmt.Sprintf(`{"time":%q,"client":%q}`+"\n", at.Format("2006-01-02T15:04:05.000Z"), client)
}

func TestAlgorithms(t *testing.T) {
	for _, c := range []struct {
		limit  ratelimit.Limit
		text   string
		times  []int // ms
		over   uint64
		first  string
		caveat string
	}{
		{
			limit: ratelimit.Limit{RequestsPerUnit: 60, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket, Burst: 2},
			text:  "60/minute, burst 2",
			times: []int{0, 100, 200, 999, 1000, 1001, 2000, 10_000, 10_000, 10_000},
			over:  4, first: "00:00:00", caveat: "fixed windows only",
		},
		{
			limit: ratelimit.Limit{RequestsPerUnit: 4, Unit: ratelimit.Second, UnitMultiplier: 10, Algorithm: ratelimit.SlidingWindow},
			text:  "4/10 seconds sliding",
			// The four count as 4 at 10 s, as 3 at 12.5 s, and as 2 at 15 s.
			times: []int{5000, 6000, 7000, 8000, 10_000, 12_500, 12_600, 15_000, 15_100},
			over:  3, first: "00:00:10", caveat: "fixed windows only",
		},
		{
			limit: ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Hour, Algorithm: ratelimit.Concurrency},
			text:  "1 at the same time", times: []int{0, 0, 0},
			caveat: "at the same time refuse none",
		},
	} {
		t.Run(c.limit.Algorithm.String(), func(t *testing.T) {
			log := ""
			for _, ms := range c.times {
				log += lineAt("a", ms)
			}
			for _, shadow := range []bool{false, true} {
				r := run(t, log+lineAt("b", c.times[len(c.times)-1]), compile(t, ratelimit.Rule{Key: "client", ShadowMode: shadow, Limit: &c.limit}), nil)
				rule := r.Result.Rules[0]
				assert.Equal(t, c.over, rule.OverLimit)
				if !shadow {
					assert.Equal(t, c.over, r.Result.Refused)
				}
				assert.EqualValues(t, len(c.times)+1, rule.Requests)
				assert.Zero(t, rule.SmallestLimit)
				assert.Equal(t, []string{"client=a", "client=b"}, names(rule.Keys))
				assert.EqualValues(t, len(c.times), rule.Keys[0].Requests)
				var text bytes.Buffer
				require.NoError(t, r.WriteText(&text, false))
				assert.Contains(t, text.String(), " "+c.text+" ")
				assert.Contains(t, text.String(), c.caveat)
				if c.over > 0 {
					assert.Equal(t, c.first, rule.FirstOver.Format(time.TimeOnly))
					assert.Contains(t, text.String(), "client"+map[bool]string{true: " (shadow mode)"}[shadow]+": "+c.text+"\n")
				}
			}
		})
	}
}

// States are bounded like counters, and those that have expired make room.
func TestStatesAreBounded(t *testing.T) {
	bucket := ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket}
	rules := compile(t, ratelimit.Rule{Key: "client", Limit: &bucket})
	replayed := func(apart int) replay.Result {
		var log strings.Builder
		for i := range 5000 {
			log.WriteString(lineAt(fmt.Sprint("c", i), i*apart))
		}
		log.WriteString(lineAt("c4999", 4999*apart))
		return run(t, log.String(), rules, &replay.Options{MaxCounters: 1200}).Result
	}
	all := replayed(1)
	assert.Greater(t, all.CountersDropped, uint64(3000), "1,200 states at most")
	assert.Less(t, all.CountersDropped, uint64(5000))
	assert.EqualValues(t, 1, all.Refused, "the newest state is kept")
	apart := replayed(2000)
	assert.Zero(t, apart.CountersDropped, "states expire after 16 minutes, or 480 lines")
	assert.EqualValues(t, 1, apart.Refused)
}
