// Package e2e contains end-to-end tests. They build the programs, start them as a user does, send
// requests and signals, and check the output. The package has no other code.
//
//	go test ./cmd/internal/e2e
//
// TestPages reads README.md and the pages in docs as a user does. In a copy of the repository it runs the
// blocks of shell commands of a page in one shell; `go run` of a program of this module runs the program
// that was built for the tests. Commands must succeed. A block of text or JSON right after one of
// commands shows its output: "..." stands for any text of a line, and as a line for any lines. Marks
// in the line above a block:
//
//	<!-- in another terminal -->       the command is a server, which runs until the end of the page; one
//	                                   of the reader's own is `go run . -addr 127.0.0.1:PORT`
//	<!-- repeat until it matches -->   the commands are repeated until the output is as shown
//	<!-- file: limits/shop.yaml -->    the reader writes the block to this file
//	<!-- from examples/mux/main.go --> an excerpt, which the tests of the root package compare
//	<!-- not run: it needs a network -->
//
// # Design notes
//
// TestMain builds all programs once, with the race detector if the tests use it. A program that
// detects a race exits with code 66, which fails the test that started it.
//
// Each test starts its own server on free ports with limits per year, so tests run in parallel and do
// not depend on the time of day, except at the end of a year. Examples have limits per minute, hour
// and day: tests send enough requests for two windows, or repeat the test if a window ended. Servers
// listen on free ports instead of their documented ones, which are replaced in commands and outputs.
//
// TestOpenAPITools needs npm packages that .ci/run installs. The generated Go client is compiled in a
// module of its own, in testdata/openapi/client, so that the generator is no dependency of this one.
//
// Envoy, which ASHLAR_ENVOY names, listens on free ports that its admin page reports. Instances that are restarted behind
// it listen on unix sockets, because another process could take a port meanwhile.
//
// No test sleeps. Tests wait for a line of output, or poll until the result is as expected, with a
// timeout.
//
// The memory test compares the memory after a first flood with the memory after further floods of many
// times the allowed difference. It does not check absolute values, which depend on the race detector.
package e2e
