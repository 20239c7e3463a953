// Command ratelimit-client sends requests to a v3 rate limit service and prints the decisions:
//
//	ratelimit-client -domain demo -descriptors client=alice,path=/login -descriptors client=alice
//	ratelimit-client -domain demo -descriptors client=alice -n 10
//	ratelimit-client -domain demo -descriptors client=alice -hits 0 -json | jq .statuses
//
// It prints a line for each response: the verdict and the limit that is closest to being reached.
//
//	allowed: limit 5/minute, 4 remaining, resets in 45s
//
// If a request has several descriptors, an indented line for each of them follows. On a terminal the
// verdict has a color, unless NO_COLOR is set or -color is never. The exit code is 0 after a response;
// with -fail it is 1 if a request was refused. It is 1 if the connection or a request failed, and
// 2 if the flags are invalid.
//
// -help lists the flags. A descriptor has the form name=value,name=value; a value may be empty
// and may contain "=" but no comma. -hits 0 reads the counters without incrementing them: the
// client then sets the hits of every descriptor to 0, because 0 hits of the whole request mean
// 1. With -n the client repeats the request until one fails, and prints a summary as the last
// line. -json prints each response as one line of proto3 JSON and nothing else on the standard
// output: scripts should read that.
//
// # Design notes
//
// The flags of the reference service's client are accepted (ratelimit/REFERENCE.md, 8.7). Its output,
// all flags and the response in the text format of protobuf, is not copied: the protobuf
// library varies that format so that programs do not depend on it.
//
// -oltp-protocol is accepted for compatibility, but has no effect: the client does not export
// trace spans. It prints a warning.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-client", run) }
