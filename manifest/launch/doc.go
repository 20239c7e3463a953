// Package launch turns a package or remote of a tool server manifest, with the values
// of a user, into a command line or an endpoint.
//
//	plan, err := launch.ResolvePackage(&server.Packages[0], launch.Values{"city": {"Rome"}}, nil)
//	if err != nil {
//		return err // Faults: missing and invalid values
//	}
//	fmt.Print(plan.Consent()) // for a person to agree to
//	argv := plan.Argv()       // to run, without a shell
//
// [ResolvePackage] returns a [Plan]: the command as a list of arguments, the environment,
// files to download, the url and headers of the transport. [ResolveRemote] returns an
// [Endpoint]. All missing and all invalid values are reported together, as [Faults].
// [PackageForm] and [RemoteForm] list what a user can provide; [Form.Schema] describes it
// as a JSON Schema. Nothing here runs a command or opens a connection.
//
// # Values
//
// The value of an input is its fixed value, with the {name} tokens replaced once; else
// what the user provided; else the default. A placeholder or a valueHint is never a
// value. A token without a value stays unchanged, except in a url or a header, where it is
// a fault. A token of a header that is not declared is a required and secret input.
//
// A value never leaves its position (REFERENCE.md, 9). It is one argument or a part of one.
// A positional argument from a user must not begin with a dash, and a flag gets such a
// value as --flag=-value. A header has one line. In the path or query of a url a value is
// escaped, slashes included; in the host it is rejected unless it can be a host; a url
// that begins with a variable needs an http or https URL without a query there. NUL is
// rejected everywhere. No plan is text for a shell.
//
// # Commands
//
// The command is the launcher of the registryType, then the runtimeArguments, the package
// and the packageArguments:
//
//	npm    npx -y <runtimeArguments> id@version <packageArguments>
//	pypi   uvx <runtimeArguments> --from id==version id <packageArguments>
//	oci    docker run -i --rm <runtimeArguments> -e NAME -p PORT id:version <packageArguments>
//	nuget  dnx <runtimeArguments> id@version --yes -- <packageArguments>
//	cargo  cargo install id --version =version --locked, and then id <packageArguments>
//	mcpb   a file to download and verify, which has a manifest of its own
//
// The runtimeArguments are read as the launcher reads them (REFERENCE.md, 8.4): a table
// for each launcher states which options take a value and what they do. So the package has
// the position and the command that the publisher gave it, and the version of the manifest;
// what would let the launcher run anything else is a fault. Options that widen what a
// server may do, and environment variables that other programs read, are a [Notice] with
// a [Severity]. Options.Strict allows no doubt.
//
// A runtimeHint selects among programs that are known to run such packages (npx, bunx, bun,
// pnpm; uvx, uv, pipx; docker, podman; dnx, dotnet; cargo); other hints cause a notice and
// are not run, and the runtimeArguments are then omitted. Options.Launchers replaces any of
// this.
//
// On Windows some launchers are batch files: [Plan.ArgvFor] returns cmd /c npx, and
// [Command.WindowsCommandLine] the command as one line.
//
// Each item of a plan has the JSON pointer of the value of the manifest that it comes
// from. Secrets are a [Value] that prints as ***.
//
// # Design notes
//
// Resolving takes the struct and not the document, so that a client can resolve what it
// got from a registry. Two inputs may have the same name; then only a pointer identifies
// one of them, because a value must not reach a position that the user did not mean.
//
// A token of a declared variable without a value stays in the value, as the specification
// requires; -e TOKEN={token} then passes a wrong token rather than none.
// Options.OmitUnfilled omits the argument, which is what publishers mean.
//
// A secret in -e NAME=secret of a container moves to the environment of the launcher,
// because other users of a machine can read command lines. A variable that would affect
// the launcher itself, such as DOCKER_HOST, goes the other way, secret or not.
//
// A boolean flag of a package is rendered as --flag true, because the specification
// renders every named argument as a flag with a value. Rejected: the flag alone for true,
// which is a guess about the program. For the options of a launcher it is no guess: there
// true is the flag alone. A flag with a fixed empty value stands alone.
//
// A subcommand among the runtimeArguments, such as mcp, becomes the first argument of the
// package, with a notice: publishers who write it mean npx package mcp. Rejected: a fault,
// because the plan cannot run anything else. It is a fault where the word may be an image or
// a subcommand of the launcher.
//
// An option that the launcher does not know follows the package, with a notice, and so does one that
// npm has for other commands, such as --read-only: before the package the launcher would refuse or drop
// it, and the server would run without what the user asked for. Rejected: a fault, because published
// packages are written so. For launchers that may take the next word for the package it is one.
package launch
