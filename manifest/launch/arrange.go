package launch

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// arrangement is a command around the package.
type arrangement struct {
	options []element
	target  []Item // the package, or a command in a package that an option names
	rest    []Item // the operands after it
}

// findPackage finds the package among what the launcher reads, and adds it if it is not there.
// Everything else that the launcher would run is a fault.
func (c *commandBuilder) findPackage(list []element) arrangement {
	var out arrangement
	var operands, server []element
	for _, e := range list {
		if e.server {
			server = append(server, e)
		} else if e.names == nil {
			operands = append(operands, e)
		} else {
			out.options = append(out.options, e)
		}
	}
	c.pin(&out, operands)
	shell := slices.ContainsFunc(out.options, func(e element) bool { return e.effect == effectShell })
	sourced := slices.ContainsFunc(out.options, func(e element) bool { return e.effect == effectSource })
	first := ""
	if len(operands) > 0 {
		first = operands[0].value.string
	}
	switch _, own := c.reference.names(first); {
	case shell:
		c.shell(sourced, len(operands) > 0)
	case own || len(operands) == 0:
		out.options = slices.DeleteFunc(out.options, func(e element) bool { return e.effect == effectSource || e.effect == effectVersion })
		out.target = c.packageItems()
		operands = operands[min(1, len(operands)):]
		out.rest = itemsOf(operands)
	case sourced:
		out.target, out.rest = c.entry(&operands[0]), itemsOf(operands[1:])
	case !c.launcher.syntax.leading && isPlainWord(first) && !isLauncherWord(first): // meant for the server
		e := &operands[0]
		c.doubt(e.pointer, "write it among the packageArguments", "%s stands where %s takes the package from: it follows the package as an argument", e.shown(), c.program())
		out.target, out.rest = c.packageItems(), itemsOf(operands)
	default:
		e := &operands[0]
		c.manifestFault(e.pointer, "write "+jsonpos.Quote(c.reference.identifier)+" there, and arguments of the server among the packageArguments",
			"%s would run %s instead of %s", c.program(), e.shown(), jsonpos.Quote(c.reference.identifier))
	}
	if c.launcher.syntax.single && len(out.rest) > 0 {
		c.manifestFault(operands[len(operands)-1].pointer, "remove it", "%s would take further words for packages too", c.program())
	}
	out.rest = append(out.rest, itemsOf(server)...)
	c.precede(&out)
	return out
}

// precede checks the last option before the package, which may take it for its value.
func (c *commandBuilder) precede(out *arrangement) {
	for _, item := range out.target { // cargo accepts --locked once
		out.options = slices.DeleteFunc(out.options, func(e element) bool { return slices.Equal(e.names, []string{item.Value.Reveal()}) })
	}
	n := len(out.options)
	for n > 0 && len(out.options[n-1].items) == 0 {
		n--
	}
	if n == 0 {
		return
	}
	switch last := &out.options[n-1]; {
	case last.unknown:
		c.manifestFault(last.pointer, "remove it", "%s may take the package for the value of an option that it is not known to have", c.program())
	case last.guess:
		out.target = append([]Item{{Value: plainValue("--")}}, out.target...)
	}
}

// isPlainWord reports whether a word can only be a subcommand: it has no version, path,
// address or extension.
func isPlainWord(word string) bool {
	return word != "" && grammar.IsLetter(word[0]) && grammar.Only(word, "-_")
}

// shown returns an operand for messages, unless a user provided it or it is secret.
func (e *element) shown() string {
	if e.value.secret || !e.value.fixed || len(e.value.filled) > 0 {
		return "this argument"
	}
	return jsonpos.Quote(e.value.string)
}

