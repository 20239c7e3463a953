// Command ratelimit-check says what is wrong with rate limit configuration before a
// server does, and which rules a request would meet:
//
//	ratelimit-check DIR
//	ratelimit-check -strict -format=json DIR
//	generate-config | ratelimit-check -
//	ratelimit-check DIR -explain shop client=bob,path=/login
//
// Arguments are directories, which are read with all that is in them, and files; "-"
// is the standard input. All of them together are one configuration. Flags may stand
// before and behind them:
//
//	-config_dir DIR         the same as the argument DIR
//	-merge_domain_configs   let several files describe one domain
//	-ignore_dot_files       leave out what has a name that begins with a dot
//	-strict                 let warnings fail the check
//	-format FORM            text (the default) or json
//	-explain DOMAIN DESCRIPTOR
//	                        say which rule a descriptor meets and why, level by level.
//	                        DESCRIPTOR is key=value,key=value,...; a value may hold "=" but no
//	                        comma. Repeated for one domain, the descriptors are those of one
//	                        request, in which limits may replace each other
//	-at TIME                the time of the counter keys that are explained, as
//	                        2006-01-02T15:04:05Z or in Unix seconds; by default the present
//	-cache_key_prefix TEXT  what the server has as CACHE_KEY_PREFIX
//
// Every problem is told, with its file, line and column and the line itself. The exit
// code is 0 if the configuration can be used, 1 if not, and 2 for wrong flags.
//
// # Design notes
//
// The lines "checking rate limit configs...", "loading config directory: D", "opening
// config file: F", "all rate limit configs ok" and "error loading rate limit configs: E"
// are those of the reference service's check (REFERENCE.md, 8.7), for scripts that look
// for them. With several errors E is the first.
//
// What is checked, and in which words, is decided by packages config and ratelimit
// alone: a configuration passes here exactly if it passes in the server. This program
// stands between package config and the file system and remembers what was read, to
// show the lines; it reads no YAML of its own.
//
// Errors go to the standard output like warnings: they are what was asked for.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-check", run) }
