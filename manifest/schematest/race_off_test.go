//go:build !race

package schematest_test

// documents is the number of generated documents.
const documents = 100_000
