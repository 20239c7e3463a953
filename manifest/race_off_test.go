//go:build !race

package manifest_test

import "time"

// A document of so many bytes may take so long.
const (
	pathological = 1 << 20
	slowest      = 100 * time.Millisecond
)
