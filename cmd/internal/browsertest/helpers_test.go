package browsertest_test

import "time"

const (
	patience = time.Minute
	tick     = 10 * time.Millisecond
)
