// Package deploytest holds what operators copy to the programs that it is for: the pages
// OPERATIONS.md beside them, and the units, manifests, Dockerfiles, alert rules and
// dashboards under their directories deploy. It has no code of its own.
//
//	go test ./cmd/internal/deploytest
//
// Every variable and every flag that is named there is one of the program, every block of
// environment is read without an error or a warning, every block of limits loads, every
// command names files, targets, paths and ports that exist, and every link leads somewhere.
// Every metric and label is one of a real scrape.
//
// # Design notes
//
// What can be asked of the real thing is asked of it: promtool checks the rules and plays
// the alerts through, systemd-analyze verifies the units, servers are started and scraped.
// What needs a container engine or a cluster is read instead. Manifests are decoded into
// structs of our own that know the fields which are in use, and no others: a misspelled
// field is an error, and a new one is a line here. The libraries that know all fields are
// larger than this module.
//
// Each check is a function that returns faults, and is shown broken input too. A check of
// documents that never fails looks just like one that passes.
//
// Names of metrics are taken out of expressions by a small scanner and not by a parser. It
// has to tell names from keywords; whether the rest is an expression, promtool says.
package deploytest
