//go:build race

package manifest_test

// The size of a pathological document, and how many times as long as decoding a usual one it
// may take. With the race detector, the worst takes about 15 times as long, sometimes 30 on a
// busy machine.
const (
	pathological = 1 << 17
	slowest      = 60
)
