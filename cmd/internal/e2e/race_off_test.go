//go:build !race

package e2e_test

// raceFlags build the programs as these tests were built.
func raceFlags() []string { return nil }
