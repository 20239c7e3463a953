// Command ashlar runs everything in one process on embedded defaults: the
// quickest way to see the house from inside.
//
//	go run ./cmd/ashlar
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ashlar", run) }
