// Package archtest holds the house to its law: which package may import which,
// where third-party modules and the test framework may go, what a package may
// be called and what it may keep at package level. It also proves that the core
// costs its importers nothing, that every constructor is called in an example that runs,
// and compares each public package's face with the listing committed under testdata/api.
//
// The law is the table in [House]. Its tests are the only user:
//
//	go test ./cmd/internal/archtest
//
// A package that is new needs a row in [House], on the lowest floor that works.
// A change of a public face needs new listings:
//
//	go test ./cmd/internal/archtest -run TestAPI -update
//
// # Design notes
//
// The floors are numbers and not a list of allowed edges: a list is edited with
// every import and soon says what the code does, a floor says what it may do.
//
// Imports come from go list, for the platform that the tests run on. Files for
// other platforms are not looked at; there are none that import more.
//
// Tests of the core are held to its own imports, because go mod tidy follows the
// tests of every package that a module imports: a test library in a test of the
// core would be a new line in the go.sum of each importer. [Law.Reach] follows
// the imports that tidy follows, and TestStdOnlyProof runs tidy itself.
//
// Mutable state is looked for in the syntax, with the type checker resolving the
// package's own names and every import left blank: that finds each write that
// names a package-level variable, needs nothing compiled, and never takes a
// table that is only read for state. What is written through an alias
// it does not see.
//
// An example has to call a constructor itself. One that leaves it to a helper is easier
// to write, and shows a reader less. It has to say what it prints too: without that, go
// test compiles it and nobody knows whether it works. Which functions are constructors,
// their names say.
//
// Listings are made from the source too, so that they can be written while a
// dependency does not compile. Only constants are evaluated, since a constant moved
// within its iota block is a change of the face.
package archtest
