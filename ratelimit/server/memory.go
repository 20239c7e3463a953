package server

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// openMemory opens a store in the memory of the process, with its statistics. Those of a
// fallback appear when it is in use.
func (s *Server) openMemory(fallback bool) (*memstore.Store, error) {
	store, err := memstore.New(&memstore.Options{MaxBytes: s.settings.EmbeddedMaxBytes, WhenFull: memstore.WhenFull(s.settings.EmbeddedWhenFull)})
	if err != nil {
		return nil, err
	}
	s.registry.Source(func(to stats.Reader) {
		const prefix = "ratelimit.embedded."
		m := store.Stats()
		if fallback && m.Keys == 0 && m.Overflow() == 0 {
			return
		}
		to.Gauge(prefix+"counters", uint64(max(m.Keys, 0)))
		to.Gauge(prefix+"bytes", uint64(max(m.Bytes, 0)))
		to.Counter(prefix+"evicted_counters", m.Evicted)
		to.Counter(prefix+"shared_hits", m.Shared)
		to.Counter(prefix+"uncounted_hits", m.Uncounted)
	})
	return store, nil
}

const (
	// memoryCheck is the interval of checks whether the memory is full.
	memoryCheck = time.Second
	// memoryLog limits how often a full memory is logged.
	memoryLog = time.Minute
)

// watchMemory logs and reports that the memory for counters is used up. The server stays
// healthy: if it did not, a client that invents keys could make all servers unhealthy.
func (s *Server) watchMemory(store *memstore.Store) func(context.Context) {
	report := s.AddComponent("embedded counters", true)
	var seen uint64
	var fullAt, loggedAt time.Time
	return every(memoryCheck, func(context.Context) {
		m, now := store.Stats(), time.Now()
		if n := m.Overflow(); n != seen {
			seen, fullAt = n, now
			if now.Sub(loggedAt) >= memoryLog {
				loggedAt = now
				s.log.Warn("memory for counters is full: raise EMBEDDED_MAX_BYTES, or limit clients that invent keys",
					"bytes", m.Bytes, "when_full", s.settings.EmbeddedWhenFull,
					"counters", m.Keys, "evicted_counters", m.Evicted, "shared_hits", m.Shared, "uncounted_hits", m.Uncounted)
			}
		}
		if fullAt.IsZero() || now.Sub(fullAt) > memoryLog {
			report(true, fmt.Sprintf("%d counters in %d bytes", m.Keys, m.Bytes))
			return
		}
		report(true, fmt.Sprintf("memory is full (EMBEDDED_MAX_BYTES, EMBEDDED_WHEN_FULL=%s): %d counters evicted, %d hits counted on shared counters, %d hits not counted",
			s.settings.EmbeddedWhenFull, m.Evicted, m.Shared, m.Uncounted))
	})
}
