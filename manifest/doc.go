// Package manifest reads, validates and resolves tool server manifests: the JSON
// documents, commonly called server.json, that say what a tool server is, how to
// install it and how to reach it.
//
//	report := manifest.Validate(data, nil)
//	for _, p := range report.Problems {
//		fmt.Printf("server.json:%d:%d: %s: %s\n", p.Line, p.Column, p.Severity, p.Message)
//	}
//	if !report.Valid() {
//		return report.Err()
//	}
//
// # Validating
//
// [Validate] reports everything that is wrong at once, and each fault once: where a
// value has no valid type, nothing is said of what would follow from it. A [Problem]
// has a stable rule id, a severity, a JSON pointer, line, column and byte offset, a
// message for a person and mostly a suggestion, for some with the edit that carries
// it out:
//
//	7:18: /packages/0/version: packages[0].version is "^1.2.3", which is a range and
//	not a version: ^ compares versions (name one version, as "1.2.3")
//
// Messages never repeat the value of an input, which may be a secret.
//
// The rules are those of a [Profile]: [Neutral], which is the specification; the
// public schemas of 2025-09-29, 2025-10-17 and 2025-12-11; and [Registry], which adds
// what a public registry wants. [Rules] lists all rules and where each comes from.
//
// # Reading
//
// [Parse] reads text into a [Document], a tree of values that know where they stand.
// It takes JSON and nothing else, and refuses what readers are known to read in
// different ways: duplicate keys, invalid UTF-8, lone surrogates, a byte order mark,
// data after the end. Keys differ by case.
//
// [Document.Server] makes a [Server] of it, and so does encoding/json: the types have
// their own methods. Keys that the specification does not know are kept, so that
// reading a document and writing it loses nothing but white space, the order of keys
// that are known, and the way that characters are escaped.
//
// # Resolving
//
//	plan, err := server.Packages[0].Resolve(manifest.Values{"city": {"Rome"}}, nil)
//	if err != nil {
//		return err // Faults: what is missing, and what is not possible
//	}
//	fmt.Print(plan.Consent()) // for a person to agree to
//	argv := plan.Argv()       // to run, without a shell
//
// [Package.Resolve] makes a [Plan] of a package and what a user has given: the command
// as a list of arguments, the environment, files to fetch, the url and headers of the
// transport. [Remote.Resolve] makes an [Endpoint] of a remote. All inputs that are
// missing and all values that are not possible are named together, as [Faults].
// [Package.Form] lists what there is to give, and [Form.Schema] says it as a schema.
//
// An input's text is its value, with the {name} tokens of its variables replaced once;
// else what the user gave; else the default. A placeholder or a valueHint is never a
// value. A token for which there is no value stays as it is, but in a url, where that
// is an error.
//
// A value never leaves its place. It is one argument or part of one; one that a user
// gives to a positional argument must not begin with a dash, and to a flag it is given
// as --flag=-value. A header has one line. In the path or query of a url a value is
// escaped, slashes too; in the host it is refused unless it can be a host; a url that
// begins with a variable needs an http or https URL without query there. NUL is
// refused everywhere. No plan is a text for a shell.
//
// The command is the launcher of the registryType, then runtimeArguments, the package,
// packageArguments:
//
//	npm    npx -y <runtimeArguments> id@version <packageArguments>
//	pypi   uvx <runtimeArguments> --from id==version id <packageArguments>
//	oci    docker run -i --rm <runtimeArguments> -e NAME -p PORT id:version <packageArguments>
//	nuget  dnx <runtimeArguments> id@version --yes -- <packageArguments>
//	cargo  cargo install id --version =version --locked, and then id <packageArguments>
//	mcpb   a file to fetch and verify, which has a manifest of its own
//
// Flags that the publisher gives are not added again. A runtimeHint chooses among
// programs that are known to run such packages (npx, bunx, bun, pnpm; uvx, uv, pipx;
// docker, podman; dnx, dotnet; cargo); all others are noted and not run.
// ResolveOptions.Launchers replaces any of this.
//
// Each item of a plan says which value of the manifest it comes from. What is secret
// is a [Value] that prints as ***. [Plan.Consent] is the plan for a person to judge.
//
// # Bounds
//
// A document may have 1 MiB, 64 levels (512 below _meta, which is free) and 100,000
// values; a report lists 100 problems. [Options] sets other bounds. Time and memory
// are linear in the size of a document.
//
// # The schema
//
// [Schema] is the JSON Schema (draft-07) of a manifest, for editors and for validators
// in other languages. It is held against Validate by the tests of manifest/schematest.
//
// # Design notes
//
// The reader is our own because encoding/json has no positions, matches keys by any
// case, lets the last of equal keys win and replaces what is not UTF-8 in silence. It
// reads into a tree first, so that every profile and the types share one pass over the
// text; strings without escapes share the document's memory. Positions are kept as
// offsets, and lines are counted only for the problems that are listed.
//
// Known keys are tables of checks, and one method per type names its keys for reading
// and for writing. Turned down: validating by the schema document. Its errors speak of
// schemas, a union yields the errors of every arm, and it has no words for versions.
// A union is told apart by its type here before anything else is checked.
//
// Format "uri" is RFC 3986, hand-written: net/url takes spaces and letters beyond
// ASCII. White space in a url is that of ECMA-262, which JSON Schema refers to, not
// that of Go's regular expressions; the schema spells it out, so that both agree.
//
// Of two equal keys the last is checked, as most readers would use it. That there are
// two is the error.
//
// What the specification's text says and its list of errors does not, that a subfolder
// is a clean path, is an error; an empty subfolder is none at all. Under the dated
// schemas, which say such things in descriptions only, it is a warning.
//
// Registry does not check what is checked only when a package is published: files,
// owners, and hosts of package registries.
//
// Resolving takes the struct and not the document, so that a client can resolve what
// it has from a registry. Names are the users' way to say which input they mean, and
// two inputs may have one name; then only a pointer names one of them, because a
// value given by a name must not reach a place that the user did not think of.
//
// A token that has a declared variable without a value stays in the text, as the
// specification says; -e TOKEN={token} is then a wrong token rather than none.
// ResolveOptions.OmitUnfilled leaves the argument out, which is what publishers mean.
//
// A secret in -e NAME=secret of a container moves to the environment of the launcher,
// because everyone on a machine can read command lines. What would steer the launcher
// itself, as DOCKER_HOST, takes the opposite way, secret or not.
//
// A boolean flag is rendered as --flag true: the specification renders every named
// argument as a flag with value. Turned down: a flag alone for true, which is a guess
// about the program. A flag that is fixed to an empty value stands alone.
package manifest
