// Command ratelimit-client asks a v3 rate limit service for one decision:
//
//	ratelimit-client -domain demo -descriptors client=alice,path=/login -descriptors client=alice
//
// It prints the flags in effect and the response, and exits 0 whatever the
// decision was; 1 if the service could not be asked; 2 if the flags make no
// sense.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimit-client", run) }
