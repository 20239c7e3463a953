package ashlar_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/markdown"
)

// commandCheck checks the commands with a prefix.
type commandCheck struct {
	prefix string
	check  func(command string, tree fs.FS) error
}

// commandChecks returns the checks. The first one with a matching prefix applies. The end-to-end tests
// run all other commands.
func commandChecks() []commandCheck {
	return []commandCheck{
		{"make", checkTarget},
		{"go get", checkGoGet},
		{"go test", checkGoTest},
	}
}

// checkCommands reports invalid commands in shell blocks.
func checkCommands(d *markdown.Page, tree fs.FS) (faults []string) {
	for _, b := range d.Blocks() {
		if !slices.Contains([]string{"sh", "bash", "shell", "console"}, b.Language) {
			continue
		}
		for i, line := range commands(&b) {
			if err := checkCommand(line, tree); err != nil {
				faults = append(faults, d.Fault(b.First+i, "%v", err))
			}
		}
	}
	return faults
}

// commands returns the lines without prompts and comments. A command of several lines is
// joined on its first line; the others are blank.
func commands(b *markdown.Block) []string {
	commands := make([]string, len(b.Lines))
	start, more := 0, false
	for i, line := range b.Lines {
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

// checkCommand returns an error if a command is invalid.
func checkCommand(command string, tree fs.FS) error {
	bare := regexp.MustCompile(`^([A-Za-z_]\w*=\S* )+`).ReplaceAllString(command, "")
	for _, c := range commandChecks() {
		if bare == c.prefix || strings.HasPrefix(bare, c.prefix+" ") {
			return c.check(command, tree)
		}
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
