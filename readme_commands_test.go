package ashlar_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sessionsFile has the commands of the documentation that a test runs, in its
// function sessions.
const sessionsFile = "cmd/internal/e2e/commands_test.go"

// proof is why a command that begins so can be relied on.
type proof struct {
	begins string
	check  func(command string, tree fs.FS) error
}

// proofs are tried in this order.
func proofs() []proof {
	return []proof{
		{"make", isTarget},          // make test cannot run itself
		{"go get", getsModule},      // there is nothing to get before a release
		{"go test", testsSomething}, // they run as part of all tests
		{"go", isRun},
		{"curl", isRun},
	}
}

// checkCommands reports commands in blocks of shell that no test vouches for.
func checkCommands(d *document, tree fs.FS) (faults []string) {
	for _, b := range d.blocks() {
		if !slices.Contains([]string{"sh", "bash", "shell", "console"}, b.language) {
			continue
		}
		for i, line := range b.commands() {
			if err := vouch(line, tree); err != nil {
				faults = append(faults, d.fault(b.first+i, "%v", err))
			}
		}
	}
	return faults
}

// commands are the lines without prompts and comments. A command that goes on over
// several lines is on the first of them, and the others are blank.
func (b *block) commands() []string {
	commands := make([]string, len(b.lines))
	start, more := 0, false
	for i, line := range b.lines {
		if !more {
			start = i
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
		}
		line, more = strings.CutSuffix(strings.TrimSpace(line), `\`)
		commands[start] = strings.TrimSpace(commands[start] + " " + strings.TrimSpace(line))
	}
	comment := regexp.MustCompile(`(^|\s+)#(\s.*)?$`)
	for i := range commands {
		commands[i] = comment.ReplaceAllString(commands[i], "")
	}
	return commands
}

// vouch says why a command cannot be relied on.
func vouch(command string, tree fs.FS) error {
	bare := regexp.MustCompile(`^([A-Za-z_]\w*=\S* )+`).ReplaceAllString(command, "")
	for _, p := range proofs() {
		if bare == p.begins || strings.HasPrefix(bare, p.begins+" ") {
			return p.check(command, tree)
		}
	}
	if regexp.MustCompile(`[;&|(]\s*(go|make|curl)\s`).MatchString(command) {
		return fmt.Errorf("%q holds several commands: write each on a line of its own", command)
	}
	return nil
}

func isTarget(command string, tree fs.FS) error {
	makefile, err := fs.ReadFile(tree, "Makefile")
	if err != nil {
		return err
	}
	for _, word := range strings.Fields(command)[1:] {
		isVariable := strings.Contains(word, "=")
		if !isVariable && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(word)+`:`).Match(makefile) {
			return fmt.Errorf("%q: the Makefile has no target %s", command, word)
		}
	}
	return nil
}

func getsModule(command string, tree fs.FS) error {
	mod, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	module := strings.TrimSpace(strings.TrimPrefix(first, "module"))
	words := strings.Fields(command)
	got, _, _ := strings.Cut(words[len(words)-1], "@")
	if len(words) == 3 && got == module {
		return nil
	}
	if dir, ok := strings.CutPrefix(got, module+"/"); ok && len(words) == 3 && hasGo(tree, dir, false) {
		return nil
	}
	return fmt.Errorf("%q: want go get %s, or a package of it, and nothing else", command, module)
}

func testsSomething(command string, tree fs.FS) error {
	for _, word := range strings.Fields(command) {
		dir, all := strings.CutSuffix(word, "/...")
		if strings.HasPrefix(word, ".") && !all && !hasGo(tree, dir, true) {
			return fmt.Errorf("%q: there are no tests in %s", command, dir)
		}
		if strings.ContainsAny(word, "&|;") {
			return fmt.Errorf("%q holds several commands: write each on a line of its own", command)
		}
	}
	return nil
}

// isRun looks a command up among those that the end-to-end tests run.
func isRun(command string, tree fs.FS) error {
	known, err := sessionCommands(tree)
	if err == nil && !slices.Contains(known, command) {
		err = fmt.Errorf("no test runs %q: add it, word for word, to the table sessions in %s, with what it must print", command, sessionsFile)
	}
	return err
}

// sessionCommands are the texts in the table of the end-to-end tests.
func sessionCommands(tree fs.FS) ([]string, error) {
	source, err := fs.ReadFile(tree, sessionsFile)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path.Base(sessionsFile), source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "sessions" {
			return texts(f), nil
		}
	}
	return nil, errors.New(sessionsFile + " has no function sessions")
}

// texts are the string literals of a function.
func texts(f *ast.FuncDecl) (all []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}
