package browsertest_test

import "time"

const (
	patience = 2 * time.Minute
	tick     = 10 * time.Millisecond
)
