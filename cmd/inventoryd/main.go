// Command inventoryd serves a network inventory over HTTP. It is configured by flags and
// environment variables; -settings lists them.
//
//	inventoryd                  serves, by default at port 3000, from the file inventory.db
//	inventoryd -demo            fills an empty inventory with believable records first
//	inventoryd backup FILE      copies a SQLite database, also while it is in use
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("inventoryd", run) }
