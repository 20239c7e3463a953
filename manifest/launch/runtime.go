package launch

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// runtimeArguments returns the runtimeArguments of a package as publishers mean them. A
// flag without a value that the launcher knows to take none is a boolean that is true. A
// flag of which the next argument is the value, as in -e and NAME, stands alone.
func runtimeArguments(p *manifest.Package) []manifest.Argument {
	l, _, ok := defaultLauncher(p)
	if !ok {
		return p.RuntimeArguments
	}
	args := slices.Clone(p.RuntimeArguments)
	for i := range args {
		a := &args[i]
		if a.Type != manifest.NamedArgument || a.Value != nil || a.Default != nil || len(a.Choices) > 0 || orElse(a.Format, "string") != "string" {
			continue
		}
		if !isOption(a.Name) {
			continue
		}
		names, _, attached := l.syntax.split(a.Name)
		o, known := l.syntax.find(names[len(names)-1])
		switch {
		case attached || !known:
		case !o.value:
			a.Format, a.Default = new("boolean"), new("true")
		case !isTrue(a.IsRequired) && a.Placeholder == nil && i+1 < len(args) && args[i+1].Type == manifest.PositionalArgument && args[i+1].Value != nil:
			if _, own := newReference(p).names(*args[i+1].Value); !own {
				a.Value = new("")
			}
		}
	}
	return args
}

// word is one word of the runtimeArguments.
type word struct {
	Item
	text
	pointer string
	bound   bool // it is the value of a named argument, whose flag is the word before
}

// element is an option of one or two words, or else an operand: of a launcher, or of the server.
type element struct {
	names   []string // of an option; several for -it
	effect  effect   // of the last name
	value   text     // of the option, or the operand
	items   []Item
	pointer string
	guess   bool // npx takes the next word for the value of the option, unless that is --
	unknown bool // an option that may have a value in the next word
	server  bool // an option that only the server can mean
}

// words returns the words of the runtimeArguments.
func (c *commandBuilder) words() []word {
	var words []word
	for i := range c.runtime {
		p := &c.runtime[i]
		for n, item := range p.items {
			w := word{Item: item, pointer: p.pointer, bound: p.names != nil && n == 1}
			if p.names == nil || w.bound {
				w.text = p.value
			} else {
				w.text = text{string: item.Value.Reveal(), secret: item.Value.IsSecret(), fixed: len(p.items) > 1 || p.value.fixed}
			}
			words = append(words, w)
		}
	}
	return words
}

// cutCommand removes the words that repeat the beginning of the command: all of it, or all
// but the program.
func (c *commandBuilder) cutCommand(words []word) []word {
	command := c.launcher.beginning()
	for _, head := range [][]string{command, command[min(1, len(command)):]} {
		if len(head) > 0 && len(words) >= len(head) && slices.EqualFunc(words[:len(head)], head, func(w word, s string) bool { return w.string == s }) {
			return words[len(head):]
		}
	}
	return words
}

// read reads words as the launcher does.
func (c *commandBuilder) read(words []word) []element {
	s := c.launcher.syntax
	var list []element
	operand, ended := false, false
	for len(words) > 0 {
		w := words[0]
		switch {
		case operand && !s.mixed, ended, !isOption(w.string):
			list = append(list, element{value: w.text, items: []Item{w.Item}, pointer: w.pointer})
			operand, words = true, words[1:]
		case w.string == "--":
			ended, words = true, words[1:]
		default:
			e, n := c.option(words)
			if e.names != nil {
				list = append(list, e)
			}
			words = words[n:]
		}
	}
	return list
}

