package launch

import (
	"iter"
	"strings"
)

// syntax states how a program reads the options before the package that it runs
// (REFERENCE.md, 8.4). The tables are facts from the public documentation of each program.
type syntax struct {
	// options are the names that the program knows, separated by white space: with = if a
	// value follows, and then with the character of its effect.
	options string
	// danger completes "--option ..." in notices about options with effectDanger.
	danger string
	// anyDash: the program ignores how many dashes an option has, never combines short
	// options, and ignores what it does not know.
	anyDash bool
	// eager: an option --no-... takes a following word for its value.
	eager bool
	// combined: -it means -i -t, and -p80 means -p 80.
	combined bool
	// dashValues: a value may begin with a dash.
	dashValues bool
	// falseFlags: a flag accepts =false.
	falseFlags bool
	// mixed: options are read after the package too.
	mixed bool
	// strict: the program may take an unknown option for the package.
	strict bool
	// single: the program takes only one operand.
	single bool
	// leading: a first operand that is not the package cannot be an argument of it.
	leading bool
}

// effect states what an option does. Those with effectNone need no notice.
type effect byte

const (
	effectNone      effect = 0
	effectUnsure    effect = '?' // not known to be harmless
	effectOther     effect = '<' // none when packages are run: it means an option of the server
	effectDanger    effect = '!' // see syntax.danger
	effectSource    effect = '@' // names the package, and a command of it follows as the operand
	effectMaybe     effect = '*' // the same if it names this package, else names a further one
	effectExtra     effect = '+' // names a further package
	effectVersion   effect = '#' // the version of the package
	effectRefused   effect = '%' // something else than the package is run
	effectShell     effect = '$' // a text for a shell, which replaces the operand
	effectURL       effect = '&' // where packages come from
	effectNamespace effect = '|' // the value "host" shares a part of this machine
	effectMount     effect = '/' // a file or directory of this machine
	effectVariable  effect = '^' // an environment variable
	effectPort      effect = '~' // publishes a port
)

const allEffects = "?<!@*+#%$&|/^~"

// option is one option of a program.
type option struct {
	name   string
	value  bool // a value follows
	effect effect
}

// all returns the options of the program whose names begin with a string.
func (s *syntax) all(beginning string) iter.Seq[option] {
	return func(yield func(option) bool) {
		for w := range strings.FieldsSeq(s.options) {
			if !strings.HasPrefix(w, beginning) {
				continue
			}
			var o option
			name := strings.TrimRight(w, allEffects)
			if name != w {
				o.effect = effect(w[len(w)-1])
			}
			if o.name, o.value = strings.CutSuffix(name, "="); !yield(o) {
				return
			}
		}
	}
}

// find returns the option with a name.
func (s *syntax) find(name string) (option, bool) {
	for o := range s.all(name) {
		if o.name == name {
			return o, true
		}
	}
	if positive, ok := strings.CutPrefix(name, "--no-"); ok && s.anyDash {
		o, known := s.find("--" + positive)
		if known && !o.value {
			return option{name: name, effect: effectUnsure}, true
		}
	}
	return option{}, false
}

// abbreviated returns the option that a name is the beginning of, or "". Some programs
// accept abbreviations.
func (s *syntax) abbreviated(name string) string {
	if len(name) > 2 && strings.HasPrefix(name, "--") {
		for o := range s.all(name) {
			return o.name
		}
	}
	return ""
}

// split returns the names of the options in a word, and the value that is attached to the
// last one.
func (s *syntax) split(word string) (names []string, value string, attached bool) {
	name, value, attached := strings.Cut(word, "=")
	if s.anyDash {
		name = strings.TrimLeft(name, "-")
		if len(name) == 1 {
			return []string{"-" + name}, value, attached
		}
		return []string{"--" + name}, value, attached
	}
	if strings.HasPrefix(word, "--") || len(name) == 2 || !s.combined {
		if i := strings.IndexByte(name, ':'); i > 0 && s.strict { // --option:value
			return []string{word[:i]}, word[i+1:], true
		}
		return []string{name}, value, attached
	}
	for i := 1; i < len(word); i++ {
		o, known := s.find("-" + word[i:i+1])
		if !known {
			return []string{name}, value, attached
		}
		names = append(names, o.name)
		rest := word[i+1:]
		if text, ok := strings.CutPrefix(rest, "="); ok {
			return names, text, true
		}
		if o.value && rest != "" {
			return names, rest, true
		}
	}
	return names, "", false
}

// isOption reports whether a word begins with a dash and is more than that.
func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// isLauncherWord reports whether a word is a program or a subcommand that starts packages,
// which is not meant as an argument of a package.
func isLauncherWord(word string) bool {
	return among(word, "npx npm bunx bun x pnpm dlx exec yarn uvx uv tool run pipx docker podman dnx dotnet cargo install node deno python python3 sh bash cmd")
}
