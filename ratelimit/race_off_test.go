//go:build !race

package ratelimit_test

// raceDetector reports whether the race detector is on, which allocates itself.
const raceDetector = false
