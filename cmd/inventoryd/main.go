// Command inventoryd serves a network inventory over HTTP. It is configured by flags and
// environment variables; -settings lists them.
//
//	inventoryd                  serves the file inventory.db on port 3000
//	inventoryd -demo            fills an empty inventory with demo records first
//	inventoryd admin -reset X   makes the user X an active admin with a new password
//	inventoryd backup FILE      copies the database, even while it is in use: a SQLite file, or a checked dump of PostgreSQL
//	inventoryd import FILE...   creates and changes records by the rows of CSV, JSON lines and YAML files
//	inventoryd import netbox X  the same from the NetBox at the URL X, its fixtures in the file X, or the device types in the folder X
//	inventoryd import containerlab FILE  the same from the topology of a lab
//	inventoryd import graphml FILE  the same from a network in GraphML
//	inventoryd import hosts FILE...      the same from an inventory of Ansible
//	inventoryd rotate-key       adds a new key that signs tokens; running servers notice
//	inventoryd revoke-keys      replaces all such keys, which ends all sessions
//	inventoryd verify-audit     checks that no entry of the audit log was changed or deleted
package main

import "github.com/ashlar-go/ashlar/cmd/internal/cli"

func main() { cli.Main("inventoryd", run) }
