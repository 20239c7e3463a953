// Package lsp is a language server for tool server manifests: problems while typing, completion,
// descriptions of members, quick fixes and formatting, in every editor that speaks the language
// server protocol.
//
//	err := lsp.Serve(ctx, os.Stdin, os.Stdout, &lsp.Options{Profile: manifest.Registry})
//
// Every document that an editor opens is taken for a manifest: editors choose by file name, such as
// server.json. Problems and fixes are those of [manifest.Validate]; completion and descriptions
// come from [manifest.Schema].
//
// # Limits
//
// A message may have 32 MiB, and 1,000 documents may be open. Requests are handled one after the
// other: validating a manifest takes less than a millisecond.
//
// # Design notes
//
// The protocol is written here because this server needs a dozen of its messages. Rejected: a module
// for it with nine others that it needs; the tests use its client.
//
// Completion reads the text with a scanner that accepts anything, because a document is not JSON
// while somebody types. Positions are in UTF-16, which every client has.
package lsp
