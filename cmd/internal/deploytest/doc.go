// Package deploytest tests the files for operators: the pages OPERATIONS.md, and the units,
// manifests, Dockerfiles, alert rules, dashboards and compose files in the deploy directories. It also
// tests the issue forms and the pages in docs. The package has no other code.
//
//	go test ./cmd/internal/deploytest
//
// The tests check that every named setting, flag, file, make target, path, port and link target
// exists, that blocks of environment variables and limits load without errors and warnings, and that
// every metric and label occurs in a real scrape.
//
// # Design notes
//
// The tests use real tools where possible: promtool checks and runs the alert rules, systemd-analyze
// verifies the units, and servers are started and scraped. Files that need a container engine or a
// cluster are only parsed. Manifests are decoded into structs with the fields in use, so that a
// misspelled field is an error. The libraries that define all fields are larger than this module. The
// configuration of Envoy is decoded with Envoy's own types, which ratelimit/service needs anyway.
//
// Each check is a function that returns faults, and is tested with broken input.
//
// A small scanner extracts metric names from expressions; promtool checks their syntax.
package deploytest
