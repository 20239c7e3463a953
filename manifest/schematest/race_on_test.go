//go:build race

package schematest_test

// documents are fewer under the race detector, which has nothing to find here.
const documents = 5_000
