package deploytest_test

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/server"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) { report(t, checkCommands(s.page(t), s)) })
}

// checkCommands reports invalid commands in shell blocks.
func checkCommands(p *markdown.Page, s system) (faults []string) {
	for _, b := range p.BlocksOf("sh") {
		for i, line := range b.Lines {
			words, err := split(line)
			if err == nil {
				err = checkCommand(words, s)
			}
			if err != nil {
				faults = append(faults, p.Fault(b.First+i, "%v", err))
			}
		}
	}
	return faults
}

// split splits a shell line into words. It supports single quotes and no other shell syntax.
func split(line string) (words []string, err error) {
	form := regexp.MustCompile(`^(?:'[^']*'|[^\s'"$;&|<>\x60\\]+)+`)
	for rest := strings.TrimSpace(line); rest != ""; {
		word := form.FindString(rest)
		if word == "" {
			return nil, fmt.Errorf("%q: write one plain command per line; unexpected syntax at %q", line, rest)
		}
		words = append(words, strings.ReplaceAll(word, "'", ""))
		rest = strings.TrimSpace(rest[len(word):])
	}
	if len(words) == 0 {
		return nil, errors.New("an empty line in a block of shell")
	}
	return words, nil
}

// checkCommand returns an error if a command is invalid.
func checkCommand(words []string, s system) error {
	for _, word := range words[1:] {
		if strings.HasPrefix(strings.TrimPrefix(word, "./"), "cmd/") && !exists(word) {
			return fmt.Errorf("%s: there is no %s", words[0], word)
		}
	}
	switch words[0] {
	case "make":
		return isTarget(words[1:])
	case "curl":
		return checkURL(words[len(words)-1], s)
	}
	if exists("cmd/" + words[0]) {
		return hasFlags(words)
	}
	if !slices.Contains([]string{
		"go", "install", "systemctl", "journalctl", "docker", "kubectl", "rm", "cp",
		"redis-cli", "sqlite3", "createuser", "createdb", "pg_dump", "pg_restore",
	}, words[0]) {
		return fmt.Errorf("unknown program %s", words[0])
	}
	return nil
}

func isTarget(targets []string) error {
	for _, target := range targets {
		if !matches(filepath.Join(checkout, "Makefile"), `(?m)^`+regexp.QuoteMeta(target)+`:`) {
			return fmt.Errorf("make: there is no target %s", target)
		}
	}
	return nil
}

// checkURL returns an error if the program does not serve a URL.
func checkURL(address string, s system) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	if !slices.Contains(s.ports, u.Port()) || !slices.Contains(s.paths, u.Path) {
		return fmt.Errorf("%s does not serve %s at port %s", s.name, u.Path, u.Port())
	}
	return nil
}

// hasFlags returns an error if a program of this module lacks a flag.
func hasFlags(words []string) error {
	known, err := flagsOf(words[0])
	if err != nil {
		return err
	}
	for _, word := range words[1:] {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && !slices.Contains(known, name) {
			return fmt.Errorf("%s has no flag -%s; it has %s", words[0], name, strings.Join(known, ", "))
		}
	}
	return nil
}

// flagsOf returns the flags that the source of a program defines.
func flagsOf(program string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(checkout, "cmd", program, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				names = append(names, defined(call)...)
			}
			return true
		})
	}
	switch program {
	case "inventoryd":
		set := flag.NewFlagSet(program, flag.ContinueOnError)
		server.Flags(set)
		set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	case "inventoryctl": // has a flag for each field
		for _, r := range inventory.Schema().Resources() {
			for _, f := range r.Fields() {
				names = append(names, f.Name, f.Member)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// defined returns the name of the flag that a call of package flag defines: the first argument, or the
// second of functions that end in Var.
func defined(call *ast.CallExpr) (names []string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	long := strings.TrimSuffix(method.Sel.Name, "P") // with a name of one letter behind the long one
	kind, at := strings.TrimSuffix(long, "Var"), 0
	if kind != long {
		at = 1
	}
	if !slices.Contains([]string{"", "Bool", "BoolFunc", "Duration", "Float64", "Func", "Int", "String", "StringArray", "Text", "Uint", "Uint64"}, kind) || len(call.Args) < at+2 {
		return nil
	}
	args := call.Args[at : at+1]
	if long != method.Sel.Name {
		args = call.Args[at : at+2]
	}
	for _, arg := range args {
		text, ok := arg.(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			return nil
		}
		name, err := strconv.Unquote(text.Value)
		if err != nil {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// TestFlagsOfPrograms checks that flagsOf finds flags.
func TestFlagsOfPrograms(t *testing.T) {
	t.Parallel()
	for program, some := range map[string][]string{
		"ratelimitd":        {"settings", "print-settings"},
		"ratelimit-check":   {"config_dir", "explain", "strict", "cache_key_prefix"},
		"ratelimit-client":  {"dial_string", "domain", "descriptors", "hits", "grpc-use-tls"},
		"ratelimit-load":    {"addr", "serve-baseline", "compare", "rate", "entry"},
		"inventoryd":        {"addr", "demo", "settings", "database-url"},
		"inventoryctl":      {"vendor", "location", "o", "output", "file", "f", "prune"},
		"inventory-collect": {"targets", "community-file", "format", "output"},
	} {
		known, err := flagsOf(program)
		require.NoError(t, err)
		require.Subset(t, known, some, program)
		require.NotContains(t, known, "jwt-secret")
	}
}

// TestFlagsWithinLines checks flags in inline code, such as `-settings`.
func TestFlagsWithinLines(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		p := s.page(t)
		var known []string
		for _, program := range []string{s.name, "inventory-collect", "inventoryctl", "ratelimit-check", "ratelimit-client", "ratelimit-load"} {
			names, err := flagsOf(program)
			require.NoError(t, err)
			known = append(known, names...)
		}
		for i, line := range p.Prose() {
			for _, found := range regexp.MustCompile("`[^`]*`").FindAllString(line, -1) {
				for _, name := range regexp.MustCompile("[` ]-([a-z][a-z0-9_-]+)").FindAllStringSubmatch(found, -1) {
					if !slices.Contains(known, name[1]) && !slices.Contains([]string{"wal", "shm", "hex"}, name[1]) {
						t.Error(p.Fault(i, "no program has a flag -%s", name[1]))
					}
				}
			}
		}
	})
}

// matches reports whether the content of a file matches a pattern.
func matches(file, pattern string) bool {
	text, err := os.ReadFile(file)
	return err == nil && regexp.MustCompile(pattern).Match(text)
}
