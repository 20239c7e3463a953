// Command manifest validates, changes and resolves tool server manifests, the files
// commonly called server.json:
//
//	manifest validate [-profile P] [-format text|json|sarif|github] FILE|DIR|GLOB|-...
//	manifest resolve [-package N | -remote N] [-set name=value] [-env-file F] FILE
//	manifest client -for PROGRAM [-user | -file F] [-mend] [-dry-run] (FILE | -remove NAME)
//	manifest diff [-format text|json] OLDER NEWER
//	manifest fmt [-check] FILE...
//	manifest fix [-n] FILE...
//	manifest migrate [-from DATE] [-n] FILE...
//	manifest init [-o server.json]
//	manifest bump [-n] VERSION|major|minor|patch [FILE]
//	manifest sync [-check] [FILE]
//	manifest publish-check [-registry URL] [-packages TYPE=URL]... [-files] [FILE]
//	manifest fetch [-o OUT] (FILE | -sha256 HASH URL)
//	manifest bundle -sha256 HASH [-unpack DIR] FILE.mcpb
//	manifest serve [-addr ADDRESS] [-publish -tokens FILE] FILE|DIR|MIRROR|REGISTRY...
//	manifest mirror -to FILE URL
//	manifest schema
//	manifest completion
//
// A directory stands for the files in it, at any depth, that are called server.json or
// end in .server.json. "manifest help COMMAND" describes each command. Flags may come
// before and after files and have one dash or two.
//
// With -from URL, validate, resolve, client, diff, fetch and fix -n take NAME[@VERSION] of manifests in a registry, beside files
// that end in .json. They also read files with responses of a registry.
//
// The exit code is 0 for success, 1 if a manifest has errors, cannot be resolved or is not
// formatted, and 2 for wrong flags and for files that cannot be read. diff has a code for each class
// of changes.
//
// # Design notes
//
// The rules and messages are those of package manifest. This program finds files, shows
// lines, and writes.
//
// Problems go to the standard output, because they are the result. Their form is that of
// compilers, file:line:column, which editors know, with the line below. SARIF and GitHub's
// workflow commands are for tools that show problems beside a change.
//
// fix and migrate change bytes and not trees, so that everything else stays as the author
// wrote it. Both show a diff. Files are replaced by renaming, so that an interruption leaves
// the old file.
//
// resolve and fetch use the parts of a manifest that have no errors, because clients must work
// with what was published. They say which part they pass over, and never one that was named.
//
// The limits are larger than those of the library, because the files are the user's own.
//
// resolve starts nothing and shows the command without secrets. -reveal is for scripts and
// prints JSON only, because people would paste a line of text into a shell.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("manifest", run) }
