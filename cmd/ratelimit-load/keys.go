package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// zipfExponent is the s of the zipf distribution: key k is asked for in
// proportion to 1/(1+k)^s. Popularity on the web and in caches is found between
// 0.6 and 1.2; the generator needs s > 1.
const zipfExponent = 1.1

// A picker chooses which of the prepared requests the call with this ticket
// sends. Pickers belong to one worker.
type picker func(ticket uint64) int

// distributions lists the names that newPicker knows.
func distributions() []string { return []string{"uniform", "zipf", "hot", "sequence"} }

func checkDistribution(name string) error {
	if slices.Contains(distributions(), name) {
		return nil
	}
	return fmt.Errorf("-distribution %q: unknown; want one of %s", name, strings.Join(distributions(), ", "))
}

// newPicker returns a picker of indexes from 0 to keys-1. The same seed and
// worker give the same choices, and different workers different ones; hot and
// sequence need no chance at all. The name has passed checkDistribution.
func newPicker(name string, keys int, seed uint64, worker int) picker {
	random := rand.New(rand.NewPCG(seed, uint64(worker)))
	switch name {
	case "zipf":
		zipf := rand.NewZipf(random, zipfExponent, 1, uint64(keys-1))
		return func(uint64) int { return int(zipf.Uint64()) }
	case "hot":
		return func(uint64) int { return 0 }
	case "sequence":
		return func(ticket uint64) int { return int(ticket % uint64(keys)) }
	default:
		return func(uint64) int { return random.IntN(keys) }
	}
}
