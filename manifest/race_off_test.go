//go:build !race

package manifest_test

// A pathological document of so many bytes may take so many times as long as decoding a
// usual one; the worst takes about 5 times as long, on a busy machine now and then 8.
const (
	pathological = 1 << 20
	slowest      = 30
)
