//go:build race

package manifest_test

import "time"

// A document of so many bytes may take so long. The race detector makes all slower.
const (
	pathological = 1 << 17
	slowest      = 300 * time.Millisecond
)
