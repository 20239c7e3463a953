//go:build !unix

package main

import "os/exec"

// There are no process groups: the command is killed when its context ends.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
