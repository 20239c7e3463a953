//go:build !race

package manifest_test

// The size of a pathological document, and how many times as long as decoding a usual one it
// may take. The worst takes about 5 times as long, sometimes 8 on a busy machine.
const (
	pathological = 1 << 20
	slowest      = 30
)
