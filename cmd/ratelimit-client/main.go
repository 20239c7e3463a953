// Command ratelimit-client asks a v3 rate limit service for decisions:
//
//	ratelimit-client -domain demo -descriptors client=alice,path=/login -descriptors client=alice
//	ratelimit-client -domain demo -descriptors client=alice -n 10
//	ratelimit-client -domain demo -descriptors client=alice -hits 0 -json | jq .statuses
//
// It prints the flags in effect and the response, and exits 0 whatever the decision
// was; 1 if the service could not be asked or did not answer; 2 if the flags make no
// sense.
//
// -help lists the flags. A descriptor is given as name=value,name=value; a value may
// hold "=" but no comma, and may be empty. -hits 0 asks without counting: every
// descriptor then says so for itself, as 0 hits of the request as a whole would mean 1.
// With -n the same question is asked again and again, until it fails, and a last line
// counts the answers. -json prints each response as one line of proto3 JSON, and nothing
// else on the standard output.
//
// # Design notes
//
// The lines "Flag: --name="value"", sorted, "response: ...", "request error: ..." and
// "error connecting: ..." on the standard output are those of the reference service's
// client (reference 1.17), for scripts that read them. Flags that only this client has
// are listed only when they are given, so that the same call prints the same.
//
// A response is printed as its text form on one line. The protocol's library varies the
// white space of that from build to build, so that nobody compares it; here it is always
// a single space between fields, one of the two forms that the library chooses between.
//
// -oltp-protocol is accepted, and has no effect: trace spans of a client that lives for
// one call are hardly worth an exporter. It says so.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-client", run) }
