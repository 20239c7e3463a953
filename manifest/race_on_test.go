//go:build race

package manifest_test

// A pathological document of so many bytes may take so many times as long as decoding a
// usual one; with the race detector, the worst takes about 15 times as long, on a busy
// machine now and then 30.
const (
	pathological = 1 << 17
	slowest      = 60
)