// option reads the option that words begin with. It returns how many words belong to it.
func (c *commandBuilder) option(words []word) (element, int) {
	s, w := c.launcher.syntax, &words[0]
	names, value, attached := s.split(w.string)
	last := names[len(names)-1]
	o, known := s.find(last)
	if !known && (w.secret || len(w.filled) > 0) {
		last = "this argument"
	}
	e := element{names: names, effect: o.effect, items: []Item{w.Item}, pointer: w.pointer}
	e.value = text{string: value, secret: w.secret, given: w.given, fixed: w.fixed, filled: w.filled}
	var next *word
	if len(words) > 1 {
		next = &words[1]
	}
	if o.effect == effectOther {
		e.server = true
		c.doubt(w.pointer, forServer, "%s is an option of other commands than %s: it follows the package as an argument", jsonpos.Quote(last), c.program())
	}
	switch {
	case !known:
		n := c.unknown(&e, last, attached, next)
		if e.server && n == 2 {
			e.items = append(e.items, next.Item)
		}
		return e, n
	case o.effect == effectRefused:
		c.manifestFault(w.pointer, "remove it", "with %s, %s does not run the package", last, c.program())
		return e, 1
	case !o.value:
		e.guess = s.eager && !attached && (last == "--no" || last == "--local" || strings.HasPrefix(last, "--no-") && last != "--no-install")
		return c.flag(e, last, attached, next)
	case attached:
		return e, 1
	case next == nil, isOption(next.string) && !(s.dashValues && next.bound):
		c.manifestFault(w.pointer, "write the value after "+last, "%s of %s needs a value", last, c.program())
		return e, 1
	}
	e.value = next.text
	e.items = append(e.items, next.Item)
	return e, 2
}

// flag reads an option without a value. The value true of a named argument only states
// that the flag is there, and false that it is not.
func (c *commandBuilder) flag(e element, name string, attached bool, next *word) (element, int) {
	n, value := 1, "true"
	switch {
	case attached:
		value = e.value.string
	case next == nil:
		return e, 1
	case next.string == "true", next.string == "false":
		n, value = 2, next.string
	case next.bound:
		if _, own := c.reference.names(next.string); own {
			return e, 1
		}
		n, value = 2, next.string
	}
	item := e.items[0]
	switch value {
	case "true":
		if attached {
			item.Value = plainValue(strings.TrimSuffix(item.Value.Reveal(), "=true"))
		}
		e.items = []Item{item}
	case "false":
		e.items = nil
		if c.launcher.syntax.falseFlags && len(e.names) == 1 {
			item.Value = plainValue(name + "=false")
			e.items = []Item{item}
		}
		e.effect = effectNone
	default:
		c.manifestFault(e.pointer, "use true, false or no value", "%s of %s takes no value", name, c.program())
	}
	return e, n
}

// forServer is what to do about an option of the server among those of the launcher.
const forServer = "write it among the packageArguments if the server takes it"

// unknown reports an option that the syntax does not have. It is a fault if the launcher
// may take another word than the package for the package because of it.
func (c *commandBuilder) unknown(e *element, name string, attached bool, next *word) (used int) {
	s := c.launcher.syntax
	used = 1
	if !attached && next != nil && next.bound {
		used = 2
	}
	if full := s.abbreviated(name); full != "" {
		c.manifestFault(e.pointer, "write "+full, "%s may take %s for %s", c.program(), jsonpos.Quote(name), full)
		return used
	}
	if !s.strict && !s.single && !c.launcher.Container && strings.HasPrefix(name, "--") {
		e.server = true
		c.doubt(e.pointer, forServer, "%s is not an option of %s: it follows the package as an argument", jsonpos.Quote(name), c.program())
		return used
	}
	if s.strict || !attached && (next == nil || next.bound || !isOption(next.string) || next.string == "--" || s.dashValues) {
		c.manifestFault(e.pointer, forServer, "%s is not a known option of %s, and the next word may be taken for its value or for the package", jsonpos.Quote(name), c.program())
		return used
	}
	e.unknown = !attached
	c.doubt(e.pointer, forServer, "%s is not a known option of %s", jsonpos.Quote(name), c.program())
	return 1
}

// program returns the launcher's command for messages.
func (c *commandBuilder) program() string {
	return strings.Join(c.launcher.beginning(), " ")
}

// has reports whether an option is among the elements.
func has(list []element, spellings ...string) bool {
	return slices.ContainsFunc(list, func(e element) bool {
		return slices.ContainsFunc(e.names, func(name string) bool { return slices.Contains(spellings, name) })
	})
}