// pin checks what the options and the first operand name, and writes the version of the
// manifest there. If the manifest has none, that of the publisher's word is used.
func (c *commandBuilder) pin(out *arrangement, operands []element) {
	for i := range out.options {
		e := &out.options[i]
		version, own := c.reference.names(e.value.string)
		switch {
		case e.effect == effectMaybe && own:
			e.effect = effectSource
			fallthrough
		case e.effect == effectSource && own:
			c.adopt(e, version)
		case e.effect == effectSource:
			c.manifestFault(e.pointer, "write "+e.names[len(e.names)-1]+" "+jsonpos.Quote(c.reference.identifier),
				"%s would take %s instead of %s", c.program(), e.shown(), jsonpos.Quote(c.reference.identifier))
		case e.effect == effectVersion && strings.TrimPrefix(e.value.string, "=") != c.reference.version:
			c.manifestFault(e.pointer, "remove it, or write it as the version of the package", "%s names another version than the manifest", e.names[len(e.names)-1])
		}
	}
	if len(operands) > 0 {
		if version, own := c.reference.names(operands[0].value.string); own {
			c.adopt(&operands[0], version)
		}
	}
	spec := c.packageItems()
	if len(spec) == 0 {
		return
	}
	if len(spec) > 2 {
		spec = spec[1:]
	}
	for i := range out.options {
		if e := &out.options[i]; e.effect == effectSource {
			e.items = []Item{{Value: plainValue(e.names[0]), Origin: e.items[0].Origin}, {Value: spec[0].Value, Origin: spec[0].Origin}}
		}
	}
}

// adopt compares the publisher's word for the package with the manifest.
func (c *commandBuilder) adopt(e *element, version string) {
	f := &c.reference
	if f.label == "pypi" {
		name, _, _ := strings.Cut(e.value.string, "]")
		_, extras, found := strings.Cut(name, "[")
		if found && !strings.Contains(f.identifier, "[") && grammar.Only(extras, "-._,") {
			f.identifier += "[" + extras + "]"
		}
	}
	shown := f.version
	if f.label == "oci" {
		_, shown = imageParts(f.identifier)
	}
	switch {
	case version == "" || version == shown:
	case f.version == "" && !f.pinned && isVersion(f.label, version):
		f.pinned = true
		if f.label == "oci" {
			name, _, _ := grammar.CutImage(f.identifier)
			f.identifier = grammar.NewImage(name, version, "").Reference
		} else {
			f.version = version
		}
	case f.pinned:
		c.notice(SeverityInfo, e.pointer, "the version of the manifest is used instead of the one in this argument")
	}
}

// packageItems returns the words that name the package.
func (c *commandBuilder) packageItems() []Item {
	l := &c.launcher
	words := c.packageWords()
	switch {
	case len(l.Setup) > 0 && c.reference.version == "":
		words = l.SetupUnversioned[min(2, len(l.SetupUnversioned)):]
	case len(l.Setup) > 0:
		words = l.Setup[min(2, len(l.Setup)):]
	}
	var items []Item
	for _, w := range c.reference.fill(words) {
		items = append(items, Item{Value: plainValue(w), Origin: c.opts.Pointer + "/identifier"})
	}
	return items
}

// entry checks the command that is run in a package that an option names.
func (c *commandBuilder) entry(e *element) []Item {
	word := e.value.string
	switch {
	case word == "" || !grammar.IsAlphanumeric(word[0]) || !grammar.Only(word, "-_."):
		c.manifestFault(e.pointer, "write the name of a command of the package", "%s is not the name of a command of the package", e.shown())
	case isLauncherWord(word):
		c.notice(SeverityDanger, e.pointer, "%s runs %s, which can run any code", c.program(), jsonpos.Quote(word))
	default:
		c.notice(SeverityInfo, e.pointer, "%s is a command that the package should have: a program of this machine with that name would be run otherwise", e.shown())
	}
	return e.items
}

// shell checks an option whose value is run by a shell.
func (c *commandBuilder) shell(sourced, operand bool) {
	switch {
	case !sourced:
		c.manifestFault("/runtimeArguments", "name the package with --package", "the text of --call is run instead of the package")
	case operand || len(c.plan.Arguments) > 0:
		c.manifestFault("/runtimeArguments", "write the arguments into the text of --call", "%s takes no arguments with --call", c.program())
	}
}

func itemsOf(list []element) []Item {
	var items []Item
	for i := range list {
		items = append(items, list[i].items...)
	}
	return items
}
