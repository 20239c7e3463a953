// Package certstest creates certificates for tests of TLS: an [Authority] issues them as
// values and as PEM files. Keys are new for each test, and certificates expire after an
// hour, so they are useless elsewhere.
package certstest
