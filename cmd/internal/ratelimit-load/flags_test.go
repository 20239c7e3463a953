package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"-speed 3":                      "--speed",
		"fast":                          "no arguments",
		"-connections 0":                "too small",
		"-rate -1":                      "too small",
		"-duration 0s":                  "too small",
		"-keys 0":                       "too small",
		"-connections 9 -concurrency 8": "-connections 9",
		"-duration 5":                   "--duration",
		"-distribution normal":          "-distribution",
		"-compare a=h:1":                "two or more",
		"-compare a=h:1,a=h:2":          "duplicate",
		"-compare a=h:1,b=h":            `"b=h"`,
		"-compare a=h:1,=h:2":           `"=h:2"`,
		"-compare a=h:1,b=h:2:x":        "process id",
		"-compare a=h:1,b=h:2:1+0":      "process id",
	} {
		code, stdout, stderr := program(t.Context(), arguments)
		assert.Equal(t, cli.ExitUsage, code, arguments)
		assert.Contains(t, stderr, want, arguments)
		assert.Empty(t, stdout, arguments)
	}
}

func TestParseTargets(t *testing.T) {
	t.Parallel()
	targets, err := parseTargets("a=127.0.0.1:80:7,b=[::1]:90,c=[::1]:90:8+9,d=:70:1")
	require.NoError(t, err)
	assert.Equal(t, []*target{
		{name: "a", addr: "127.0.0.1:80", pids: []int{7}},
		{name: "b", addr: "[::1]:90"},
		{name: "c", addr: "[::1]:90", pids: []int{8, 9}},
		{name: "d", addr: ":70", pids: []int{1}},
	}, targets)
}
