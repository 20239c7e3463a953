package tracing_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/tracing"
)

// A failing receiver is logged once a minute, and again when it recovers.
func TestFailingReceiverIsLogged(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := receive(t, protocol)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-user=hunt,x-api-key=hunter%202") // one is a prefix of the other
			var log logtest.Log
			var clock atomic.Int64
			failed := make(chan struct{}, 100) // receives a value when the clock is read
			tr := start(t, 1, &tracing.Options{Protocol: protocol, Log: log.Logger(), Now: func() time.Time {
				now := time.Unix(clock.Load(), 0)
				failed <- struct{}{}
				return now
			}})
			send := func() {
				_, end := tr.StartSpan(context.Background(), "s", nil)
				end(nil)
			}
			send()
			require.Eventually(t, func() bool { return r.requests() == 1 }, time.Minute, time.Millisecond)
			r.setRefuse("key hunter 2 is not known\n" + strings.Repeat("!", 10_000))
			for _, wait := range []int64{0, 0, 59, 1} { // seconds before each export
				clock.Add(wait)
				send()
				<-failed
			}
			r.setRefuse("")
			send()
			flush(t, tr)

			lines := slices.Collect(strings.Lines(log.String()))
			require.Len(t, lines, 3)
			assert.Contains(t, lines[0], "trace spans were not delivered")
			assert.Contains(t, lines[0], "key *** is not known")
			assert.Contains(t, lines[0], "lost=1")
			assert.Contains(t, lines[1], "lost=4")
			assert.Contains(t, lines[2], "delivered again")
			assert.Contains(t, lines[2], "lost=4")
			for _, line := range lines {
				assert.NotContains(t, line, "hunter")
				assert.Less(t, len(line), 1000)
			}
		})
	}
}
