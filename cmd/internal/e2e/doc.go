// Package e2e holds the compiled programs to what they promise: its tests build
// them, start them as a user does, speak to them over the wire, send them signals
// and read what they print. It has no code of its own.
//
//	go test ./cmd/internal/e2e
//
// The commands that the documentation tells a reader to type are in the table of
// TestCommands and run from there; the test of the README looks each of its
// commands up in that table.
//
// # Design notes
//
// All programs are built once, by TestMain, with the race detector if the tests
// have it. A race that one of them finds is an exit code of 66, and so a failure of
// whichever test had started it.
//
// Each test starts a server of its own on free ports and with limits for a whole
// year, so tests run in parallel, share nothing, and count the same at any time of
// day, save in the moment when a year ends. Examples have limits of minutes, hours and
// days: they are asked often enough for two windows, or again if one has ended meanwhile.
// The fixed ports of examples are for their readers; tests have them listen on free ones.
//
// Nothing waits for a time to pass. Tests wait for a line of output, or ask again
// and again until the answer is the one expected; both give up in the end.
//
// Memory is compared with itself, after a first flood and after further ones, and
// each flood brings many times what the difference may be: how much a process takes
// from the start, with and without the race detector, is nobody's promise.
package e2e
