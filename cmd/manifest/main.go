// Command manifest reads, checks, changes and resolves tool server manifests, the files
// commonly called server.json:
//
//	manifest validate [-profile P] [-format text|json|sarif|github] FILE|DIR|GLOB|-...
//	manifest resolve [-package N | -remote N] [-set name=value] [-env-file F] FILE
//	manifest fmt [-check] FILE...
//	manifest fix [-n] FILE...
//	manifest migrate [-from DATE] [-n] FILE...
//	manifest init [-o server.json]
//	manifest fetch [-o OUT] (FILE | -sha256 HASH URL)
//	manifest schema
//	manifest completion
//
// A directory stands for the files in it, at any depth, that are called server.json or
// end in .server.json. "manifest help COMMAND" tells more of each command. Flags may stand
// before and behind files and be written with one dash or two.
//
// The exit code is 0 if all is well, 1 if a manifest has errors, can't be resolved or is
// not formatted, and 2 for wrong flags and for files that can't be read.
//
// # Design notes
//
// What is right and wrong, and in which words, is decided by package manifest. This
// program finds files, shows lines, and writes.
//
// Problems go to the standard output: they are what was asked for. Their form is that
// of compilers, file:line:column, which editors know; below it stands the line. SARIF
// and GitHub's commands are for machines that show them beside a change.
//
// fix and migrate change bytes and not trees, so that all else stays as the author wrote
// it. Both show what they did as a diff. Files are replaced by renaming, so that one that
// is interrupted leaves the old file.
//
// resolve starts nothing. It shows the command without secrets; -reveal is for scripts,
// and prints it as JSON only, because a line of text would be pasted into a shell.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("manifest", run) }
