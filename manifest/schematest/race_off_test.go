//go:build !race

package schematest_test

// documents is how many generated documents are judged.
const documents = 100_000
