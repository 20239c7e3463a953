// Package certstest makes certificates for tests that speak TLS: an [Authority] made
// on the spot, and what it issues, as values and as files. Keys are new each time and
// certificates end after an hour, so nothing of it is of use elsewhere.
package certstest
