//go:build !unix

package manifest_test

import "time"

var started = time.Now()

// processorTime returns the time that has passed, for systems without a count of processor time.
func processorTime() time.Duration { return time.Since(started) }
