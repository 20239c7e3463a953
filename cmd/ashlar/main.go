// Command ashlar runs all systems in one process on embedded defaults.
//
//	go run ./cmd/ashlar
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("ashlar", run) }
