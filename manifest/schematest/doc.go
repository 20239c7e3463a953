// Package schematest compares manifest.Validate with an independent JSON Schema validator
// that uses manifest.Schema: over the corpus, over documents that are generated from it
// and, with go test -fuzz, over the inputs of the fuzzer. It exports nothing.
//
// # Design notes
//
// The package is separate from manifest because of its requirement, which importers of
// manifest do not get: go mod tidy follows the tests of imported packages.
//
// The format "uri" of the independent validator is that of net/url, which accepts more than
// RFC 3986. It gets the grammar of the RFC as a regular expression instead, so that the
// hand-written check is compared with another implementation of the same source.
package schematest
