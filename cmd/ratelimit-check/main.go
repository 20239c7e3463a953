// Command ratelimit-check validates rate limit configuration before a server loads it,
// explains which rules a request matches, and replays access logs to report what it would have
// refused:
//
//	ratelimit-check DIR
//	ratelimit-check -strict -format=json DIR
//	generate-config | ratelimit-check -
//	ratelimit-check DIR -explain shop client=bob,path=/login
//	ratelimit-check DIR -replay access.log.gz
//	ratelimit-check NEW -replay access.log -against OLD
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
//	-color WHEN             auto (the default: on a terminal, unless NO_COLOR is set), always or never
//
// Every error and warning is printed with its file, line, column and an excerpt of the
// line, and with a suggestion for a misspelt key or flag. The exit code is 0 if the configuration is
// valid, 1 if it is not, and 2 for invalid flags.
//
// # Replay
//
// -replay reads an access log and decides each of its requests at its own time. The report has, for
// each rule and its worst keys and clients, how many requests would have been refused and when, and
// the smallest limit that would have refused none. Package cmd/ratelimit-check/internal/replay describes the formats,
// the mapping file, the order of lines and the bounds of memory.
//
//	-replay FILE            the log, also compressed with gzip; "-" is the standard input
//	-log_format FORMAT      auto (the default), json, envoy, combined, vhost_combined, envoy_text, istio,
//	                        alb or elb
//	-mapping FILE           YAML: which descriptors a line stands for. By default each key of a rule is
//	                        the field of the same name
//	-domain NAME            the domain of the requests, if there are several
//	-against PATH           a directory or file with another configuration to compare with
//	-top N                  how many keys and clients of each rule are reported (default 10)
//	-json                   the same as -format=json
//	-fail                   exit with 1 if a request would be refused, or none is held to a limit; with
//	                        -against, if one would be refused that the other configuration allows
//
// Lines that can't be read are counted, and the first of them are named. A replay exits with 1 if
// no line can be read, and for an invalid mapping or log. Progress is printed on the standard error
// stream: on a terminal in one line, else every 5 seconds.
//
// # Design notes
//
// The lines "checking rate limit configs...", "loading config directory: D", "opening
// config file: F", "all rate limit configs ok" and "error loading rate limit configs: E"
// are those of the reference service's check (REFERENCE.md, 8.7), so that scripts can
// search for them. With several errors E is the first.
//
// Packages config and ratelimit do the validation: a configuration passes here exactly
// if the server accepts it. It parses no YAML of its own.
//
// Errors are the result of a check, so they go to the standard output like warnings.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-check", run) }
