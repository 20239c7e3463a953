package cli

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Help is what -h says of a program besides its flags.
type Help struct {
	About    string      // what the program is for, in a sentence or two
	Usage    []string    // the forms of a call
	Commands [][2]string // the names of commands, with what each does
	Examples [][2]string // calls, with what each does
	Exit     []string    // exit codes beyond 0, 1 and 2
}

// Define makes the help the usage of a flag set, and returns the names of the commands.
func (h *Help) Define(f *flag.FlagSet) []string {
	f.Usage = func() {
		w := f.Output()
		fmt.Fprintf(w, "%s\n\nUsage: %s\n", h.About, strings.Join(h.Usage, "\n       "))
		h.list(w, "Commands", h.Commands, true)
		h.list(w, "Examples", h.Examples, false)
		fmt.Fprint(w, "\nFlags:\n")
		f.PrintDefaults()
		fmt.Fprint(w, "  -completion shell\n    \tprint completions for bash, zsh or fish, and exit\n  -version\n    \tprint the version and exit\n")
		exit := append([]string{"0 success, or stopped by a signal", "1 failure", "2 wrong arguments or settings"}, h.Exit...)
		fmt.Fprintf(w, "\nExit codes: %s.\n", strings.Join(exit, "; "))
	}
	var names []string
	for _, c := range h.Commands {
		if name, _, _ := strings.Cut(c[0], " "); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// list writes names with texts: beside each other, or below.
func (h *Help) list(w io.Writer, title string, all [][2]string, beside bool) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	width := 0
	for _, e := range all {
		width = max(width, len(e[0]))
	}
	for _, e := range all {
		if beside {
			fmt.Fprintf(w, "  %-*s  %s\n", width, e[0], e[1])
		} else {
			fmt.Fprintf(w, "  %s\n    \t%s\n", e[0], e[1])
		}
	}
}

// Version returns the version of this program, such as "v1.2.3 (commit 0123456789ab, go1.26.0,
// linux/amd64)", as the Go command has recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown version"
	}
	return version(info)
}

func version(info *debug.BuildInfo) string {
	name := info.Main.Version
	if name == "" || name == "(devel)" {
		name = "unreleased"
	}
	facts := []string{info.GoVersion, runtime.GOOS + "/" + runtime.GOARCH}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		commit = "commit " + commit[:min(12, len(commit))]
		if settings["vcs.modified"] == "true" {
			commit += " with changes"
		}
		facts = append([]string{commit}, facts...)
	}
	return name + " (" + strings.Join(facts, ", ") + ")"
}

// special handles -version and -completion, which every program has. It returns whether it did.
func special(name string, env Env) (done bool, err error) {
	if len(env.Args) == 1 && isFlag(env.Args[0], "version") {
		_, err := fmt.Fprintf(env.Stdout, "%s %s\n", name, Version())
		return true, err
	}
	return false, nil
}

// isFlag reports whether an argument is a flag, with one dash or two.
func isFlag(arg, name string) bool { return arg == "-"+name || arg == "--"+name }

// completion writes the completions of a flag set for a shell.
func completion(w io.Writer, shell string, flags *flag.FlagSet, commands []string) error {
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	names = append(names, "completion", "help", "version")
	slices.Sort(names)
	return WriteCompletion(w, shell, flags.Name(), "-completion "+shell, commands, names)
}

// WriteCompletion writes the completions of a program for bash, zsh or fish: commands as the first
// word, flags after a dash, and files. The arguments source write them.
func WriteCompletion(w io.Writer, shell, name, source string, commands, flags []string) error {
	function := "_" + strings.ReplaceAll(name, "-", "_")
	dashed := make([]string, len(flags))
	for i, f := range flags {
		dashed[i] = "-" + f
	}
	var err error
	switch shell {
	case "bash":
		_, err = fmt.Fprintf(w, `# To use it: source <(%[1]s %[5]s)
%[2]s() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case $word in
	-*) COMPREPLY=($(compgen -W "%[3]s" -- "$word")) ;;
	*) [ "$COMP_CWORD" -eq 1 ] && COMPREPLY=($(compgen -W "%[4]s" -- "$word")) ;;
	esac
}
complete -o default -F %[2]s %[1]s
`, name, function, strings.Join(dashed, " "), strings.Join(commands, " "), source)
	case "zsh":
		_, err = fmt.Fprintf(w, `#compdef %[1]s
# To use it: source <(%[1]s %[5]s)
%[2]s() {
	if [[ $words[CURRENT] == -* ]]; then
		compadd -- %[3]s
	elif (( CURRENT == 2 )); then
		compadd -- %[4]s
		_files
	else
		_files
	fi
}
compdef %[2]s %[1]s
`, name, function, strings.Join(dashed, " "), strings.Join(commands, " "), source)
	case "fish":
		var b strings.Builder
		fmt.Fprintf(&b, "# To use it: %s %s | source\n", name, source)
		for _, f := range flags {
			fmt.Fprintf(&b, "complete -c %s -o %s\n", name, f)
		}
		if len(commands) > 0 {
			fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a '%s'\n", name, strings.Join(commands, " "))
		}
		_, err = io.WriteString(w, b.String())
	default:
		return Usagef("unknown shell %q: use bash, zsh or fish", shell)
	}
	return err
}
