// Package deploytest tests the files for operators: the pages OPERATIONS.md, and the units, manifests,
// Dockerfiles, alert rules, dashboards and compose files. The package has no other code.
//
// # Design notes
//
// Files are checked by the tools that read them: systemd-analyze, promtool, Envoy, the parser of
// docker compose, and the schemas of Kubernetes. Settings are parsed by our programs, and metrics are
// looked up in those of a running server. Only what no tool knows is checked here: hardening, ports,
// and that names on the pages exist.
package deploytest
