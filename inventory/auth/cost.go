package auth

import "fmt"

// Cost is what it takes to hash a password with Argon2id.
type Cost struct {
	Memory      uint32 // KiB, 8 times Parallelism to MaxMemory
	Time        uint32 // passes over the memory, 1 to MaxTime; times Memory at most MaxWork
	Parallelism uint8  // lanes, 1 to MaxParallelism
}

// DefaultCost is one of the settings that OWASP advises: 19 MiB, two passes, one
// lane. A hash takes some 20 to 40 ms with it.
func DefaultCost() Cost { return Cost{Memory: 19 << 10, Time: 2, Parallelism: 1} }

// fault is what is wrong with c, "" if nothing is.
func (c Cost) fault() string {
	switch {
	case c.Parallelism < 1 || c.Parallelism > MaxParallelism:
		return fmt.Sprintf("parallelism of %d: want 1 to %d lanes", c.Parallelism, MaxParallelism)
	case c.Memory < 8*uint32(c.Parallelism) || c.Memory > MaxMemory:
		// RFC 9106, 3.1 has the lower bound.
		return fmt.Sprintf("memory of %d: want %d to %d KiB", c.Memory, 8*uint32(c.Parallelism), MaxMemory)
	case c.Time < 1 || c.Time > MaxTime:
		return fmt.Sprintf("time of %d: want 1 to %d passes", c.Time, MaxTime)
	case uint64(c.Time)*uint64(c.Memory) > MaxWork:
		return fmt.Sprintf("%d passes over %d KiB: want at most %d KiB in all", c.Time, c.Memory, MaxWork)
	}
	return ""
}
