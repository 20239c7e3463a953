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
// # Counters
//
// With the admin token of ratelimitd, the client reads and changes the counters of descriptors:
//
//	export ADMIN_TOKEN_FILE=/etc/ratelimitd/admin-token
//	ratelimit-client -domain demo -descriptors client=alice -get
//	ratelimit-client -domain demo -descriptors client=alice -give-back 3
//	ratelimit-client -domain demo -descriptors client=alice -reset
//
// It prints a line for each descriptor, or the response with -json:
//
//	client=alice: reset, now 0 used, limit 5/minute, 5 remaining, resets in 45s
//
// The token is in the environment variable ADMIN_TOKEN, or in the file that -token-file or
// ADMIN_TOKEN_FILE names. There is no flag for the token itself, because other users can read the
// command lines of processes. It is only sent over TLS and within the machine. The exit code of a
// change is 1 if no rule limits the descriptors; that of -get with -fail is 1 if one of them is over
// its limit.
//
// # Quotas
//
// With -quota the client opens a stream of the rate limit quota service and prints what Envoy would get, for each
// descriptor as a bucket, until it is interrupted or after -n messages:
//
//	$ ratelimit-client -domain demo -descriptors client=alice -quota -hits 500
//	client=alice: 12500 requests for 10s
//	client=alice: 700 requests for 10s
//	client=alice: the rest of the 700 requests for 10s
//
// It reports -hits requests every five seconds, as Envoy does, as refused: they are the demand, and the client uses nothing of the
// limit. They count in the statistics as over the limit. -timeout limits the time until the first message. -json prints messages.
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
