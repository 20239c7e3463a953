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
		"-speed 3":                          "flag provided but not defined: -speed",
		"fast":                              `unexpected argument "fast"`,
		"-addr nowhere":                     `-addr "nowhere": want host:port`,
		"-connections 0":                    "-connections 0: want from 1 to 1024",
		"-connections 9 -concurrency 8":     "some connections would carry no call",
		"-concurrency 4097":                 "-concurrency 4097: want from 1 to 4096",
		"-rate -1":                          "-rate -1: want 0 for the closed loop",
		"-rate NaN":                         "-rate NaN: want",
		"-rate 1e9":                         "-rate 1e+09: want",
		"-calls 0":                          "-calls 0: want from 1",
		"-duration 0s":                      "-duration 0s: want from 1ms to 24h0m0s",
		"-duration 5":                       `invalid value "5" for flag -duration`,
		"-warmup -1s":                       "-warmup -1s: want from 0s",
		"-domain=":                          `-domain "": want text`,
		"-entry \xff":                       `-entry "\xff": want text in UTF-8`,
		"-keys 0":                           "-keys 0: want from 1 to 10000000",
		"-keys 10000000 -descriptors 2":     "want at most 10000000 descriptors in all",
		"-distribution normal":              "unknown; want one of uniform, zipf, hot, sequence",
		"-descriptors 101":                  "-descriptors 101: want from 1 to 100",
		"-hits 4294967296":                  "-hits 4294967296: want from 0 to 4294967295",
		"-pids 1,x":                         `"x" is no process id`,
		"-pids 0":                           `"0" is no process id`,
		"-format xml":                       `-format "xml": unknown; want text or json`,
		"-rounds 3":                         "-rounds needs -compare",
		"-serve-floor 127.0.0.1:0 -keys 3":  "it takes no other flag",
		"-compare a=h:1":                    "want two or more",
		"-compare a=h:1,a=h:2":              `two targets are named "a"`,
		"-compare a=h:1,b=h":                `target "b=h": want name=host:port`,
		"-compare a=h:1,=h:2":               `target "=h:2": want name=host:port`,
		"-compare a=h:1,b=h:2:x":            `target "b=h:2:x": "x" is no process id`,
		"-compare a=h:1,b=h:2 -addr h:3":    "leave out -addr and -pids",
		"-compare a=h:1,b=h:2 -rounds 1001": "-rounds 1001: want from 1 to 1000",
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
		"descriptors", "entry", "hits", "pids", "format", "serve-floor", "compare", "rounds", "calls", "seed",
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
