// Package client writes tool servers into the configuration files of the programs that use
// them: editors, assistants, agents.
//
//	program, err := client.Find("vscode")
//	entry, err := program.Entry(&client.Server{Name: "weather", Package: &server.Packages[0]})
//	file, err = program.Add(file, entry)
//
// [Programs] lists the programs, with the path and the format of their files: JSON with
// comments, TOML or YAML. [Program.Entry] resolves a package or a remote by package launch and
// says what the file will contain. [Program.Add] and [Program.Remove] return the file with
// that one entry changed; every other byte stays as it was, comments included.
//
// # Secrets
//
// A secret is never in the file. The entry refers to it in the way of the program: an input
// that the program asks for, or a variable of the program's environment. [Entry.Needs] lists
// what a person has to provide. A program that has no such way for a secret is
// refused with a fault, rather than writing the secret.
//
// # Design notes
//
// Entry resolves with a marker instead of each secret and replaces the markers by references
// afterwards. So package launch alone knows how arguments, urls and headers
// are built, and a reference is never escaped or checked as if it were the value.
//
// The files are edited as text, by the positions that a parser of the format reports. Rejected:
// decoding and encoding them, which would lose comments and order. A file in which the servers
// are written in a form that can't be extended line by line, such as an inline table, is an
// error that says so.
package client
