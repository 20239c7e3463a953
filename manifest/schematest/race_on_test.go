//go:build race

package schematest_test

// documents is lower with the race detector, which slows the test and has no races to find.
const documents = 5_000
