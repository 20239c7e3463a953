// Package e2e contains end-to-end tests. They build the programs, start them as a user does, send
// requests and signals, and check the output. The package has no other code.
//
//	go test ./cmd/internal/e2e
//
// TestCommands runs the commands of the documentation from a table. The test of the README checks
// that each of its commands is in that table.
//
// # Design notes
//
// TestMain builds all programs once, with the race detector if the tests use it. A program that
// detects a race exits with code 66, which fails the test that started it.
//
// Each test starts its own server on free ports with limits per year, so tests run in parallel and do
// not depend on the time of day, except at the end of a year. Examples have limits per minute, hour
// and day: tests send enough requests for two windows, or repeat the test if a window ended. Examples
// listen on free ports instead of their documented ones.
//
// TestOpenAPITools needs npm packages that .ci/run installs. The generated Go client is compiled in a
// module of its own, in testdata/openapi/client, so that the generator is no dependency of this one.
//
// No test sleeps. Tests wait for a line of output, or poll until the result is as expected, with a
// timeout.
//
// The memory test compares the memory after a first flood with the memory after further floods of many
// times the allowed difference. It does not check absolute values, which depend on the race detector.
package e2e
