// Package manifest reads, validates and migrates tool server manifests: the JSON
// documents, commonly called server.json, that describe how to install and reach a tool
// server.
//
//	report := manifest.Validate(data, nil)
//	for _, p := range report.Problems {
//		fmt.Printf("server.json:%d:%d: %s: %s\n", p.Line, p.Column, p.Severity, p.Message)
//	}
//	if !report.Valid() {
//		return report.Err()
//	}
//
// REFERENCE.md states all rules. Package manifest/launch turns a package or remote into a
// command line or an endpoint, and package cmd/manifest/internal/fetch downloads bundle files.
//
// # Validating
//
// [Validate] reports all faults at once and each fault once: if a value has the wrong
// type, what would follow from it is not reported. A [Problem] has a stable rule id, a
// severity, a JSON pointer, line, column and byte offset, a message, and mostly a
// suggestion, in some cases with the edit that applies it:
//
//	7:18: /packages/0/version: packages[0].version is "^1.2.3", which is a range:
//	^ compares versions (name one version, such as "1.2.3")
//
// Messages never contain the value of an input, which may be a secret.
//
// A [Profile] selects the rules: [Neutral] is the specification; the dated profiles are
// the public schemas of 2025-09-29, 2025-10-17 and 2025-12-11; [Declared] is the one that the
// $schema of the document names; [Registry] adds what a public registry requires. [Rules]
// lists all rules with their categories.
//
// # Reading
//
// [Parse] reads text into a [Document], a tree of values with their positions. It accepts
// only JSON, and rejects what JSON readers treat differently: duplicate keys, invalid
// UTF-8, unpaired surrogates, a byte order mark, data after the end. Keys are
// case-sensitive.
//
// [Document.Server] converts the tree into a [Server], and so does encoding/json, because
// the types have their own methods. Unknown keys are preserved: reading and writing a document
// loses only white space, the order of known keys, and the way characters are escaped.
//
// [Document.Read] is for documents that others wrote. It reads any object, with its problems,
// and hands out the packages and remotes that have no error, although other parts have:
//
//	reading := doc.Read(nil)
//	for i := range reading.Server.Packages {
//		if p, err := reading.Package(i); err == nil {
//			plan, err := launch.ResolvePackage(p, values, nil)
//			...
//		}
//	}
//
// # Changing
//
// [Fix] applies the fixes of problems, [Document.Migrate] updates an older manifest, and
// [Document.Set] writes one value. They change bytes and not trees, so that all other bytes
// stay as the author wrote them:
//
//	doc, err = doc.Set("/packages/0/version", "1.4.3")
//
// # Limits
//
// A document may have 1 MiB, 64 levels (10,000 below _meta, whose contents are free) and
// 100,000 values; a report lists 100 problems. [Options] sets other limits. Time and
// memory are linear in the size of a document.
//
// # The schema
//
// [Schema] is the JSON Schema (draft-07) of a manifest, for editors and for validators in
// other languages. The tests of manifest/schematest compare it with Validate.
//
// # Design notes
//
// The reader is internal/jsonpos, because encoding/json has no positions, matches keys in
// any case, accepts duplicate keys and replaces invalid UTF-8 without an error. It builds
// a tree first, so that every profile and the types share one pass over the text.
//
// Known keys are tables of checks. Rejected: validating with the schema document. Its
// errors refer to schemas, a union yields the errors of every alternative, and it cannot
// express version ranges. Here the type of a union is checked first, and then only the
// shape of that type.
//
// The types are read and written through reflection over their tags, because nine types
// keep unknown keys and encoding/json has no means for that.
//
// Format "uri" is RFC 3986, because net/url accepts spaces and characters beyond ASCII.
// White space in a url is that of ECMA-262, which JSON Schema refers to, and not that of
// Go's regular expressions; the schema spells it out, so that both agree.
//
// Of two members with the same key the last one is checked, as most readers would use it.
// The duplicate itself is the error.
//
// A subfolder that is not a clean path is an error, although the specification requires
// it only in its text and not in its list of errors; an empty subfolder is valid. Under
// the dated schemas, which mention such rules only in descriptions, it is a warning.
//
// A key that differs from a known one by one typing error is a mistake and not an extension.
// Words of fewer than five characters are alike by chance, so these are only reported in the
// place of a required key.
//
// Problems know how they were found, so that Problems.Fix can check its result again. A list
// from which problems were removed, as an editor does for one quick fix, is applied once.
//
// Registry does not check what needs more than the document: files, owners, and hosts of
// package registries.
package manifest
