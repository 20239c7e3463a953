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

// sessionsFile is the source of the test that runs the documented commands. Its function
// sessions contains them.
const sessionsFile = "cmd/internal/e2e/commands_test.go"

// commandCheck checks the commands with a prefix.
type commandCheck struct {
	prefix string
	check  func(command string, tree fs.FS) error
}

// commandChecks returns the checks. The first one with a matching prefix applies.
func commandChecks() []commandCheck {
	return []commandCheck{
		{"make", checkTarget},
		{"go get", checkGoGet},
		{"go test", checkGoTest},
		{"go", checkRun},
		{"curl", checkRun},
	}
}

// checkCommands reports untested or invalid commands in shell blocks.
func checkCommands(d *document, tree fs.FS) (faults []string) {
	for _, b := range d.blocks() {
		if !slices.Contains([]string{"sh", "bash", "shell", "console"}, b.language) {
			continue
		}
		for i, line := range b.commands() {
			if err := checkCommand(line, tree); err != nil {
				faults = append(faults, d.fault(b.first+i, "%v", err))
			}
		}
	}
	return faults
}

// commands returns the lines without prompts and comments. A command of several lines is
// joined on its first line; the others are blank.
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

// checkCommand returns an error if a command is untested or invalid.
func checkCommand(command string, tree fs.FS) error {
	bare := regexp.MustCompile(`^([A-Za-z_]\w*=\S* )+`).ReplaceAllString(command, "")
	for _, c := range commandChecks() {
		if bare == c.prefix || strings.HasPrefix(bare, c.prefix+" ") {
			return c.check(command, tree)
		}
	}
	if regexp.MustCompile(`[;&|(]\s*(go|make|curl)\s`).MatchString(command) {
		return fmt.Errorf("%q contains several commands: write one per line", command)
	}
	return nil
}

func checkTarget(command string, tree fs.FS) error {
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

func checkGoGet(command string, tree fs.FS) error {
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
	return fmt.Errorf("%q: use go get %s, or one package of it, without other arguments", command, module)
}

func checkGoTest(command string, tree fs.FS) error {
	for _, word := range strings.Fields(command) {
		dir, all := strings.CutSuffix(word, "/...")
		if strings.HasPrefix(word, ".") && !all && !hasGo(tree, dir, true) {
			return fmt.Errorf("%q: no tests in %s", command, dir)
		}
		if strings.ContainsAny(word, "&|;") {
			return fmt.Errorf("%q contains several commands: write one per line", command)
		}
	}
	return nil
}

// checkRun returns an error if the end-to-end tests do not run the command.
func checkRun(command string, tree fs.FS) error {
	known, err := sessionCommands(tree)
	if err == nil && !slices.Contains(known, command) {
		err = fmt.Errorf("no test runs %q: add it verbatim, with its expected output, to the table sessions in %s", command, sessionsFile)
	}
	return err
}

// sessionCommands returns the string literals in the table of the end-to-end tests.
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
			return stringLiterals(f), nil
		}
	}
	return nil, errors.New(sessionsFile + " has no function sessions")
}

// stringLiterals returns the string literals in a function.
func stringLiterals(f *ast.FuncDecl) (all []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}
