package launch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
)

// ArgvFor returns the command for an operating system by its GOOS, as os/exec and the
// configurations of clients take it. On Windows some launchers are batch files, which only
// cmd can start: npx becomes cmd /c npx. The error is nil or [Faults] if cmd would take a
// character of an argument for something else.
//
// It relies on the usual quoting of arguments with spaces. [Command.WindowsCommandLine]
// quotes everything itself, and accepts more.
func (c Command) ArgvFor(goos string) ([]string, error) {
	argv := c.Argv()
	if goos != "windows" || len(c) == 0 || !isBatch(argv[0]) {
		return argv, nil
	}
	var faults Faults
	for i := range c {
		quoted := argv[i] == "" || strings.ContainsAny(argv[i], " \t")
		if strings.ContainsAny(argv[i], unsafeInQuotes) || !quoted && strings.ContainsAny(argv[i], unsafeBare) {
			faults = append(faults, windowsFault(c[i]))
		}
	}
	if faults != nil {
		return nil, faults
	}
	return append([]string{"cmd", "/c"}, argv...), nil
}

// ArgvFor returns the command of the server for an operating system, as [Command.ArgvFor].
func (p *Plan) ArgvFor(goos string) ([]string, error) { return p.Command.ArgvFor(goos) }

// WindowsCommandLine returns the command as the one string with which Windows starts a
// process, such as that of SysProcAttr.CmdLine in package syscall. The error is nil or
// [Faults] as for [Command.ArgvFor].
func (c Command) WindowsCommandLine() (string, error) {
	if len(c) == 0 {
		return "", nil
	}
	argv := c.Argv()
	batch := isBatch(argv[0])
	var faults Faults
	words := make([]string, len(argv))
	for i, s := range argv {
		if batch && strings.ContainsAny(s, unsafeInQuotes) {
			faults = append(faults, windowsFault(c[i]))
		}
		words[i] = quoteWindows(s)
	}
	if faults != nil {
		return "", faults
	}
	line := strings.Join(words, " ")
	if batch {
		// /d: no AutoRun. /v:off: ! is plain. /s: exactly the outer quotes are removed.
		return `cmd /d /v:off /s /c "` + line + `"`, nil
	}
	return line, nil
}

// cmd replaces %NAME% within quotes too, and !NAME! if a batch file turns that on. A quote
// ends the quotes, and a line break the command.
const (
	unsafeInQuotes = "%!\"\r\n\x00"
	unsafeBare     = "^&|<>()"
)

func windowsFault(item Item) Fault {
	return Fault{
		Kind: FaultValue, Pointer: item.Origin,
		Message:    `an argument has one of the characters % ! " ^ & | < > ( ) or a line break, which cmd of Windows does not pass on`,
		Suggestion: "use a value without it, or an environment variable",
	}
}

// isBatch reports whether a launcher is a batch file on Windows.
func isBatch(program string) bool {
	return slices.Contains([]string{"npx", "pnpm", "dnx"}, program)
}

// quoteWindows quotes a word by the rules of CommandLineToArgvW, also where only cmd needs
// quotes.
func quoteWindows(s string) string {
	if s != "" && grammar.Only(s, `-_./:\@=+,`) {
		return s
	}
	s = slashesBeforeQuote.ReplaceAllString(s, `$1$1\"`)
	return `"` + slashesAtEnd.ReplaceAllString(s, `$1$1`) + `"`
}

// CommandLineToArgvW reads two slashes as one only before a quote, which ends every word here.
var (
	slashesBeforeQuote = regexp.MustCompile(`(\\*)"`)
	slashesAtEnd       = regexp.MustCompile(`(\\+)$`)
)
