// Command inventoryctl works with an inventory server from the command line: it reads, changes, exports and
// compares records. Run it without arguments for its commands.
//
//	inventoryctl login https://inventory.example.org
//	inventoryctl get devices --vendor Cisco -o wide
//	inventoryctl set device sw1 status=maintenance
//	inventoryctl apply -f network/ --prune
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("inventoryctl", run) }
