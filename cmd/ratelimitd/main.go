// Command ratelimitd is a server of the v3 rate limit service. It is configured by
// environment variables; -settings lists them.
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ratelimitd", run) }
