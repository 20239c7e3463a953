//go:build !unix

package postgrestest

import (
	"os/exec"
	"testing"
)

// runAs has a command run as the user who runs the test.
func runAs(testing.TB, string) func(*exec.Cmd) { return func(*exec.Cmd) {} }
