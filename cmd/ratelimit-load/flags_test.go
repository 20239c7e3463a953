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
		"-speed 3":                            "flag provided but not defined: -speed",
		"fast":                                `unexpected argument "fast"`,
		"-addr nowhere":                       `-addr "nowhere": use host:port`,
		"-connections 0":                      "-connections 0: use 1 to 1024",
		"-connections 9 -concurrency 8":       "use at least as many calls",
		"-concurrency 4097":                   "-concurrency 4097: use 1 to 4096",
		"-rate -1":                            "-rate -1: use 0 for the closed loop",
		"-rate NaN":                           "-rate NaN: use",
		"-rate 1e9":                           "-rate 1e+09: use",
		"-calls 0":                            "-calls 0: use 1",
		"-duration 0s":                        "-duration 0s: use 1ms to 24h0m0s",
		"-duration 5":                         `invalid value "5" for flag -duration`,
		"-warmup -1s":                         "-warmup -1s: use 0s",
		"-domain=":                            `-domain "": use a non-empty`,
		"-entry \xff":                         `-entry "\xff": use a non-empty UTF-8`,
		"-keys 0":                             "-keys 0: use 1 to 10000000",
		"-keys 10000000 -descriptors 2":       "use at most 10000000 descriptors in all",
		"-distribution normal":                "use uniform, zipf, hot, sequence",
		"-descriptors 101":                    "-descriptors 101: use 1 to 100",
		"-hits 4294967296":                    "-hits 4294967296: use 0 to 4294967295",
		"-pids 1,x":                           `invalid process id "x"`,
		"-pids 0":                             `invalid process id "0"`,
		"-format xml":                         `-format "xml": use text or json`,
		"-rounds 3":                           "-rounds requires -compare",
		"-serve-baseline 127.0.0.1:0 -keys 3": "cannot be combined",
		"-compare a=h:1":                      "name two or more",
		"-compare a=h:1,a=h:2":                `duplicate target name "a"`,
		"-compare a=h:1,b=h":                  `target "b=h": use name=host:port`,
		"-compare a=h:1,=h:2":                 `target "=h:2": use name=host:port`,
		"-compare a=h:1,b=h:2:x":              `target "b=h:2:x": invalid process id "x"`,
		"-compare a=h:1,b=h:2 -addr h:3":      "leave out -addr and -pids",
		"-compare a=h:1,b=h:2 -rounds 1001":   "-rounds 1001: use 1 to 1000",
	} {
		code, stdout, stderr := program(t.Context(), arguments)
		assert.Equal(t, cli.ExitUsage, code, arguments)
		assert.Contains(t, stderr, want, arguments)
		assert.Empty(t, stdout, arguments)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, _, stderr := program(t.Context(), "-keys 0 -format xml -hits 5000000000")
	for _, name := range []string{"-keys 0", `-format "xml"`, "-hits 5000000000"} {
		assert.Contains(t, stderr, name)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	code, stdout, _ := program(t.Context(), "-help")
	assert.Equal(t, cli.ExitOK, code)
	for _, name := range []string{
		"addr", "connections", "concurrency", "rate", "duration", "warmup", "domain", "keys", "distribution",
		"descriptors", "entry", "hits", "pids", "format", "serve-baseline", "compare", "rounds", "calls", "seed",
	} {
		assert.Contains(t, stdout, "\n  -"+name+" ", "help tells of -%s", name)
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
