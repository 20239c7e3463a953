package browsertest_test

import "time"

const (
	timeout = 2 * time.Minute
	tick    = 10 * time.Millisecond
)
