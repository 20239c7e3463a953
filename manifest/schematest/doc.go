// Package schematest holds what manifest.Validate says against what a JSON Schema
// validator of others says of manifest.Schema: over the corpus, over documents
// that are generated from it and, with go test -fuzz, over whatever fuzzing finds.
// There is nothing to import.
//
// # Design notes
//
// The package is apart from manifest for its requirement, which importers of
// manifest do not get: go mod tidy follows the tests of what is imported.
//
// The judge's own idea of format "uri" is that of net/url, which takes more than
// RFC 3986 has. It is given the grammar of the RFC as a regular expression instead,
// so that the hand-written check meets another reading of the same source.
package schematest
