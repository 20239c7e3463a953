// Command ratelimit-check validates rate limit configuration before a server loads it,
// and explains which rules a request matches:
//
//	ratelimit-check DIR
//	ratelimit-check -strict -format=json DIR
//	generate-config | ratelimit-check -
//	ratelimit-check DIR -explain shop client=bob,path=/login
//
// Arguments are files and directories, which are read recursively; "-" is the standard
// input. Together they form one configuration. Flags may come before and after them:
//
//	-config_dir DIR         the same as the argument DIR
//	-merge_domain_configs   allow several files to configure one domain
//	-ignore_dot_files       ignore files and directories whose name begins with a dot
//	-strict                 treat warnings as errors
//	-format FORMAT          text (the default) or json
//	-explain DOMAIN DESCRIPTOR
//	                        explain which rule a descriptor matches and why, level by level.
//	                        DESCRIPTOR is key=value,key=value,...; a value may contain "=" but
//	                        no comma. Repeated for one domain, the descriptors form one
//	                        request, in which limits may replace each other
//	-at TIME                the time of the explained counter keys, as 2006-01-02T15:04:05Z
//	                        or in Unix seconds (default now)
//	-cache_key_prefix TEXT  prefix of the explained counter keys, like CACHE_KEY_PREFIX
//
// Every error and warning is printed with its file, line, column and an excerpt of the
// line. The exit code is 0 if the configuration is valid, 1 if it is not, and 2 for
// invalid flags.
//
// # Design notes
//
// The lines "checking rate limit configs...", "loading config directory: D", "opening
// config file: F", "all rate limit configs ok" and "error loading rate limit configs: E"
// are those of the reference service's check (REFERENCE.md, 8.7), so that scripts can
// search for them. With several errors E is the first.
//
// Packages config and ratelimit do the validation: a configuration passes here exactly
// if the server accepts it. This program reads the files on behalf of package config and
// keeps their contents to print excerpts; it parses no YAML of its own.
//
// Errors are the result of a check, so they go to the standard output like warnings.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-check", run) }
