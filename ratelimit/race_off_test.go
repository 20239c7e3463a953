//go:build !race

package ratelimit_test

// raceDetector says that the race detector is on: it allocates on its own.
const raceDetector = false
