package stats

import "sync/atomic"

// Gauge is a value that goes up and down, such as a number of connections. The zero
// value is ready to use.
type Gauge struct{ n atomic.Uint64 }

// Set replaces the value.
func (g *Gauge) Set(n uint64) { g.n.Store(n) }

// Add changes the value by n, which may be negative.
func (g *Gauge) Add(n int64) { g.n.Add(uint64(n)) }

// Load is the value.
func (g *Gauge) Load() uint64 { return g.n.Load() }
