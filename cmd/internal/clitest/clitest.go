// Package clitest checks the command lines of programs.
package clitest

import (
	"bytes"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// flags has a line for each flag of each program: a call with one dash and a valid value, where the last flag is the
// one that counts. Scripts use them, so a line is removed only with its feature.
//
//go:embed flags.txt
var flags string

// flag is a flag of a command.
type flag struct {
	name, value string // value is "" for a switch
}

// Flags checks that the commands of a program accept their flags with one dash and with two, with and without an
// equals sign, repeated, and between arguments, and that the flags get their values.
func Flags(t *testing.T, program string, run cli.Program) {
	t.Helper()
	commands := map[string][]flag{}
	for line := range strings.Lines(flags) {
		words := strings.Fields(line)
		if words[0] != program {
			continue
		}
		at := len(words) - 1
		f := flag{}
		if words[at][0] != '-' {
			f.value = words[at]
			at--
		}
		f.name = words[at][1:]
		command := strings.Join(words[1:at], " ")
		commands[command] = append(commands[command], f)
	}
	require.NotEmpty(t, commands, "no flags of %s", program)
	for _, command := range slices.Sorted(maps.Keys(commands)) {
		check(t, run, command, commands[command])
	}
}

// check runs a command with all of its flags in each form.
func check(t *testing.T, run cli.Program, command string, all []flag) {
	t.Helper()
	for name, form := range map[string]func(f flag) []string{
		"one dash":      func(f flag) []string { return []string{"-" + f.name, f.value} },
		"two dashes":    func(f flag) []string { return []string{"--" + f.name, f.value} },
		"equals sign":   func(f flag) []string { return []string{"-" + f.name + "=" + f.value} },
		"two and equal": func(f flag) []string { return []string{"--" + f.name + "=" + f.value} },
		"repeated":      func(f flag) []string { return []string{"-" + f.name, f.value, "-" + f.name, f.value} },
		"arguments":     func(f flag) []string { return []string{"argument", "-" + f.name, f.value, "argument"} },
		"false":         func(f flag) []string { return []string{"-" + f.name + "=" + f.value} },
	} {
		args := strings.Fields(command)
		for _, f := range all {
			words := form(f)
			if len(f.name) == 1 { // a shorthand may have a longer name, and then has one dash
				words[0] = strings.Replace(words[0], "--", "-", 1)
			}
			switch {
			case f.value == "" && strings.HasSuffix(words[0], "="):
				args = append(args, words[0]+map[bool]string{true: "false", false: "true"}[name == "false"])
			default:
				args = append(args, words...)
			}
		}
		args = slices.DeleteFunc(args, func(word string) bool { return word == "" })
		var parsed *cobra.Command
		var out bytes.Buffer
		code := cli.Run(t.Context(), "program", run, cli.Env{Args: args, Stdout: &out, Stderr: &out, Instead: func(c *cobra.Command) { parsed = c }})
		require.Equal(t, cli.ExitOK, code, "%s: %q: %s", name, args, &out)
		require.NotNil(t, parsed, "%q runs no command", args)
		for _, f := range all {
			found := parsed.Flags().Lookup(f.name)
			if len(f.name) == 1 {
				found = parsed.Flags().ShorthandLookup(f.name)
			}
			if !assert.NotNil(t, found, "%s has no flag %s", parsed.CommandPath(), f.name) {
				continue
			}
			assert.True(t, found.Changed, "%s: %q: %s is not set", name, args, f.name)
			want := f.value
			if want == "" {
				want = map[bool]string{true: "false", false: "true"}[name == "false"]
			}
			switch found.Value.Type() {
			case "func", "boolfunc", "stringArray", "descriptors": // whose text is another
			default:
				assert.Equal(t, want, found.Value.String(), "%s: %q: %s", name, args, f.name)
			}
		}
	}
}
