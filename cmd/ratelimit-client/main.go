// Command ratelimit-client sends requests to a v3 rate limit service and prints the decisions:
//
//	ratelimit-client -domain demo -descriptors client=alice,path=/login -descriptors client=alice
//	ratelimit-client -domain demo -descriptors client=alice -n 10
//	ratelimit-client -domain demo -descriptors client=alice -hits 0 -json | jq .statuses
//
// It prints the effective flags and the response. The exit code is 0 after a response, whatever
// the decision; 1 if the connection or a request failed; 2 if the flags are invalid.
//
// -help lists the flags. A descriptor has the form name=value,name=value; a value may be empty
// and may contain "=" but no comma. -hits 0 reads the counters without incrementing them: the
// client then sets the hits of every descriptor to 0, because 0 hits of the whole request mean
// 1. With -n the client repeats the request until one fails, and prints a summary as the last
// line. -json prints each response as one line of proto3 JSON and nothing else on the standard
// output.
//
// # Design notes
//
// The lines "Flag: --name="value"" (sorted), "response: ...", "request error: ..." and
// "error connecting: ..." on the standard output are identical to those of the reference
// service's client, because scripts parse them (ratelimit/REFERENCE.md, 8.7). Flags that the
// reference client does not have are listed only if they are set.
//
// A response is printed in the protobuf text format on one line. The protobuf library varies
// the white space of that format between builds, so that programs do not depend on it. This
// client normalizes it to one space between fields.
//
// -oltp-protocol is accepted for compatibility, but has no effect: the client does not export
// trace spans. It prints a warning.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-client", run) }
