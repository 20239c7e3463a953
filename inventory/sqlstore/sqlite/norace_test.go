//go:build !race

package sqlite_test

// raced reports whether the race detector is on, which makes the driver about ten times slower.
const raced = false
