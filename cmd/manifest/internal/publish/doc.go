// Package publish helps the publishers of tool servers: it reads the files of a project, drafts a
// manifest from them, keeps versions and server names the same everywhere, and checks what a
// registry would check.
//
//	project, err := publish.Read(".")
//	server := project.Draft()                           // for a new manifest
//	changes, err := project.Sync(document)              // what differs from the manifest
//	problems := publish.Check(ctx, server, opts)        // at registries given by url
//
// # Projects
//
// Read knows package.json, pyproject.toml, Cargo.toml, *.csproj and *.nuspec, the labels of a
// Dockerfile, the README, and the remote of a git repository. A file that is missing is no error;
// one that cannot be read is.
//
// # Server names
//
// A registry accepts a package only if its owner names the server in it: the member mcpName of
// package.json, a line "mcp-name: NAME" in the README (pypi, nuget, and cargo, where it may not be in a comment), or the label
// io.modelcontextprotocol.server.name of an image.
//
// # Design notes
//
// Files are changed as text, at the positions of the values, so that everything else stays. A
// version that a build tool computes, such as a dynamic one of pyproject.toml, is not a version and
// is left alone.
package publish
